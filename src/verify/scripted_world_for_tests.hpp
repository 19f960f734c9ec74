// A world without sockets: an endpoint that is a function, and a clock that only waiting moves.
#pragma once

#include <functional>
#include <mutex>

#include "src/verify/world.hpp"

namespace pawl::verify {

class ScriptedWorld final : public World {
 public:
  using Endpoint = std::function<Response(const Request&)>;
  explicit ScriptedWorld(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  using World::exchange;
  Exchange exchange(const Request& request, Until until,
                    const std::function<void()>& before_closing) override {
    const Exchange made = answered(request, until);
    if (until != Until::answered) before_closing();
    return made;
  }
  int run(const std::string& command) override {
    commands.push_back(command);
    return exit_code;
  }
  bool accepts_connections(const config::UpstreamUrl& /*address*/) override { return accepts(); }
  void wait(Moment time) override { time_ += time; }
  Moment now() override { return time_; }

  std::vector<Request> sent;
  std::vector<std::string> commands;
  int exit_code = 0;
  std::function<bool()> accepts = [] { return true; };

 private:
  Exchange answered(const Request& request, Until until) {
    const std::lock_guard lock(mutex_);
    Exchange made{request, {}, "", time_, time_};
    sent.push_back(request);
    if (until == Until::half_sent) return made;
    const Response answer = endpoint_(request);
    if (until == Until::answered) made.answer = answer;
    return made;
  }

  Endpoint endpoint_;
  std::mutex mutex_;
  Moment time_{0};
};

}  // namespace pawl::verify
