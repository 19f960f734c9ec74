// One libpq connection in pipeline mode on an event loop. Lives on one thread, the store's.
#pragma once

#include <libpq-fe.h>

#include <bitset>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "src/adapters/postgres/notices.hpp"
#include "src/adapters/postgres/statements.hpp"
#include "src/adapters/postgres/wire.hpp"
#include "src/ports/task.hpp"

namespace pawl::postgres {

using Deadline = std::chrono::steady_clock::time_point;

struct Query {
  StatementId statement;
  std::vector<Parameter> parameters;
};

// The rows of one statement, in binary format.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result, PQclear) {}
  [[nodiscard]] int count() const { return PQntuples(result_.get()); }
  // Nothing for null. A view into the rows: they must outlive it.
  [[nodiscard]] std::optional<std::string_view> field(int row, std::size_t column) const;
  [[nodiscard]] std::string text(int row, std::size_t column) const {
    return std::string(field(row, column).value_or(""));
  }

 private:
  std::unique_ptr<PGresult, decltype(&PQclear)> result_;
};

struct Failure {
  enum class Kind {
    not_sent,  // the connection was gone before a byte was written
    broken,    // it broke, or the deadline passed, before the server said how it ended: in doubt
    refused,   // the server said no and rolled everything back; the connection is fine
  };
  Kind kind = Kind::broken;
  std::string sqlstate;
  std::string message;
  bool send_again = false;  // refused: the connection has learnt why, and the same would work now
};

// What a pooler or a proxy between us and the server would break must not be used.
struct SessionFacts {
  bool direct = false;  // nothing in between: prepared statements stay where they were made
  std::string synchronous_commit = "on";
  bool has_standbys = false;  // a commit waits for another server
};

struct Established {
  std::unique_ptr<Notices> notices;  // outlives the connection, which writes to it
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection{nullptr, PQfinish};
  SessionFacts facts;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Takes over a connection that is idle.
  Connection(boost::asio::any_io_executor executor, Established established,
             const Statements& statements);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Sends all queries as one transaction and waits until it is committed: one round trip. The first
  // result is that of `begin`, which is put in front. One exchange at a time. A statement that
  // takes longer than `statement_limit` is ended by the server: refused, and the connection is
  // fine; one that misses the deadline costs the connection.
  using Limit = std::optional<std::chrono::milliseconds>;
  Task<Expected<std::vector<Rows>, Failure>> exchange(std::vector<Query> queries, Deadline deadline,
                                                      Limit statement_limit = std::nullopt);

  // False once broken; then it is only good for being destroyed. Looks at the socket.
  [[nodiscard]] bool alive();

 private:
  [[nodiscard]] Query beginning() const;
  // What a result belongs to.
  struct Awaited {
    std::optional<StatementId> parsed;  // a statement being prepared; else its rows
    bool for_caller = true;
  };
  bool send(const Query& query, bool for_caller = true);
  Task<bool> flush();
  Task<PGresult*> next_result();
  Task<bool> wait_readable();
  void arm(Deadline deadline);
  Expected<std::vector<Rows>, Failure> broken(const char* why);
  Expected<std::vector<Rows>, Failure> refused(PGresult* error);

  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Notices> notices_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  SessionFacts facts_;
  const Statements& statements_;
  std::vector<Awaited> expected_;  // of this exchange, in order
  std::uint64_t exchanges_ = 0;
  bool overdue_ = false;  // this exchange: its deadline has passed
  std::bitset<statements_count> prepared_;
  std::uint64_t doubts_settled_ = 0;  // all up to this one: see doubts.hpp
  bool settings_stay_ = false;        // made for the session, not for each transaction
  bool usable_ = true;
};

}  // namespace pawl::postgres
