// The public SQL functions, from plain psql sessions: what a service in any language relies on.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "src/adapters/os/random.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/adapters/postgres/migrate.hpp"
#include "src/adapters/postgres/postgres_store.hpp"
#include "src/engine/engine.hpp"
#include "testing/builders.hpp"
#include "testing/counting.hpp"
#include "testing/run.hpp"
#include "testing/scripted_upstream.hpp"
#include "tests/support/postgres_server.hpp"
#include "tests/support/process.hpp"

namespace pawl {
namespace {

using testing::Finished;
using testing::run;

class SqlFunctions : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    server_ = new testing::PostgresServer({.fsync = false, .configuration = ""});
    const auto migrated = postgres::migrate(server_->url());
    ASSERT_TRUE(migrated) << migrated.error();
    server_->query("CREATE TABLE payments (id serial PRIMARY KEY, key text NOT NULL)");
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override { server_->query("TRUNCATE payments, pawl.keys, pawl.due, pawl.outbox"); }

  // A session of its own, as a person would type it. Stops at the first error, with its SQLSTATE.
  static Finished psql(const std::string& script) {
    return testing::run_program({"psql", server_->url(), "-XqAt", "-v", "ON_ERROR_STOP=1", "-v",
                                 "VERBOSITY=verbose", "-f", "-"},
                                script);
  }
  static std::string value(const std::string& sql) { return server_->query(sql); }

  static std::string reserve(const std::string& key, const std::string& owner,
                             const std::string& policy = R"({"v":1})",
                             const std::string& fingerprint = "1.-.f") {
    return value("SELECT decision FROM pawl.reserve('s', '" + key + "', '" + fingerprint + "', '" +
                 owner + "', '" + policy + "')");
  }
  static std::string fence(const std::string& key) {
    return value("SELECT fence FROM pawl.lookup('s', '" + key + "')");
  }
  static std::string status(const std::string& key) {
    return value("SELECT status FROM pawl.lookup('s', '" + key + "')");
  }

  static testing::PostgresServer* server_;
};

testing::PostgresServer* SqlFunctions::server_ = nullptr;

TEST_F(SqlFunctions, TheAnswerCommitsWithTheBusinessRow) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  const Finished done = psql(
      "BEGIN; INSERT INTO payments (key) VALUES ('k-1');"
      "SELECT pawl.complete('s', 'k-1', " +
      fence("k-1") + R"(, 201, '{"Content-Type":"application/json"}', '\x7b7d'); COMMIT;)");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_EQ(value("SELECT count(*) FROM payments"), "1");
  EXPECT_EQ(reserve("k-1", "o-2"), "replay");
  EXPECT_EQ(value("SELECT response_body FROM pawl.lookup('s', 'k-1')"), R"(\x7b7d)");
}

TEST_F(SqlFunctions, ARollbackTakesTheAnswerWithIt) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  psql("BEGIN; INSERT INTO payments (key) VALUES ('k-1'); SELECT pawl.complete('s', 'k-1', " +
       fence("k-1") + ", 201, '{}', ''); ROLLBACK;");
  EXPECT_EQ(value("SELECT count(*) FROM payments"), "0");
  EXPECT_EQ(status("k-1"), "in_progress");
}

TEST_F(SqlFunctions, AStaleFenceRaisesPW001AndTheBusinessRowIsGone) {
  ASSERT_EQ(reserve("k-1", "o-1", R"({"v":1,"lease_us":1,"on_lease_expiry":"retry"})"), "execute");
  const std::string old_fence = fence("k-1");
  ASSERT_EQ(reserve("k-1", "o-2"), "execute");  // the lease was a microsecond long
  for (const std::string& call : {"pawl.complete('s', 'k-1', " + old_fence + ", 201, '{}', '')",
                                  "pawl.advance('s', 'k-1', " + old_fence + ", 'charged')",
                                  "pawl.release('s', 'k-1', " + old_fence + ")",
                                  "pawl.enqueue('s', 'k-1', " + old_fence + ", 'bank', '')"}) {
    const Finished late =
        psql("BEGIN; INSERT INTO payments (key) VALUES ('k-1'); SELECT " + call + "; COMMIT;");
    EXPECT_NE(late.exit_code, 0);
    EXPECT_NE(late.err.find("PW001"), std::string::npos) << late.err;
    EXPECT_EQ(value("SELECT count(*) FROM payments"), "0") << call;
  }
  EXPECT_EQ(status("k-1"), "in_progress");
}

TEST_F(SqlFunctions, AnAnswerIsGivenOnce) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  const std::string complete =
      "SELECT pawl.complete('s', 'k-1', " + fence("k-1") + ", 200, '{}', '')";
  EXPECT_EQ(psql(complete).exit_code, 0);
  EXPECT_NE(psql(complete).err.find("PW001"), std::string::npos);
}

TEST_F(SqlFunctions, ManySessionsRaceForOneKeyAndOneWins) {
  std::vector<std::thread> sessions;
  std::vector<std::string> decisions;
  std::mutex mutex;
  for (int i = 0; i < 8; ++i) {
    sessions.emplace_back([&, i] {
      const Finished session = psql("SELECT decision FROM pawl.reserve('s', 'race', '1.-.f', 'o-" +
                                    std::to_string(i) + "')");
      const std::lock_guard lock(mutex);
      decisions.push_back(session.out + session.err);
    });
  }
  for (std::thread& session : sessions) session.join();
  EXPECT_EQ(std::ranges::count(decisions, "execute\n"), 1);
  EXPECT_EQ(std::ranges::count(decisions, "in_flight\n"), 7);
}

TEST_F(SqlFunctions, ReserveDecidesAsTheGatewayDoes) {
  EXPECT_EQ(reserve("k-1", "o-1"), "execute");
  EXPECT_EQ(reserve("k-1", "o-1"), "execute") << "the same owner asks again";
  EXPECT_EQ(reserve("k-1", "o-2"), "in_flight");
  EXPECT_EQ(reserve("k-1", "o-2", R"({"v":1})", "1.-.other"), "misuse");
  value("SELECT pawl.release('s', 'k-1', " + fence("k-1") + ", 'connection refused')");
  EXPECT_EQ(status("k-1"), "failed_retryable");
  EXPECT_EQ(reserve("k-1", "o-2"), "execute");

  EXPECT_EQ(reserve("k-2", "o-1", R"({"v":1,"lease_us":1})"), "execute");
  EXPECT_EQ(reserve("k-2", "o-2"), "undetermined") << "its owner may have paid before it died";
  EXPECT_EQ(reserve("k-2", "o-2"), "undetermined");

  EXPECT_EQ(reserve("k-5", "o-1", R"({"v":1,"lease_us":1})"), "execute");
  EXPECT_EQ(reserve("k-5", "o-1"), "undetermined") << "a lease that is over is not granted again";

  EXPECT_EQ(reserve("k-3", "o-1", R"({"v":1,"retention_us":1})"), "execute");
  value("SELECT pawl.complete('s', 'k-3', " + fence("k-3") + ", 200, '{}', '')");
  const std::string first_fence = fence("k-3");
  EXPECT_EQ(reserve("k-3", "o-2"), "execute") << "past its retention: a new life";
  EXPECT_GT(std::stoll(fence("k-3")), std::stoll(first_fence));

  EXPECT_EQ(reserve("k-4", "o-1", R"({"v":1,"retention_us":1,"expired":"tombstone"})"), "execute");
  value("SELECT pawl.complete('s', 'k-4', " + fence("k-4") + ", 200, '{}', '')");
  EXPECT_EQ(reserve("k-4", "o-2"), "gone");
}

TEST_F(SqlFunctions, ARecoveryPointComesBackWithTheNextAttempt) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  value("SELECT pawl.advance('s', 'k-1', " + fence("k-1") + ", 'charged')");
  value("SELECT pawl.release('s', 'k-1', " + fence("k-1") + ")");
  EXPECT_EQ(value("SELECT recovery_point FROM pawl.reserve('s', 'k-1', '1.-.f', 'o-2')"),
            "charged");
}

// A renewal guards itself by the lease it saw and ends its own at even microseconds: after an
// advance it must not pass, nor take the row for its own, whatever lease the row had.
TEST_F(SqlFunctions, AnAdvanceAlwaysMovesTheLeasesEndToAnOddMicrosecond) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  for (const char* ahead : {"1 hour", "1 hour 1 microsecond", "2 hours 2 microseconds"}) {
    value("UPDATE pawl.keys SET locked_until = date_trunc('second', locked_until) + interval '" +
          std::string(ahead) + "' RETURNING 1");
    const std::string before = value("SELECT locked_until FROM pawl.keys");
    value("SELECT pawl.advance('s', 'k-1', " + fence("k-1") + ", 'charged')");
    EXPECT_EQ(value("SELECT locked_until > '" + before + "' FROM pawl.keys"), "t");
    EXPECT_EQ(value("SELECT extract(microseconds FROM locked_until)::bigint % 2 FROM pawl.keys"),
              "1");
  }
}

TEST_F(SqlFunctions, APromiseMadeTwiceIsOneRowOfTheOutbox) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  const std::string enqueue = "SELECT pawl.enqueue('s', 'k-1', " + fence("k-1") + ", 'bank', 'x')";
  EXPECT_EQ(value(enqueue), value(enqueue));
  EXPECT_EQ(value("SELECT count(*) FROM pawl.outbox"), "1");
}

TEST_F(SqlFunctions, AKeyThatIsNewAgainPromisesAnew) {
  const std::string policy = R"({"v":1,"retention_us":1})";
  ASSERT_EQ(reserve("k-1", "o-1", policy), "execute");
  const auto enqueue = [] {
    return value("SELECT pawl.enqueue('s', 'k-1', " + fence("k-1") + ", 'bank', 'x')");
  };
  const std::string first = enqueue();
  value("SELECT pawl.complete('s', 'k-1', " + fence("k-1") + ", 200, '{}', '')");
  ASSERT_EQ(reserve("k-1", "o-2", policy), "execute") << "past its retention";
  const std::string second = enqueue();
  EXPECT_NE(first, second);
  EXPECT_EQ(value("SELECT count(DISTINCT derived_key) FROM pawl.outbox"), "2");
}

TEST_F(SqlFunctions, AnotherMessageInThePlaceOfAPromiseRaisesPW002AndTheBusinessRowIsGone) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  const std::string enqueue = "SELECT pawl.enqueue('s', 'k-1', " + fence("k-1") + ", 'bank', ";
  const std::string start = "BEGIN; INSERT INTO payments (key) VALUES ('k-1'); " + enqueue;
  for (const char* other : {"'y');", "'x', '/other');"}) {
    const Finished session = psql(start + "'x'); " + enqueue + other + " COMMIT;");
    EXPECT_NE(session.err.find("PW002"), std::string::npos) << session.err;
    EXPECT_NE(session.err.find("step of its own"), std::string::npos) << session.err;
  }
  EXPECT_EQ(value("SELECT count(*) FROM payments"), "0");
  EXPECT_EQ(value("SELECT count(*) FROM pawl.outbox"), "0");
  const Finished apart = psql(start + "'x'); " + enqueue + "'y', step => 'second'); " + enqueue +
                              "'x', headers => '{\"traceparent\":\"1\"}'); COMMIT;");
  EXPECT_EQ(apart.exit_code, 0) << apart.err;
  EXPECT_EQ(value("SELECT count(*) FROM pawl.outbox"), "2");
}

// As the version before derived it: without the life.
TEST_F(SqlFunctions, ARowFromBeforeTheUpgradeIsTheSamePromise) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  const std::string enqueue = "SELECT pawl.enqueue('s', 'k-1', " + fence("k-1") + ", 'bank', 'x')";
  const std::string row = value(enqueue);
  const std::string as_before =
      "UPDATE pawl.outbox SET derived_key = encode(sha256(convert_to("
      "'pawl-derived-key:1:s:3:k-1:4:bank:0:', 'UTF8')), 'hex')";
  value(as_before);
  EXPECT_EQ(value(enqueue), row);
  EXPECT_EQ(value("SELECT count(*) FROM pawl.outbox"), "1");
  value("UPDATE pawl.outbox SET created_at = created_at - interval '1 hour'");
  EXPECT_NE(value(enqueue), row) << "an earlier life's";
}

TEST_F(SqlFunctions, CompletionIsDurableAlthoughTheServiceTurnedThatOff) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  const Finished session =
      psql("SET synchronous_commit = off; BEGIN; SELECT pawl.complete('s', 'k-1', " + fence("k-1") +
           ", 200, '{}', ''); SHOW synchronous_commit; COMMIT; SHOW synchronous_commit;");
  EXPECT_EQ(session.out, "\non\noff\n") << session.err;
}

TEST_F(SqlFunctions, BadArgumentsAreRefusedInWords) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  const std::string call = "SELECT pawl.complete('s', 'k-1', " + fence("k-1");
  EXPECT_NE(psql(call + ", 99, '{}', '')").err.find("no final HTTP status"), std::string::npos);
  EXPECT_NE(psql(call + ", 200, '3', '')").err.find("JSON object"), std::string::npos);
  EXPECT_NE(psql(call + R"(, 200, '{"a b":"c"}', ''))").err.find("token"), std::string::npos);
  EXPECT_NE(psql(call + R"(, 200, '{"a":"b\r\nc: d"}', ''))").err.find("control"),
            std::string::npos);
  EXPECT_NE(psql("SELECT pawl.reserve('s', '', 'f', 'o')").err.find("printable"),
            std::string::npos);
  EXPECT_EQ(status("k-1"), "in_progress");
}

// Every member and value that src/core/policy.cpp would not read, or would read as something else.
TEST_F(SqlFunctions, APolicyThatIsNotUnderstoodIsRefusedAndNothingIsReserved) {
  for (const char* policy : {R"({"v":1,"on_lease_expiry":"unkown"})",
                             R"({"v":1,"on_lease_expiry":"Retry"})",
                             R"({"v":1,"on_lease_expiry":true})",
                             R"({"v":1,"on_lease_expiry":null})",
                             R"({"v":1,"on_lease_expiri":"retry"})",
                             R"({"v":1,"mode":"proxy"})",
                             R"({"v":1,"on_server_error":"release"})",
                             R"({"v":1,"on_refusal":"retry"})",
                             R"({"v":1,"retention_from":"deleted"})",
                             R"({"v":1,"expired":"keep"})",
                             R"({"v":1,"lease_us":-1})",
                             R"({"v":1,"lease_us":0})",
                             R"({"v":1,"retention_us":0})",
                             R"({"v":1,"lease_us":"30"})",
                             R"({"v":1,"lease_us":1.5})",
                             R"({"v":1,"retention_us":3155695200000001})",
                             R"({"v":1,"retention_us":1e300})",
                             R"({"v":1,"max_attempts":0})",
                             R"({"v":1,"max_attempts":1000001})",
                             R"({"v":1,"include":"/a"})",
                             R"({"v":1,"include":["a"]})",
                             R"({"v":1,"exclude":["/~2"]})",
                             R"({"v":1,"exclude":[1]})",
                             R"({"v":1,"transactional":"yes"})",
                             R"({"v":1,"credentials":1})",
                             R"({"v":2})",
                             R"({"v":"1"})",
                             R"({})",
                             R"([])",
                             R"(1)"}) {
    const Finished refused =
        psql("SELECT pawl.reserve('s', 'k-1', 'f', 'o', '" + std::string(policy) + "')");
    EXPECT_NE(refused.err.find("22023"), std::string::npos) << policy << ": " << refused.err;
  }
  EXPECT_NE(psql("SELECT pawl.reserve('s', 'k-1', 'f', 'o', NULL)").err.find("22023"),
            std::string::npos);
  EXPECT_EQ(value("SELECT count(*) FROM pawl.keys"), "0");
}

TEST_F(SqlFunctions, EveryPolicyThatTheGatewayStoresIsTaken) {
  StoredPolicy all;
  all.transactional = true;
  all.on_lease_expiry = OnLeaseExpiry::resume;
  all.on_server_error = OnServerError::store;
  all.on_refusal = OnRefusal::hold;
  all.retention_from = RetentionFrom::created;
  all.expired = WhenExpired::tombstone;
  all.lease = std::chrono::years(100);
  all.upstream_timeout = Duration{0};
  all.retention = std::chrono::hours(1);
  all.tombstone_for = std::chrono::hours(1);
  all.max_attempts = 1'000'000;
  all.fingerprint.include.push_back(json::parse_pointer("/a~1b/~0").value());
  all.fingerprint.exclude.push_back(json::parse_pointer("").value());
  EXPECT_EQ(reserve("k-1", "o-1", encode(all)), "execute");
  EXPECT_EQ(reserve("k-2", "o-1", encode(StoredPolicy{})), "execute");
}

TEST_F(SqlFunctions, ARuleForALapsedLeaseThatIsNotUnderstoodIsDoubt) {
  for (const char* rule : {R"("unkown")", R"("RETRY")", "null", "true", R"(["retry"])"}) {
    value("TRUNCATE pawl.keys, pawl.due");
    ASSERT_EQ(reserve("k-1", "o-1", R"({"v":1,"lease_us":1,"on_lease_expiry":"retry"})"),
              "execute");
    // As an older version let it in.
    value("UPDATE pawl.keys SET policy = jsonb_set(policy, '{on_lease_expiry}', '" +
          std::string(rule) + "') RETURNING 1");
    EXPECT_EQ(reserve("k-1", "o-2"), "undetermined") << rule;
    EXPECT_EQ(status("k-1"), "unknown");
  }
}

TEST_F(SqlFunctions, AfterARestoreAKeyThatIsNotKnownIsNotNew) {
  ASSERT_EQ(reserve("k-done", "o-1"), "execute");
  value("SELECT pawl.complete('s', 'k-done', " + fence("k-done") + ", 200, '{}', '')");
  ASSERT_EQ(reserve("k-free", "o-1"), "execute");
  value("SELECT pawl.release('s', 'k-free', " + fence("k-free") + ")");
  ASSERT_EQ(reserve("k-over", "o-1", R"({"v":1,"retention_us":1})"), "execute");
  value("SELECT pawl.complete('s', 'k-over', " + fence("k-over") + ", 200, '{}', '')");
  const auto restored = [](const std::string& until, const std::string& finished) {
    value(
        "INSERT INTO pawl.facts VALUES ('restored', format('{\"since_us\":1,\"at_us\":%s,"
        "\"until_us\":%s,\"finished\":" +
        finished +
        "}', (extract(epoch FROM now()) * 1000000)::bigint, (extract(epoch FROM "
        "now() + interval '" +
        until + "') * 1000000)::bigint)) ON CONFLICT (name) DO UPDATE SET value = excluded.value");
  };
  restored("1 hour", "false");
  EXPECT_EQ(reserve("k-new", "o-1"), "restored");
  EXPECT_EQ(status("k-new"), "") << "nothing is written";
  EXPECT_EQ(reserve("k-done", "o-2"), "replay") << "what is known is known";
  EXPECT_EQ(reserve("k-free", "o-2"), "restored") << "it may have run since the backup";
  EXPECT_EQ(reserve("k-over", "o-2"), "restored");
  restored("1 hour", "true");
  EXPECT_EQ(reserve("k-new", "o-1"), "restored");
  EXPECT_EQ(reserve("k-over", "o-2"), "restored") << "another life may have begun since";
  EXPECT_EQ(reserve("k-free", "o-2"), "execute") << "somebody has looked at it since";
  value("SELECT pawl.release('s', 'k-free', " + fence("k-free") + ")");
  restored("-1 hour", "true");
  EXPECT_EQ(reserve("k-new", "o-1"), "execute") << "a retention has passed";
  EXPECT_EQ(reserve("k-free", "o-2"), "execute");
  value(
      "UPDATE pawl.facts SET value = '{\"since_us\":1,\"at_us\":1}' WHERE name = 'restored' "
      "RETURNING 1");
  EXPECT_EQ(reserve("k-newer", "o-1"), "restored") << "no end is known";
  value("DELETE FROM pawl.facts WHERE name = 'restored'");
}

TEST_F(SqlFunctions, ACompletionLetsGoOfAStoredRequest) {
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  value(R"(UPDATE pawl.keys SET policy = policy || '{"mode":"async"}', request = '{"secret":1}',)"
        R"( request_digest = '\x00' RETURNING 1)");
  value("SELECT pawl.complete('s', 'k-1', " + fence("k-1") + ", 200, '{}', '')");
  EXPECT_EQ(value("SELECT request IS NULL AND request_digest IS NULL FROM pawl.keys"), "t");
}

TEST_F(SqlFunctions, TheStoreReadsAndSweepsWhatTheyWrote) {
  auto store = postgres::PostgresStore::open(server_->url(), {.allow_lossy_store = true});
  ASSERT_TRUE(store) << store.error();
  ASSERT_EQ(reserve("k-1", "o-1"), "execute");
  value("SELECT pawl.complete('s', 'k-1', " + fence("k-1") +
        R"(, 201, '[["X-A","\\x41"],["X-A","2"]]', '\x00ff'))");
  const auto found = run((*store)->find(Scope{"s"}, Key{"k-1"}));
  ASSERT_TRUE(found && *found);
  const auto& response = std::get<Completed>((**found).state).response;
  EXPECT_EQ(response.headers, (Headers{{"X-A", "\\x41"}, {"X-A", "2"}}));
  EXPECT_EQ(response.body, std::string("\0\xff", 2));

  ASSERT_EQ(reserve("k-2", "o-1", R"({"v":1,"lease_us":1})"), "execute");
  os::SystemClock clock;
  os::SystemEntropy entropy;
  testing::CountingMetrics metrics;
  Engine engine(**store, clock, entropy, metrics);
  ASSERT_EQ(run(engine.sweep())->changed, 1U);
  EXPECT_EQ(status("k-2"), "unknown");
}

TEST_F(SqlFunctions, TheGatewayAnswersWithWhatTheServiceCommitted) {
  auto store = postgres::PostgresStore::open(server_->url(), {.allow_lossy_store = true});
  ASSERT_TRUE(store) << store.error();
  os::SystemClock clock;
  os::SystemEntropy entropy;
  testing::CountingMetrics metrics;
  Engine engine(**store, clock, entropy, metrics);
  testing::ScriptedUpstream service;
  Request request = testing::a_request("k-transactional-1", "s");
  service.before_answer = [&] {
    const Finished committed = psql(
        "BEGIN; INSERT INTO payments (key) VALUES ('k'); SELECT pawl.complete('s', "
        "'k-transactional-1', " +
        fence("k-transactional-1") + ", 202, '{}', 'stored'); COMMIT;");
    EXPECT_EQ(committed.exit_code, 0) << committed.err;
  };
  const Guarded guarded = run(engine.guard(request, default_policy(Profile::ietf, true), service));
  const StoreResult<Settlement>& settlement = std::get<Executed>(guarded).settlement;
  ASSERT_TRUE(settlement);
  EXPECT_FALSE(settlement->recorded);
  EXPECT_EQ(std::get<Completed>(settlement->record->state).response.body, "stored");
  EXPECT_EQ(metrics.count(Counter::completed_without_commit), 0U);
}

}  // namespace
}  // namespace pawl
