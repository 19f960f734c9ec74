#include "src/verify/check.hpp"

namespace pawl::verify {

bool has(const Target& target, Need need) {
  switch (need) {
    case Need::json_body: {
      const Expected<json::Value, json::Error> document = json::read(target.body);
      return document && document->kind == json::Kind::object;
    }
    case Need::other_body: return !target.other_body.empty();
    case Need::invalid_body: return !target.invalid_body.empty();
    case Need::large_body: return !target.large_body.empty();
    case Need::form: return !target.form.empty();
    case Need::other_path: return !target.other_path.empty();
    case Need::second_caller: return !target.second_caller.empty();
    case Need::counter: return target.counter.has_value();
    case Need::kill: return !target.kill.empty() && !target.restart.empty();
    case Need::fail: return target.fail.given();
    case Need::refuse: return target.refuse.given();
    case Need::slow: return target.slow.given();
    case Need::rate_limit: return target.rate_limit > 0;
    case Need::origin: return !target.origin.empty();
    case Need::required_key: return !target.key_optional;
  }
  return false;
}

std::string_view how_to_give(Need need) {
  switch (need) {
    case Need::json_body: return "a --body that is a JSON object";
    case Need::other_body: return "--other-body";
    case Need::invalid_body: return "--invalid-body";
    case Need::large_body: return "--large-body";
    case Need::form: return "--form";
    case Need::other_path: return "--other-path";
    case Need::second_caller: return "--second-caller-header";
    case Need::counter: return "--count";
    case Need::kill: return "--kill and --restart";
    case Need::fail: return "--fail-header or --fail-command";
    case Need::refuse: return "--refuse-header or --refuse-command";
    case Need::slow: return "--slow-header or --slow-command";
    case Need::rate_limit: return "--rate-limit";
    case Need::origin: return "--origin";
    case Need::required_key: return "an endpoint that requires a key (no --key-optional)";
  }
  return "?";
}

const std::vector<Check>& checks() {
  static const std::vector<Check> all = [] {
    std::vector<Check> table;
    for (auto* const part : {replay_checks, key_checks, body_checks, caller_checks, error_checks,
                             in_flight_checks, failure_checks}) {
      for (Check& check : part()) table.push_back(std::move(check));
    }
    return table;
  }();
  return all;
}

std::size_t requests_in(const Plan& plan) {
  std::size_t sum = 0;
  for (const Step& step : plan) {
    sum += step.kind == Step::Kind::count ? 1 : step.requests.size();
  }
  return sum;
}

Plan counted(const Target& target, Plan plan) {
  if (!target.counter) return plan;
  plan.insert(plan.begin(), count());
  plan.push_back(count());
  return plan;
}

Step send(std::vector<Request> requests) { return {Step::Kind::send, std::move(requests), {}}; }
Step settle(Request request) { return {Step::Kind::settle, {std::move(request)}, {}}; }
Step count() { return {Step::Kind::count, {}, {}}; }

void provoke(Plan& plan, Request& request, const Provocation& provocation) {
  if (!provocation.command.empty()) {
    plan.push_back({Step::Kind::command, {}, provocation.command});
  }
  if (provocation.header) set_header(request, *provocation.header);
}

}  // namespace pawl::verify
