// Two exchanges on one connection: the second is sent before the first is answered.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "src/adapters/postgres/batch.hpp"
#include "src/adapters/postgres/link.hpp"
#include "src/adapters/postgres/pg_fixture.hpp"

namespace pawl::postgres {
namespace {

using testing::run;

// Deletes a row: waits as long as somebody holds it.
std::vector<Query> erase(const Record& row) {
  ArrayBuilder scopes(type::text_array);
  ArrayBuilder keys(type::text_array);
  scopes.bytes(row.scope.text);
  keys.bytes(row.key.text);
  Query query{StatementId::erase, {}};
  query.parameters.push_back(std::move(scopes).finish());
  query.parameters.push_back(std::move(keys).finish());
  for (Parameter& parameter : guard_parameters({guard_of(row)})) {
    query.parameters.push_back(std::move(parameter));
  }
  return {query};
}

std::vector<Query> look_up(const Record& row) { return {find_query({{row.scope, row.key}})}; }

class Pipelined : public ::testing::Test {
 protected:
  struct Answer {
    std::string who;
    Connection::Reply reply;
  };

  // The first two exchanges teach the connection its settings and statements.
  void SetUp() override {
    for (const auto& written : run(store_->insert_or_read(rows_))) ASSERT_TRUE(written->mine);
    auto established = establish(url_, patient());
    ASSERT_TRUE(established.has_value()) << established.error();
    server_process_ = PQbackendPID(established->connection.get());
    connection_ =
        std::make_shared<Connection>(context_.get_executor(), established->connection.release(),
                                     established->facts, statements_);
    const Record nobodys = held("nobody-has-this-key");
    start("", erase(nobodys));
    EXPECT_FALSE(may_follow()) << "the server does not know the statements yet";
    start("", look_up(nobodys));
    context_.run();
    answers_.clear();
  }

  void start(std::string who, std::vector<Query> queries) {
    boost::asio::co_spawn(context_, exchange(std::move(who), std::move(queries)),
                          [](std::exception_ptr failure) {
                            if (failure) std::rethrow_exception(failure);
                          });
  }

  Task<void> exchange(std::string who, std::vector<Query> queries) {
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    Connection::Reply reply = co_await connection_->exchange(std::move(queries), deadline);
    answers_.push_back({std::move(who), std::move(reply)});
  }

  // After all that is ready has run.
  bool may_follow() {
    context_.restart();
    context_.poll();
    return connection_->has_room();
  }

  void finish() {
    context_.restart();
    context_.run();
  }

  const std::string url_ = migrated_url(shared_server());
  const std::unique_ptr<PostgresStore> store_ = open_store(url_);
  const std::vector<Record> rows_{held("pipelined-key-1"), held("pipelined-key-2"),
                                  held("pipelined-key-3")};
  const Statements statements_{false};
  boost::asio::io_context context_{1};
  std::shared_ptr<Connection> connection_;
  int server_process_ = 0;
  std::vector<Answer> answers_;
};

TEST_F(Pipelined, AnswersComeInTheOrderOfTheQuestions) {
  Sql service(url_);
  service("BEGIN");
  service("UPDATE pawl.keys SET attempt = attempt WHERE idempotency_key = 'pipelined-key-1'");
  start("held up", erase(rows_[0]));
  EXPECT_TRUE(may_follow());
  start("second", look_up(rows_[1]));
  EXPECT_FALSE(may_follow()) << "two are under way";
  start("third", look_up(rows_[2]));
  EXPECT_TRUE(answers_.empty());
  finish();
  service("ROLLBACK");
  ASSERT_EQ(answers_.size(), 3u);
  EXPECT_EQ(answers_[0].who, "held up");
  ASSERT_FALSE(answers_[0].reply.has_value());
  EXPECT_EQ(answers_[0].reply.error().sqlstate, "55P03") << "the lock timeout: it alone suffers";
  for (std::size_t i = 1; i < 3; ++i) {
    EXPECT_EQ(answers_[i].who, i == 1 ? "second" : "third");
    ASSERT_TRUE(answers_[i].reply.has_value()) << answers_[i].reply.error().message;
    const Rows& found = answers_[i].reply->at(1);
    ASSERT_EQ(found.count(), 1);
    EXPECT_EQ(found.text(0, 1), rows_[i].key.text);
  }
}

TEST_F(Pipelined, AllThatWasSentIsInDoubtWhenTheConnectionBreaks) {
  Sql service(url_);
  service("BEGIN");
  service("UPDATE pawl.keys SET attempt = attempt WHERE idempotency_key = 'pipelined-key-1'");
  start("held up", erase(rows_[0]));
  start("second", erase(rows_[1]));
  EXPECT_FALSE(may_follow());
  start("never sent", erase(rows_[2]));
  EXPECT_FALSE(may_follow());
  Sql{url_}("SELECT pg_terminate_backend(" + std::to_string(server_process_) + ")");
  finish();
  service("ROLLBACK");
  ASSERT_EQ(answers_.size(), 3u);
  for (const Answer& answer : answers_) {
    ASSERT_FALSE(answer.reply.has_value()) << answer.who;
    const bool sent = answer.who != "never sent";
    EXPECT_EQ(answer.reply.error().kind, sent ? Failure::Kind::broken : Failure::Kind::not_sent)
        << answer.who;
  }
  EXPECT_FALSE(connection_->alive());
}

}  // namespace
}  // namespace pawl::postgres
