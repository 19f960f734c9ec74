// What a run needs of the world: connections, commands, time.
#pragma once

#include <functional>

#include "src/verify/exchange.hpp"

namespace pawl::verify {

class World {
 public:
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  enum class Until {
    answered,
    half_sent,  // half of the body is written, then the connection is closed
    sent,       // everything is written, then the connection is closed unread
  };
  // On a connection of its own, and never for longer than the timeout that it was made with. What
  // is closed unread is closed after `before_closing`. Threads may call it at the same time.
  virtual Exchange exchange(const Request& request, Until until,
                            const std::function<void()>& before_closing) = 0;
  Exchange exchange(const Request& request) {
    return exchange(request, Until::answered, [] {});
  }
  // By a shell; its exit code. Threads that are in exchange() go on.
  virtual int run(const std::string& command) = 0;
  virtual bool accepts_connections(const config::UpstreamUrl& address) = 0;
  virtual void wait(Moment time) = 0;
  virtual Moment now() = 0;  // since the run began

 protected:
  World() = default;
};

}  // namespace pawl::verify
