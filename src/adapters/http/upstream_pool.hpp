// Connections to the upstream, kept alive between requests. One pool per thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/adapters/http/stream.hpp"

namespace pawl::http {

// Whom to trust over TLS, and what to show; empty: the system's authorities, and nothing.
struct UpstreamTlsFiles {
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
};

struct UpstreamAddress {
  std::string host;
  std::uint16_t port = 80;
  bool tls = false;
  UpstreamTlsFiles tls_files = {};
};

class UpstreamPool {
 public:
  UpstreamPool(UpstreamAddress address, Deadlines& deadlines);
  ~UpstreamPool();

  // A kept connection that was idle for less than `idle_max`, that the kernel says is alive, and
  // that has carried no body but this sender's. Nothing: open a fresh one.
  std::unique_ptr<Stream> reuse(Duration idle_max, std::string_view sender = {});

  // A fresh connection, or why there is none. Nothing has been written either way.
  Task<Expected<std::unique_ptr<Stream>, std::string>> connect(BootTime deadline);

  // Keeps a connection on which nothing is outstanding.
  void keep(std::unique_ptr<Stream> stream);

  // Closes what nobody has used for long. Call now and then.
  void prune();

  Deadlines& deadlines() { return deadlines_; }
  // "host:port", as a Host field has it.
  [[nodiscard]] const std::string& authority() const { return authority_; }

 private:
  using Endpoint = boost::asio::generic::stream_protocol::endpoint;
  Task<Expected<std::vector<Endpoint>, std::string>> resolve();

  UpstreamAddress address_;
  std::string authority_;
  Deadlines& deadlines_;
  std::unique_ptr<TlsContext> tls_;            // where the address says so
  std::vector<std::unique_ptr<Stream>> idle_;  // the most recent last
};

}  // namespace pawl::http
