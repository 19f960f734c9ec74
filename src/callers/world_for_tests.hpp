// Requests, and endpoints that answer as a test says, on a clock that stands still.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "src/callers/caller_rule.hpp"
#include "src/ports/log.hpp"
#include "testing/run.hpp"
#include "testing/sim_clock.hpp"

namespace pawl::callers {

struct SentRequest {
  explicit SentRequest(http::Fields fields, std::string from = "127.0.0.1")
      : peer(std::move(from)) {
    head.method = "POST";
    head.fields = std::move(fields);
  }
  [[nodiscard]] ClientView view() const { return {head, peer}; }

  http::RequestHead head;
  std::string peer;
};

class QuietLog final : public Log {
 public:
  void say(std::string_view level, std::string_view what) override {
    lines.push_back(std::string(level) + ": " + std::string(what));
  }
  std::vector<std::string> lines;
};

class ScriptedEndpoints final : public Endpoints {
 public:
  Task<Expected<Response, std::string>> get(config::Endpoint endpoint, Headers headers,
                                            Duration /*timeout*/, AnswerEnd end) override {
    asked.push_back(config::to_text(endpoint.address) + endpoint.target);
    sent = std::move(headers);
    may_end = end;
    if (!answer) co_return Unexpected{std::string("connection refused")};
    co_return *answer;
  }
  Clock& clock() override { return time; }

  testing::SimClock time;
  std::optional<Response> answer;  // none: it cannot be reached
  std::vector<std::string> asked;
  Headers sent;
  AnswerEnd may_end = AnswerEnd::stated;
};

// What the gateway makes of it: asked only where it must be.
inline Identified identified(CallerRule& rule, const SentRequest& request,
                             ScriptedEndpoints& endpoints) {
  std::optional<Identified> known = rule.identify(request.view(), endpoints.time.now());
  if (known) return *known;
  return testing::run(rule.ask(request.view(), endpoints));
}

// "acme", or "401 The token has expired."
inline std::string told(const Identified& caller) {
  if (caller) return caller->name;
  const Response response = render_problem(caller.error(), {});
  return std::to_string(response.status) +
         (caller.error().detail.empty() ? "" : " " + caller.error().detail);
}

}  // namespace pawl::callers
