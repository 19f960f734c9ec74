// A place for one connection: made when it is needed, and again when it broke.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>

#include "src/adapters/postgres/connection.hpp"
#include "src/adapters/postgres/options.hpp"

namespace pawl::postgres {

// Whose statements a connection is for.
enum class Speaker {
  pawl,     // ours alone: the search_path is fixed, and every commit is durable
  program,  // a program's own too: as the program's database has it
};

// Blocking: resolves names, connects, asks who is there. For a thread that may wait. Refuses what
// would break a promise: a server that cannot write, that loses what it acknowledged (now, or in
// the failover that several hosts are named for), or that would not let a second statement see what
// the first one waited for. The error never has a password in it.
Expected<Established, std::string> establish(const std::string& url, const Options& options,
                                             Speaker speaker = Speaker::pawl);

// What /readyz wants to know. Safe from any thread.
class Health {
 public:
  void good();
  void bad(std::string why);
  [[nodiscard]] std::optional<std::string> trouble() const;

 private:
  mutable std::mutex mutex_;
  std::optional<std::string> trouble_;
};

// What all links of a store share.
struct LinkContext {
  boost::asio::any_io_executor executor;
  const std::string& url;
  const Options& options;
  const Statements& statements;
  Health& health;
  std::mt19937_64& chance;
};

class ReconnectingConnection {
 public:
  explicit ReconnectingConnection(LinkContext context);

  // A connection that was alive just now. Tries with growing, jittered pauses until `deadline`;
  // then, or once stopped, nothing. One caller at a time.
  Task<std::shared_ptr<Connection>> get(Deadline deadline);

  // Wakes whoever waits in `get`, for good.
  void stop();

 private:
  Task<void> connect();
  Task<void> wait(Deadline until);
  std::chrono::milliseconds pause();

  LinkContext context_;
  boost::asio::steady_timer changed_;  // cancelled when an attempt to connect has ended
  std::shared_ptr<Connection> connection_;
  bool connecting_ = false;
  int failures_ = 0;
  bool stopped_ = false;
};

}  // namespace pawl::postgres
