// Behind PgBouncer in transaction pooling mode: every batch may meet another server process.
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fstream>

#include "src/adapters/postgres/pg_fixture.hpp"
#include "src/adapters/postgres/planted_fixture.hpp"
#include "src/adapters/postgres/sql_session.hpp"
#include "src/adapters/sql/observation_store.hpp"
#include "src/adapters/sql/upkeep.hpp"

namespace pawl::postgres {
namespace {

constexpr const char* program = "/usr/sbin/pgbouncer";

class Pooler {
 public:
  explicit Pooler(testing::PostgresServer& server) : directory_(server.directory()) {
    const std::string file = directory_ + "/pgbouncer.ini";
    std::ofstream(file) << "[databases]\n* = host=" << directory_ << " port=" << server.port()
                        << " user=postgres\n[pgbouncer]\npool_mode = transaction\n"
                        << "default_pool_size = 2\nmax_client_conn = 200\nauth_type = any\n"
                        << "listen_addr =\nunix_socket_dir = " << directory_
                        << "\nlisten_port = 6432\nlogfile = " << directory_ << "/pgbouncer.log\n";
    const passwd* user = ::geteuid() == 0 ? ::getpwnam("postgres") : nullptr;
    child_ = ::fork();
    if (child_ != 0) return;
    if (user != nullptr && (::setgroups(0, nullptr) != 0 || ::setgid(user->pw_gid) != 0 ||
                            ::setuid(user->pw_uid) != 0)) {
      ::_exit(126);
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execl(program, program, "-q", file.c_str(), nullptr);
    ::_exit(127);
  }
  ~Pooler() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  Pooler(const Pooler&) = delete;
  Pooler& operator=(const Pooler&) = delete;

  // Waits until it answers.
  [[nodiscard]] std::string url(const std::string& database) const {
    const std::string url = "host=" + directory_ + " port=6432 user=postgres dbname=" + database;
    wait_until([&] { return PQping(url.c_str()) == PQPING_OK; });
    return url;
  }

 private:
  std::string directory_;
  pid_t child_ = -1;
};

Task<void> pairs(Store& store, std::string name, int count) {
  for (int i = 0; i < count; ++i) {
    const Record row = held(name + "-" + std::to_string(i));
    const auto reserved = co_await store.insert_or_read_one(row);
    EXPECT_TRUE(reserved.has_value() && reserved->mine);
    const Replacement settle{completed(row), guard_of(row), {}};
    const auto settled = co_await store.replace_one(settle);
    EXPECT_TRUE(settled.has_value() && settled->mine);
    const auto found = co_await store.find(row.scope, row.key);
    EXPECT_TRUE(found.has_value() && found->has_value() && **found == settle.next);
  }
}

TEST(Pooler, TransactionPoolingIsEnough) {
  if (::access(program, X_OK) != 0) GTEST_SKIP() << "PgBouncer is not installed";
  auto& server = shared_server();
  const std::string database = new_database(server);
  ASSERT_TRUE(migrate(server.url(database)));
  const Pooler pooler(server);
  // Two nodes with four connections each share two server processes.
  const auto one = open_store(pooler.url(database));
  const auto other = open_store(pooler.url(database));
  constexpr int callers = 16;
  boost::asio::io_context context(1);
  for (int caller = 0; caller < callers; ++caller) {
    Store& store = caller % 2 == 0 ? *one : *other;
    boost::asio::co_spawn(context, pairs(store, "pooled-" + std::to_string(caller), 20),
                          [](std::exception_ptr failure) {
                            if (failure) std::rethrow_exception(failure);
                          });
  }
  context.run();
  EXPECT_EQ(server.query("SELECT count(*) FROM pawl.keys WHERE status = 'completed'", database),
            std::to_string(callers * 20));
  // Nothing was left behind in a session that somebody else gets next.
  Sql session(pooler.url(database));
  EXPECT_EQ(session("SELECT count(*) FROM pg_prepared_statements"), "0");
  EXPECT_EQ(session("SHOW lock_timeout"), "0");
  EXPECT_EQ(session("SHOW enable_seqscan"), "on");
}

TEST(Pooler, NothingPlantedRunsAsTheGateway) {
  if (::access(program, X_OK) != 0) GTEST_SKIP() << "PgBouncer is not installed";
  auto& server = shared_server();
  const std::string database = new_database(server);
  ASSERT_TRUE(migrate(server.url(database)));
  plant(server, database);
  const Pooler pooler(server);
  // Whoever had the server's session before us may have left anything in it.
  Sql before(pooler.url(database));
  for (int i = 0; i < 4; ++i) before("SET search_path = public, pg_catalog");
  const auto store = open_store(pooler.url(database));
  const std::vector<Record> rows{held("planted-key-0001"), held("planted-key-0002")};
  for (const auto& written : testing::run(store->insert_or_read(rows))) EXPECT_TRUE(written->mine);
  const PassQuery query{.now = wall_clock() + std::chrono::hours(1), .rows_max = 500};
  EXPECT_EQ(testing::run(store->lapsed(query))->size(), 2u);
  const auto thread = std::make_shared<sql::SessionThread>(
      std::make_unique<SqlSession>(pooler.url(database), patient()));
  sql::SqlObservationStore observations(thread);
  EXPECT_TRUE(testing::run(observations.summary(std::chrono::hours(1))).has_value());
  const std::vector<ObservedKey> keys{{"caller:a", "01"}, {"caller:a", "02"}};
  const auto nothing = [](const ObservationStore::Found&, Instant) { return ObservationUpdate{}; };
  EXPECT_TRUE(testing::run(observations.apply(keys, nothing)).has_value());
  sql::SqlUpkeep upkeep(thread);
  EXPECT_TRUE(testing::run(upkeep.replace_fact("a-fact", std::nullopt, "x")).value());
  // The statement that was repeated for each row is nobody's afterwards.
  Sql after(pooler.url(database));
  EXPECT_EQ(after("SELECT count(*) FROM pg_catalog.pg_prepared_statements"), "0");
  EXPECT_EQ(caught_in(server, database), "");
}

}  // namespace
}  // namespace pawl::postgres
