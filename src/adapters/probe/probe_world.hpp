// `pawl verify` and the real world: sockets, /bin/sh, the clock.
#pragma once

#include "src/adapters/probe/connection.hpp"
#include "src/verify/world.hpp"

namespace pawl::probe {

class ProbeWorld final : public verify::World {
 public:
  ProbeWorld(const std::string& ca_file, std::chrono::milliseconds timeout)
      : trust_(ca_file), timeout_(timeout) {}

  [[nodiscard]] const std::string& trouble() const { return trust_.trouble(); }

  using World::exchange;
  verify::Exchange exchange(const verify::Request& request, Until until,
                            const std::function<void()>& before_closing) override;
  int run(const std::string& command) override;
  bool accepts_connections(const config::UpstreamUrl& address) override;
  void wait(verify::Moment time) override;
  verify::Moment now() override;

 private:
  Trust trust_;
  std::chrono::milliseconds timeout_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace pawl::probe
