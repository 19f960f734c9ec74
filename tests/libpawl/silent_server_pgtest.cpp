// A PostgreSQL that neither answers nor goes away (its process is stopped, its machine acknowledges
// every packet), and one whose standby is gone: no call of a program waits for it without an end.
#include <gtest/gtest.h>
#include <signal.h>

#include <future>
#include <thread>

#include "pawl/pawl.hpp"
#include "tests/support/postgres_server.hpp"

namespace pawl {
namespace {

void wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("waited too long");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

class SilentServer : public ::testing::Test {
 protected:
  ~SilentServer() override {
    for (const pid_t process : stopped_) ::kill(process, SIGCONT);
  }

  static Node open_node(std::chrono::milliseconds statement_timeout) {
    NodeOptions options;
    options.allow_lossy_store = true;
    options.migrate = true;
    options.connections = 1;
    options.passes = false;
    options.statement_timeout = statement_timeout;
    return open(server().url(), options);
  }
  static testing::PostgresServer& server() {
    static testing::PostgresServer one({.fsync = false, .configuration = {}});
    return one;
  }

  // From here on this transaction's server process is silent.
  void silence(Database& database) {
    const std::string process = database.query("SELECT pg_backend_pid()", {}).at(0).at(0).value();
    stopped_.push_back(static_cast<pid_t>(std::stol(process)));
    ::kill(stopped_.back(), SIGSTOP);
  }

  static std::string failure_of(const std::function<void()>& call) {
    try {
      call();
    } catch (const DatabaseError& failure) {
      return failure.code();
    }
    return "done";
  }

 private:
  std::vector<pid_t> stopped_;
};

constexpr std::chrono::milliseconds short_timeout{200};

TEST_F(SilentServer, AStatementEndsAndTheNextPhaseGoesOnElsewhere) {
  const Node node = open_node(short_timeout);
  EXPECT_EQ(failure_of([&] {
              node.transact([&](Database& database) {
                silence(database);
                database.execute("SELECT 1");
              });
            }),
            "08006");
  EXPECT_EQ(failure_of([&] {
              node.transact([&](Database& database) { database.execute("SELECT $1", {"1"}); });
            }),
            "done");
}

TEST_F(SilentServer, ACommitEndsInDoubt) {
  const Node node = open_node(short_timeout);
  EXPECT_EQ(failure_of([&] { node.transact([&](Database& database) { silence(database); }); }),
            "40003");
}

TEST_F(SilentServer, ARollbackEnds) {
  const Node node = open_node(short_timeout);
  EXPECT_THROW(node.transact([&](Database& database) {
    silence(database);
    throw std::runtime_error("the program's own");
  }),
               std::runtime_error);
  EXPECT_EQ(failure_of([&] { node.transact([](Database&) {}); }), "done");
}

TEST_F(SilentServer, AKeptConnectionThatFellSilentIsReplaced) {
  const Node node = open_node(short_timeout);
  std::string process;
  node.transact([&](Database& database) {
    process = database.query("SELECT pg_backend_pid()", {}).at(0).at(0).value();
  });
  ::kill(static_cast<pid_t>(std::stol(process)), SIGSTOP);
  EXPECT_EQ(failure_of([&] { node.transact([](Database&) {}); }), "done");
  ::kill(static_cast<pid_t>(std::stol(process)), SIGCONT);
}

class MissingStandby : public SilentServer {
 protected:
  MissingStandby() : node(open_node(std::chrono::minutes(1))) {
    node.transact([](Database& database) {
      database.execute("CREATE TABLE IF NOT EXISTS payments (id text)");
    });
    server().query("ALTER ROLE postgres SET synchronous_commit = local");
    require("missing");
  }
  ~MissingStandby() override {
    require("");
    server().query("ALTER ROLE postgres RESET synchronous_commit");
  }

  static void require(const std::string& standby) {
    server().query("ALTER SYSTEM SET synchronous_standby_names = '" + standby + "'");
    server().query("SELECT pg_reload_conf()");
    wait_until([&] { return server().query("SHOW synchronous_standby_names") == standby; });
  }
  static std::string waiting() {
    return server().query(
        "SELECT string_agg(pid || ' ' || xact_start, ';') FROM pg_stat_activity WHERE wait_event = "
        "'SyncRep'");
  }
  static void cancel() {
    wait_until([] { return !waiting().empty(); });
    const std::string before = waiting();
    server().query(
        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = "
        "'SyncRep'");
    wait_until([&] { return waiting() != before; });
  }
  std::future<std::string> pay() {
    return std::async(std::launch::async, [this] {
      return failure_of([&] {
        node.transact(
            [](Database& database) { database.execute("INSERT INTO payments VALUES ('p')"); });
      });
    });
  }

  const Node node;
};

TEST_F(MissingStandby, ACommitWhoseWaitWasCancelledIsInDoubt) {
  std::future<std::string> paid = pay();
  cancel();
  cancel();  // it asks once more
  EXPECT_EQ(paid.get(), "40003");
}

TEST_F(MissingStandby, ItIsDoneOnceTheStandbyHasIt) {
  std::future<std::string> paid = pay();
  cancel();
  wait_until([] { return !waiting().empty(); });
  EXPECT_NE(paid.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  require("");
  EXPECT_EQ(paid.get(), "done");
}

}  // namespace
}  // namespace pawl
