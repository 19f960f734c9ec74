// One connection of `pawl verify`: blocking, byte for byte, with TLS or without, and never for
// longer than a deadline. The gateway's own connections cannot be used: they mend what a check must
// send broken.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/config/config.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace pawl::probe {

using Deadline = std::chrono::steady_clock::time_point;

// Whom to trust: the system's authorities, or those of a file. Threads may share it.
class Trust {
 public:
  explicit Trust(const std::string& ca_file);
  ~Trust();
  Trust(const Trust&) = delete;
  Trust& operator=(const Trust&) = delete;
  [[nodiscard]] ssl_ctx_st* context() const { return context_; }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }  // a file that is no good

 private:
  ssl_ctx_st* context_ = nullptr;
  std::string trouble_;
};

class Connection {
 public:
  Connection(const config::UpstreamUrl& address, const Trust& trust, Deadline deadline);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Why it cannot be used any more; empty while it can.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  bool write(std::string_view bytes);
  // What has arrived, one byte at least. Empty: the other side has ended the connection, or there
  // is trouble.
  std::string read();

 private:
  void connect(const config::UpstreamUrl& address);
  void begin_tls(const config::UpstreamUrl& address, const Trust& trust);
  bool wait_for(short events);
  bool wait_for_tls(int result, const char* doing);
  bool fail(const std::string& why);

  int descriptor_ = -1;
  ssl_st* tls_ = nullptr;
  Deadline deadline_;
  std::string trouble_;
};

}  // namespace pawl::probe
