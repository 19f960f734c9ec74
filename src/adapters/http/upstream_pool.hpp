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
  std::string socket = {};  // a Unix socket's path, in place of host and port
};

class UpstreamPool {
 public:
  UpstreamPool(UpstreamAddress address, Deadlines& deadlines);
  // Several places of one API, in turn. One that has failed some times in a row is left out for a
  // while, unless all have.
  UpstreamPool(std::vector<UpstreamAddress> addresses, Deadlines& deadlines);
  ~UpstreamPool();

  // A kept connection that was idle for less than `idle_max`, that the kernel says is alive, and
  // that has carried no body but this sender's. Nothing: open a fresh one.
  std::unique_ptr<Stream> reuse(Duration idle_max, std::string_view sender = {});

  // How many addresses there are to try.
  [[nodiscard]] std::size_t places() const { return targets_.size(); }

  // What came of a request on a connection: no answer counts against its address, and only an
  // answer makes up for it. That it connects says little: what accepts may fail all the same.
  void note(const Stream& stream, bool answered);

  // A fresh connection to the first address that can be had, or why there is none. Nothing has been
  // written either way: once something was, no other address is tried by anyone.
  Task<Expected<std::unique_ptr<Stream>, std::string>> connect(BootTime deadline);

  // Keeps a connection on which nothing is outstanding.
  void keep(std::unique_ptr<Stream> stream);

  // Closes what nobody has used for long. Call now and then.
  void prune();

  Deadlines& deadlines() { return deadlines_; }
  // "host:port" of the first address, as a Host field has it.
  [[nodiscard]] const std::string& authority() const { return authority_; }

 private:
  using Endpoint = boost::asio::generic::stream_protocol::endpoint;
  struct Lookup;
  struct Target {
    UpstreamAddress address;
    std::string name;                 // for people
    std::unique_ptr<TlsContext> tls;  // where the address says so
    int failures = 0;                 // in a row
    BootTime left_out_until{};
  };
  Task<Expected<std::vector<Endpoint>, std::string>> resolve(const UpstreamAddress& address,
                                                             BootTime deadline);
  Task<Expected<std::unique_ptr<Stream>, std::string>> connect_to(Target& target,
                                                                  BootTime deadline);
  // In which order they are tried: those in health in turn, then the others.
  std::vector<std::size_t> order();
  void note(Target& target, bool good);

  std::string authority_;
  Deadlines& deadlines_;
  std::vector<Target> targets_;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Stream>> idle_;  // the most recent last
};

}  // namespace pawl::http
