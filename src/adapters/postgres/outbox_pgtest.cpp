// Messages of the outbox that another transaction holds, and those beside them.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <set>

#include "src/adapters/postgres/pg_fixture.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/outbox_store.hpp"

namespace pawl::postgres {
namespace {

using testing::run;

constexpr int rows_count = 12;

// "00000000-0000-4000-8000-000000000007"
std::string id_of(int number) {
  const std::string digits = std::to_string(number);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

class LockedMessages : public ::testing::Test {
 protected:
  LockedMessages() {
    for (int i = 0; i < rows_count; ++i) {
      const std::string time =
          "timestamptz 'epoch' + interval '1 second' * " + std::to_string(i) + ", ";
      service_(
          "INSERT INTO pawl.outbox (scope_id, id, idempotency_key, destination, derived_key,"
          " path, headers, body, next_attempt_at, created_at) VALUES ('caller:a', '" +
          id_of(i) + "', 'key-" + std::to_string(i) + "', 'provider', 'derived-" +
          std::to_string(i) + "', '/', '[]', '', " + time + time.substr(0, time.size() - 2) + ")");
    }
  }
  static Options hurried() {
    Options options = patient();
    options.operation_timeout = std::chrono::seconds(5);  // what a held row must not cost
    return options;
  }
  void hold(int number) {
    service_("BEGIN");
    service_("UPDATE pawl.outbox SET attempt = attempt WHERE id = '" + id_of(number) + "'");
  }
  std::vector<OutboxRow> claim(std::size_t rows_max) {
    const OutboxClaim wanted{"provider", "worker", std::chrono::hours(1), rows_max, false};
    const StoreResult<OutboxClaimed> claimed = run(outbox_.claim(wanted));
    EXPECT_TRUE(claimed) << outbox_.trouble();
    return claimed ? claimed->rows : std::vector<OutboxRow>();
  }
  // The session's own; it changes with every new connection.
  std::string backend() {
    std::function<sql::Result<std::string>(sql::Session&)> ask =
        [](sql::Session& session) -> sql::Result<std::string> {
      const sql::Result<sql::Rows> rows = session.run("SELECT pg_backend_pid()");
      if (!rows) return Unexpected{rows.error()};
      return rows->front().front().value_or("");
    };
    return run(thread_->run<std::string>(ask)).value();
  }

  const std::string url_ = migrated_url(shared_server());
  Sql service_{url_};
  const std::shared_ptr<sql::SessionThread> thread_ =
      std::make_shared<sql::SessionThread>(std::make_unique<SqlSession>(url_, hurried()));
  sql::SqlOutboxStore outbox_{thread_};
};

TEST_F(LockedMessages, OneDoesNotStopTheOthersOfItsBatch) {
  const std::vector<OutboxRow> rows = claim(rows_count);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(rows_count));
  const std::string before = backend();
  hold(7);
  boost::asio::io_context context(1);
  std::vector<std::optional<StoreResult<bool>>> written(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    OutboxWrite write{rows[i], true};
    write.next.status = OutboxStatus::sending;
    boost::asio::co_spawn(context,
                          testing::keep_result(outbox_.write(std::move(write)), written[i]),
                          [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
  }
  context.run();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StoreResult<bool>& mine = *written[i];
    if (i == 7) {
      ASSERT_FALSE(mine);
      EXPECT_EQ(mine.error(), StoreError::contended);
    } else {
      ASSERT_TRUE(mine) << i << ' ' << to_text(mine.error());
      EXPECT_TRUE(*mine) << i;
    }
  }
  EXPECT_EQ(backend(), before) << "a row that is held says nothing against the connection";
  service_("ROLLBACK");
  OutboxWrite again{rows[7], true};
  EXPECT_TRUE(run(outbox_.write(again)).value());
}

TEST_F(LockedMessages, OneIsSteppedOverByWhoeverClaims) {
  hold(0);
  std::set<std::string> ids;
  for (const OutboxRow& row : claim(4)) ids.insert(row.id);
  EXPECT_EQ(ids.size(), 4U);
  EXPECT_FALSE(ids.contains(id_of(0)));
  for (const OutboxRow& row : claim(rows_count)) EXPECT_TRUE(ids.insert(row.id).second) << row.id;
  EXPECT_EQ(ids.size(), rows_count - 1U);
  service_("ROLLBACK");
  const std::vector<OutboxRow> last = claim(rows_count);
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last.front().id, id_of(0));
}

}  // namespace
}  // namespace pawl::postgres
