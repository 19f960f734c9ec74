// A store that neither answers nor refuses: PostgreSQL's processes are stopped in the middle of
// their work and go on later; another process holds SQLite's write lock.
#include <signal.h>
#include <sqlite3.h>

#include <sstream>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class SilentPostgres : public OnPostgres {
 protected:
  ~SilentPostgres() override { resume_sessions(); }

  // Every session there is; the gateway may open new ones.
  void stop_sessions() {
    std::istringstream pids(shared_postgres().query(
        "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity WHERE datname = '" + database() +
        "' AND pid <> pg_backend_pid()"));
    for (pid_t pid = 0; pids >> pid;) {
      ::kill(pid, SIGSTOP);
      stopped_.push_back(pid);
    }
    ASSERT_FALSE(stopped_.empty());
  }

  // They read what was sent to them meanwhile, and do it.
  void resume_sessions() {
    for (const pid_t pid : stopped_) ::kill(pid, SIGCONT);
    stopped_.clear();
  }

 private:
  std::vector<pid_t> stopped_;
};

// For as long as that the key would be in flight if nobody looked after it.
const Settings long_lease{.policy = "lease = \"1h\"", .top = "", .rest = ""};

TEST_F(SilentPostgres, AReservationThatArrivesAfterItsClientWasToldNoIsReleased) {
  ServeProcess& gateway = start(long_lease);
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  Post other = payment;
  other.key = "another-key-0123456789";
  stop_sessions();
  const HttpAnswer told = post(gateway.port(), other);
  resume_sessions();
  // It may have been reserved over a new connection in time; then it was executed, once.
  if (told.status != 201) {
    EXPECT_EQ(told.status, 503);
    EXPECT_EQ(problem_of(told), "store-unavailable");
    EXPECT_EQ(upstream.effects(other.key), 0U);
  }
  EXPECT_TRUE(until([&] { return post(gateway.port(), other).status == 201; }));
  EXPECT_EQ(upstream.effects(other.key), 1U);
}

TEST_F(SilentPostgres, AnOutcomeIsRecordedOverAnotherConnection) {
  ServeProcess& gateway = start(long_lease);
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "paid").after(gate));
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  stop_sessions();
  gate->release();
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "paid");
  resume_sessions();
  ServeProcess& other = start();
  EXPECT_EQ(post(other.port(), payment).body, "paid");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_F(SilentPostgres, ACrashOfTheServerDuringTheCallLosesNothing) {
  ServeProcess& gateway = start(long_lease);
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "paid").after(gate));
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  shared_postgres().kill_hard();
  gate->release();
  shared_postgres().start();
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "paid");
  EXPECT_EQ(post(start().port(), payment).body, "paid");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

class LockedSqlite : public OnSqlite {
 protected:
  ~LockedSqlite() override { sqlite3_close(handle_); }

  void lock() {
    const std::string path = folder() / "pawl.db";
    ASSERT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK);
    sqlite3_busy_timeout(handle_, 30'000);
    ASSERT_EQ(sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  }
  void unlock() {
    ASSERT_EQ(sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr), SQLITE_OK);
  }

 private:
  sqlite3* handle_ = nullptr;
};

TEST_F(LockedSqlite, NothingIsForwardedThatCouldNotBeReserved) {
  ServeProcess& gateway = start();
  lock();
  const HttpAnswer told = post(gateway.port(), payment);
  EXPECT_EQ(told.status, 503);
  EXPECT_EQ(problem_of(told), "store-unavailable");
  EXPECT_EQ(told.value("Pawl-Should-Retry"), "true");
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(status_of(gateway, payment.key), "404");  // reading needs no lock
  unlock();
  EXPECT_EQ(post(gateway.port(), payment).status, 201);
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_F(LockedSqlite, AnOutcomeIsRecordedWhenTheLockIsGone) {
  ServeProcess& gateway = start();
  const auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "paid").after(gate));
  RawClient client(gateway.port());
  client.send(to_bytes(payment));
  upstream.wait_for(1);
  lock();
  gate->release();
  ASSERT_TRUE(
      until([&] { return metric(gateway, "pawl_store_errors_total{kind=\"contended\"}") > 0; }));
  EXPECT_EQ(status_of(gateway, payment.key), "in_progress");
  unlock();
  EXPECT_EQ(client.read_answer().body, "paid");
  EXPECT_EQ(post(gateway.port(), payment).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

}  // namespace
}  // namespace pawl::e2e
