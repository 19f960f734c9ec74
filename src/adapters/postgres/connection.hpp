// One libpq connection in pipeline mode on an event loop. Lives on one thread, the store's.
#pragma once

#include <libpq-fe.h>

#include <bitset>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/core/expected.hpp"
#include "pawl/ports/task.hpp"
#include "src/adapters/postgres/signal.hpp"
#include "src/adapters/postgres/statements.hpp"
#include "src/adapters/postgres/wire.hpp"

namespace pawl::postgres {

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
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // Takes over a connection that is established and idle.
  Connection(boost::asio::any_io_executor executor, PGconn* connection, SessionFacts facts,
             const Statements& statements);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  using Reply = Expected<std::vector<Rows>, Failure>;

  // Sends all queries as one transaction and waits until it is committed: one round trip. The first
  // result is that of `begin`, which is put in front. A second exchange may be under way at the
  // same time: it reaches the server before the answer to the first has left it. Answers come first
  // in, first out; if the connection breaks, all that was sent is in doubt.
  Task<Reply> exchange(std::vector<Query> queries, Deadline deadline);

  // Whether an exchange would be sent at once.
  [[nodiscard]] bool has_room() const;

  // False once broken; then it is only good for being destroyed. Looks at the socket.
  [[nodiscard]] bool alive();

 private:
  struct Sent;

  [[nodiscard]] Query beginning() const;
  bool send(Sent& sent, const Query& query);
  bool send_all(Sent& sent, const std::vector<Query>& queries);
  Task<Reply> answer_to(const Sent& sent);
  Task<Reply> results_of(const Sent& sent);
  Task<bool> flush();
  Task<PGresult*> next_result();
  Task<bool> wait_readable();
  Reply broken(const char* why);
  Reply not_sent() const;
  Failure refused(PGresult* error, const Sent& sent);

  boost::asio::posix::stream_descriptor socket_;
  Signal changed_;  // an exchange has ended
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
  SessionFacts facts_;
  const Statements& statements_;
  std::uint64_t sent_ = 0;      // exchanges, by number
  std::uint64_t answered_ = 0;  // whose turn it is to be answered: the next
  int under_way_ = 0;
  bool preparing_ = false;  // the last exchange that was sent brought statements along
  std::bitset<statements_count> prepared_;
  bool settings_stay_ = false;  // made for the session, not for each transaction
  bool usable_ = true;
};

}  // namespace pawl::postgres
