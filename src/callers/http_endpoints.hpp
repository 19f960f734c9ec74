// Endpoints that are asked over HTTP, on connections of one thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "src/adapters/http/upstream_call.hpp"
#include "src/callers/caller_rule.hpp"

namespace pawl::callers {

class HttpEndpoints final : public Endpoints {
 public:
  HttpEndpoints(http::Deadlines& deadlines, Clock& clock) : deadlines_(deadlines), clock_(clock) {}

  Task<Expected<Response, std::string>> get(config::Endpoint endpoint, Headers headers,
                                            Duration timeout, AnswerEnd end) override;
  Clock& clock() override { return clock_; }
  // Closes connections that have been idle for long.
  void prune();

 private:
  std::shared_ptr<http::UpstreamPool> pool_of(const config::UpstreamUrl& address);

  http::Deadlines& deadlines_;
  Clock& clock_;
  std::map<std::string, std::shared_ptr<http::UpstreamPool>> pools_;  // by address
};

}  // namespace pawl::callers
