// A PostgreSQL of our own for one test program: Debian's binaries, a temporary directory, a free
// port. It dies with the test process, however that one ends.
#pragma once

#include <sys/types.h>

#include <string>

namespace pawl::testing {

struct PostgresOptions {
  // Off is for tests that never ask what survives a crash: it lives in memory then, and a store
  // must be told to accept it.
  bool fsync = true;
  // Further lines for postgresql.conf.
  std::string configuration;
};

class PostgresServer {
 public:
  // Starts it and waits until it answers. Throws std::runtime_error with the server's log if not.
  // As root, the server runs as the user `postgres`.
  explicit PostgresServer(PostgresOptions options = {});
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // A connection string, over the Unix socket or over TCP on 127.0.0.1.
  [[nodiscard]] std::string url(const std::string& database = "postgres") const;
  [[nodiscard]] std::string tcp_url(const std::string& database = "postgres") const;
  [[nodiscard]] int port() const { return port_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }

  // A copy of `from`, which nobody may be connected to.
  void create_database(const std::string& name, const std::string& from = "template0");
  // One statement, outside any transaction; the first column of the first row, if there is one.
  std::string query(const std::string& sql, const std::string& database = "postgres");

  void stop();       // in order, but not waiting for clients ("fast")
  void kill_hard();  // SIGKILL to every process of the server: a crash
  void start();
  void restart() {
    stop();
    start();
  }

 private:
  void initialise(const PostgresOptions& options);
  void watch();
  int run_as_server_user(const char* const* arguments) const;

  std::string directory_;
  int port_ = 0;
  pid_t postmaster_ = -1;
  pid_t watchdog_ = -1;
  int lifeline_ = -1;  // its other end is the watchdog's: closed when this process ends
};

}  // namespace pawl::testing
