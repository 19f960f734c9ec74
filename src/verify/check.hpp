// A check: a promise, what must be given to test it, what is sent, and how the answers are judged.
// A plan is data and a judgement is pure, so that --dry-run shows what would be sent, and a
// judgement is tested without a socket.
#pragma once

#include <span>

#include "src/verify/target.hpp"

namespace pawl::verify {

enum class Severity {
  critical,  // money may move twice, or one caller's data reach another
  major,     // a client is told something that it will act on wrongly
  minor,     // what a good endpoint does besides
};

// What a check cannot do without.
enum class Need {
  json_body,
  other_body,
  invalid_body,
  large_body,
  form,
  other_path,
  second_caller,
  counter,
  kill,
  fail,
  refuse,
  slow,
  rate_limit,
  origin,
  required_key,
};
bool has(const Target& target, Need need);
std::string_view how_to_give(Need need);  // "--count and --count-pointer"

struct Step {
  enum class Kind {
    send,             // one request after the other
    settle,           // the same, each again for as long as it is asked to come back
    together,         // all at once, each on a connection of its own
    cut_in_body,      // half of the body, then the connection is closed
    hang_up,          // the whole request; closed unread as soon as the effect is counted
    command,          // of the owner, such as "let the next one fail"
    kill,             // kill, restart, wait until it accepts connections
    kill_after_send,  // the same, at once when the request has been written
    kill_at_effect,   // the same, as soon as the effect is counted and before the answer
    count,            // asks the effects counter
  };
  Kind kind = Kind::send;
  std::vector<Request> requests;
  std::string shell;
};
using Plan = std::vector<Step>;

enum class Result { passed, failed, not_run };

struct Verdict {
  Result result = Result::passed;
  std::string reason;  // empty where it passed
};
inline Verdict passed() { return {}; }
inline Verdict failed(std::string reason) { return {Result::failed, std::move(reason)}; }
inline Verdict not_run(std::string reason) { return {Result::not_run, std::move(reason)}; }

// Two effects would look like one.
inline Verdict cannot_tell() {
  return not_run("answers do not differ from request to request; give --count");
}

struct Check {
  std::string_view name;
  std::string_view promise;
  std::string_view source;
  Severity severity = Severity::major;
  std::vector<Need> needs;
  // Checks with the same plan share one run of it.
  Plan (*plan)(const Target& target) = nullptr;
  Verdict (*judge)(const Target& target, const Facts& facts, const Run& run) = nullptr;
};

// All of them, in the order in which they are run: what kills the service comes last.
const std::vector<Check>& checks();

// The parts of the table, one for each file.
std::vector<Check> replay_checks();
std::vector<Check> key_checks();
std::vector<Check> body_checks();
std::vector<Check> caller_checks();
std::vector<Check> in_flight_checks();
std::vector<Check> error_checks();
std::vector<Check> failure_checks();

// Requests of a plan as far as they are known beforehand; those of `settle` may be repeated.
std::size_t requests_in(const Plan& plan);

// For plans.
// Between two counts of the effects, where there is a counter.
Plan counted(const Target& target, Plan plan);
Step send(std::vector<Request> requests);
Step settle(Request request);
Step count();
// The request, and before it the command, that bring it about.
void provoke(Plan& plan, Request& request, const Provocation& provocation);

}  // namespace pawl::verify

template <>
struct pawl::Names<pawl::verify::Severity> {
  using enum pawl::verify::Severity;
  static constexpr NameTable<pawl::verify::Severity, 3> table{
      {{critical, "critical"}, {major, "major"}, {minor, "minor"}}};
};
template <>
struct pawl::Names<pawl::verify::Result> {
  using enum pawl::verify::Result;
  static constexpr NameTable<pawl::verify::Result, 3> table{
      {{passed, "passed"}, {failed, "failed"}, {not_run, "not run"}}};
};
template <>
struct pawl::Names<pawl::verify::Step::Kind> {
  using enum pawl::verify::Step::Kind;
  static constexpr NameTable<pawl::verify::Step::Kind, 10> table{
      {{send, "send"},
       {settle, "send until settled"},
       {together, "send all at once"},
       {cut_in_body, "send half, then hang up"},
       {hang_up, "send, then hang up"},
       {command, "run"},
       {kill, "kill and restart"},
       {kill_after_send, "send, then kill and restart"},
       {kill_at_effect, "send, kill at the effect, restart"},
       {count, "count effects"}}};
};
