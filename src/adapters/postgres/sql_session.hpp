// A PostgreSQL store's connection for everything but its records: cases, the outbox, observations,
// upkeep. For a thread that may wait, but never without an end: a statement has a deadline, and one
// that misses it costs the connection. So does any error but a lost race for a row, and with it any
// transaction.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/adapters/postgres/ask.hpp"
#include "src/adapters/postgres/dialect.hpp"
#include "src/adapters/postgres/reconnecting_connection.hpp"

namespace pawl::postgres {

class SqlSession final : public DialectSession, private waiting::Idle {
 public:
  // Connects when it is needed, to a server that `establish` accepts. The first time it sees to it
  // that the schema is the one this program knows.
  explicit SqlSession(std::string url, Options options = {});

  using Rows = sql::Rows;
  using Parameters = sql::Parameters;

  // A commit that a failover may still lose is an error, and in doubt. Works behind a pooler too.
  sql::Result<Rows> run(const std::string& sql, const Parameters& parameters) override;
  sql::Result<std::vector<Rows>> run_each(const std::string& sql,
                                          const std::vector<Parameters>& each) override;
  sql::Result<Done> begin(sql::Durability durability, sql::LockWait wait) override;
  sql::Result<Done> confirm_reads() override;
  sql::Result<Done> commit() override;
  void roll_back() override;
  void disconnect() override { session_.reset(); }
  waiting::Idle* idle() override { return this; }

  // From now on each word that another session says on one of these channels is heard here, on the
  // session's thread; also after a reconnection, which is tried while nothing else is asked. None:
  // no more. Behind a pooler there is no session to listen on: nothing is heard.
  using Heard = std::function<void(std::string_view channel, std::string_view word)>;
  void listen(std::vector<std::string> channels, Heard heard);
  // Whether what is said by NOTIFY here can be heard by others.
  [[nodiscard]] bool is_direct() { return !ready() && session_->facts.direct; }

 private:
  Wait wait() override;
  void awake() override;
  // Hands on what has arrived.
  void hear();
  std::optional<std::string> listen_to_all(PGconn* connection);
  std::optional<std::string> ready();
  std::optional<std::string> connect();
  [[nodiscard]] bool in_transaction() const;
  // Whether what is read may be lost in a failover: see doubts.hpp.
  [[nodiscard]] bool has_standbys() const;
  [[nodiscard]] bool is_doubtful() const;
  // What a lost answer leaves open: whether it was committed.
  enum class Commits { no, yes };
  sql::Result<Result> send(const char* sql, const Parameters& parameters, Commits commits);
  sql::Result<std::vector<Rows>> send_each(const std::string& sql,
                                           const std::vector<Parameters>& each, Commits commits);
  // Gives the connection up.
  Unexpected<sql::Error> failed(StoreError kind, std::string why);
  Unexpected<sql::Error> unanswered(Until until, Commits commits);
  Unexpected<sql::Error> refused(const PGresult* error, Commits commits);

  const std::string url_;
  const Options options_;
  std::optional<Established> session_;
  bool schema_known_ = false;
  // Of the last attempt to connect that failed, until it is time for another.
  std::string connect_trouble_;
  Until connect_again_at_{};
  std::uint64_t doubts_at_begin_ = 0;
  std::uint64_t doubts_settled_ = 0;  // all up to this one
  std::vector<std::string> channels_;
  Heard heard_;
};

}  // namespace pawl::postgres
