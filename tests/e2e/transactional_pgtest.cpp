// Transactional routes: gateway and service are killed and paused before, during and after the
// service's transaction. Every time there is one business row per key, without an operator, and
// whoever got an answer got the stored one.
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>
#include <utility>

#include "src/core/sha256.hpp"
#include "tests/e2e/transactional_fixture.hpp"

namespace pawl::e2e {
namespace {

constexpr int rounds = 3;
constexpr int keys_per_round = 3;
constexpr const char* open_transactions =
    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS "
    "NOT "
    "NULL AND pid <> pg_backend_pid()";
constexpr const char* no_sweeper = "sweep_interval = \"1h\"";

class Transactional : public TransactionalTest {};

// The points at which the service can be stopped: before BEGIN, after the business INSERT, after
// pawl.complete and before COMMIT, after COMMIT and before the answer.
class TransactionalAt : public TransactionalTest,
                        public ::testing::WithParamInterface<const char*> {
 protected:
  struct Held {
    std::string key;
    RawClient client;
    pid_t pid = 0;  // of the stopped service
  };

  // So many payments, each with its service stopped at the point.
  std::list<Held> hold(const ServeProcess& gateway) {
    std::list<Held> held;
    for (int i = 0; i < keys_per_round; ++i) {
      Held& each = held.emplace_back(Held{new_key(), RawClient(gateway.port()), 0});
      each.client.send(to_bytes(payment_of(each.key, {{"X-Stop-At", point()}})));
    }
    for (Held& each : held) {
      each.pid = service.stopped_at(point(), each.key);
      EXPECT_NE(each.pid, 0) << each.key;
    }
    return held;
  }

  static std::string point() { return GetParam(); }
  static bool holds_the_row() { return point() == "completed"; }
  static bool has_committed() { return point() == "committed"; }

  bool lease_is_over(const std::string& key) const {
    return until([&] {
      return query(
                 "SELECT locked_until < clock_timestamp() FROM pawl.keys WHERE idempotency_key = "
                 "'" +
                 key + "'") == "t";
    });
  }
  // The attempt that was stopped has ended, one way or the other.
  bool ended(const std::string& key) const {
    return until([&] { return service.count("committed", key) + service.count("PW001", key) > 0; });
  }
};

TEST_P(TransactionalAt, TheServiceIsKilled) {
  ServeProcess& gateway = node();
  for (int round = 0; round < rounds; ++round) {
    std::list<Held> held = hold(gateway);
    service.kill_hard();
    for (Held& each : held) {
      const HttpAnswer answer = each.client.read_answer();
      note(each.key, answer);
      EXPECT_EQ(answer.status, has_committed() ? 201 : 502) << answer.body;
      EXPECT_EQ(rows(each.key), has_committed() ? 1 : 0);
    }
    service.start();
    for (const Held& each : held) {
      EXPECT_TRUE(retry_until_paid(gateway, each.key));
      expect_paid_once(each.key);
      EXPECT_EQ(service.count("received", each.key), has_committed() ? 1U : 2U);
    }
  }
  EXPECT_EQ(metric(gateway, "pawl_completed_without_commit_total"), 0);
}

TEST_P(TransactionalAt, TheGatewayIsKilledAndTheServiceGoesOn) {
  ServeProcess& other = node();
  for (int round = 0; round < rounds; ++round) {
    ServeProcess& killed = node();
    const std::list<Held> held = hold(killed);
    killed.kill_hard();
    // From here on the service races against the lease's end, the sweeper and the retry.
    for (const Held& each : held) ServiceProcess::resume(each.pid);
    for (const Held& each : held) {
      EXPECT_TRUE(retry_until_paid(other, each.key));
      EXPECT_TRUE(ended(each.key));
      expect_paid_once(each.key);
    }
  }
}

TEST_P(TransactionalAt, TheGatewayIsKilledAndTheServiceCommitsLateAndNobodyTookOver) {
  ServeProcess& other = node("", no_sweeper);
  for (int round = 0; round < rounds; ++round) {
    ServeProcess& killed = node("", no_sweeper);
    const std::list<Held> held = hold(killed);
    killed.kill_hard();
    for (const Held& each : held) {
      EXPECT_TRUE(has_committed() || lease_is_over(each.key));
      ServiceProcess::resume(each.pid);
      EXPECT_TRUE(service.says("committed", each.key));
      const HttpAnswer answer = tell(other, payment_of(each.key));
      EXPECT_EQ(answer.status, 201) << answer.body;
      EXPECT_EQ(answer.value("Idempotent-Replayed"), "true");
      expect_paid_once(each.key);
      EXPECT_EQ(service.count("received", each.key), 1U);
    }
  }
}

TEST_P(TransactionalAt, TheGatewayIsKilledAndAnotherTakesOverWhileTheServiceIsPaused) {
  ServeProcess& other = node();
  for (int round = 0; round < rounds; ++round) {
    ServeProcess& killed = node();
    const std::list<Held> held = hold(killed);
    killed.kill_hard();
    for (const Held& each : held) {
      if (holds_the_row()) {  // nobody can take it over; nobody executes it on a guess
        EXPECT_TRUE(lease_is_over(each.key));
        EXPECT_TRUE(until(
            [&] { return problem_of(tell(other, payment_of(each.key))) == "store-unavailable"; }));
        ServiceProcess::resume(each.pid);
        EXPECT_TRUE(service.says("committed", each.key));
      }
      EXPECT_TRUE(retry_until_paid(other, each.key));
      expect_paid_once(each.key);
      ServiceProcess::resume(each.pid);
      EXPECT_TRUE(ended(each.key));
      const bool taken_over = !holds_the_row() && !has_committed();
      EXPECT_TRUE(!taken_over || service.says("PW001", each.key));
      EXPECT_EQ(service.count("received", each.key), taken_over ? 2U : 1U);
      expect_paid_once(each.key);
    }
  }
}

TEST_P(TransactionalAt, TheServiceIsPausedPastTheGatewaysPatience) {
  ServeProcess& gateway = node("upstream_timeout = \"1s\"");
  for (int round = 0; round < rounds; ++round) {
    const double contended = metric(gateway, "pawl_store_errors_total{kind=\"contended\"}");
    std::list<Held> held = hold(gateway);
    if (holds_the_row()) {  // the gateway wants to say that nothing happened, and has to wait
      EXPECT_TRUE(until([&] {
        return metric(gateway, "pawl_store_errors_total{kind=\"contended\"}") > contended;
      }));
      for (const Held& each : held) ServiceProcess::resume(each.pid);
    }
    for (Held& each : held) {
      const HttpAnswer answer = each.client.read_answer();
      note(each.key, answer);
      const bool committed = holds_the_row() || has_committed();
      EXPECT_EQ(answer.status, committed ? 201 : 504) << answer.body;
      ServiceProcess::resume(each.pid);
      if (!committed) {
        EXPECT_TRUE(service.says("PW001", each.key));
        EXPECT_EQ(rows(each.key), 0);
      }
      EXPECT_TRUE(retry_until_paid(gateway, each.key));
      expect_paid_once(each.key);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransactionalAt,
                         ::testing::Values("received", "inserted", "completed", "committed"),
                         [](const auto& at) { return std::string(at.param); });

// Each gateway takes over from the one before it, and dies in its turn.
TEST_F(Transactional, GatewaysTakeOverFromEachOther) {
  constexpr std::size_t hops = 4;
  for (int round = 0; round < 2; ++round) {
    const std::string key = new_key();
    std::vector<pid_t> stopped;
    for (std::size_t hop = 1; hop <= hops; ++hop) {
      ServeProcess& gateway = node();
      const Post stops = payment_of(key, {{"X-Stop-At", "inserted"}});
      std::thread client(
          [&] { EXPECT_TRUE(until([&] { return tell(gateway, stops).status == 0; })); });
      stopped.push_back(service.stopped_at("inserted", key, hop));
      EXPECT_NE(stopped.back(), 0);
      gateway.kill_hard();
      client.join();
    }
    ServeProcess& last = node();
    EXPECT_TRUE(retry_until_paid(last, key));
    for (const pid_t pid : stopped) ServiceProcess::resume(pid);
    EXPECT_TRUE(service.says("PW001", key, hops));
    EXPECT_EQ(service.count("committed", key), 1U);
    expect_paid_once(key);
  }
}

// A gateway that wakes up after another has finished the request: its own attempt could not
// commit, its client gets the other's answer, and nobody is alarmed.
TEST_F(Transactional, AGatewayThatSleptGivesItsClientTheOthersAnswer) {
  ServeProcess& one = node();
  ServeProcess& two = node();
  for (int round = 0; round < 2 * rounds; ++round) {
    ServeProcess& sleeper = round % 2 == 0 ? one : two;
    ServeProcess& other = round % 2 == 0 ? two : one;
    const std::string key = new_key();
    RawClient client(sleeper.port());
    client.send(to_bytes(payment_of(key, {{"X-Stop-At", "inserted"}})));
    const pid_t stopped = service.stopped_at("inserted", key);
    sleeper.stop();
    EXPECT_TRUE(retry_until_paid(other, key));
    ServiceProcess::resume(stopped);
    EXPECT_TRUE(service.says("PW001", key));
    sleeper.resume();
    const HttpAnswer answer = client.read_answer();
    note(key, answer);
    EXPECT_EQ(answer.status, 201) << answer.body;
    expect_paid_once(key);
  }
  for (const ServeProcess* const gateway : {&one, &two}) {
    EXPECT_EQ(metric(*gateway, "pawl_possible_double_executions_total{evidence=\"answered\"}"), 0);
  }
}

// Retrying clients, two for every key, on two gateways; gateways and service are killed at random,
// and attempts are stopped at random points to be resumed or killed later.
TEST_F(Transactional, NothingIsPaidTwiceOrForgottenWhateverIsKilledWhen) {
  constexpr int lanes = 3;
  constexpr int strikes = 30;
  constexpr std::array points{"received", "inserted", "completed", "committed"};
  constexpr std::chrono::seconds two_leases{2};
  const std::string impatient = "upstream_timeout = \"1s\"";
  std::array<std::atomic<const ServeProcess*>, 2> gateways{&node(impatient), &node(impatient)};
  std::atomic<bool> over = false;
  std::atomic<std::size_t> paid = 0;
  std::atomic<std::size_t> finished = 0;
  std::mutex mutex;
  std::set<std::string> keys;

  const auto pay = [&](int lane, unsigned seed) {
    std::minstd_rand chance(seed);
    for (int number = 0; !over; ++number) {
      const std::string key =
          "lane-" + std::to_string(lane) + "-payment-" + std::to_string(1000 + number);
      {
        const std::lock_guard lock(mutex);
        keys.insert(key);
      }
      EXPECT_TRUE(until([&] {
        WireHeaders more;
        if (!over && chance() % 4 == 0) more = {{"X-Stop-At", points.at(chance() % 4)}};
        return tell(*gateways.at(chance() % 2), payment_of(key, more)).status == 201;
      })) << key;
      ++paid;
    }
    ++finished;
  };
  std::vector<std::thread> clients;
  for (int lane = 0; lane < lanes; ++lane) {
    for (unsigned twin = 0; twin < 2; ++twin) {
      clients.emplace_back(pay, lane, 100U * twin + static_cast<unsigned>(lane) + 1);
    }
  }
  std::minstd_rand chance(4711);
  std::map<pid_t, int> slept;  // strikes that each stopped attempt has seen
  for (int strike = 0; strike < strikes; ++strike) {
    const std::size_t before = paid;
    auto lately = std::chrono::steady_clock::now();
    std::size_t seen = before;
    EXPECT_TRUE(until([&] {
      // An attempt that stopped in mid-transaction holds its key's row. When every lane waits for
      // such a one, the next strike would never come: they are woken, and the lanes go on.
      const auto now = std::chrono::steady_clock::now();
      if (seen != std::exchange(seen, paid)) lately = now;
      if (now - lately > two_leases) {
        for (const pid_t pid : service.stopped()) ServiceProcess::resume(pid);
      }
      return seen >= before + 4;
    })) << "nothing goes on";
    const std::size_t which = chance() % 8;  // often nothing: sleepers are to outlive their lease
    if (which < 2) {
      const ServeProcess* const fresh = &node(impatient);
      const ServeProcess* const old = gateways.at(which).exchange(fresh);
      ::kill(old->pid(), SIGKILL);
    } else if (which == 2) {
      service.kill_hard();
      service.start();
    }
    for (const pid_t pid : service.stopped()) {
      const std::size_t fate = chance() % 8;  // most sleep on, and wake up when others have paid
      const bool long_enough = ++slept[pid] > 8;  // a client waits for a row at most so long
      if (fate == 0 || long_enough) ServiceProcess::resume(pid);
      if (fate == 1) ServiceProcess::kill_one(pid);
    }
  }
  over = true;
  EXPECT_TRUE(until([&] {  // whoever is stopped may hold a row that a client waits for
    for (const pid_t pid : service.stopped()) ServiceProcess::resume(pid);
    return finished == clients.size();
  }));
  for (std::thread& client : clients) client.join();
  EXPECT_TRUE(until([&] {  // the last sleepers find that others have paid
    for (const pid_t pid : service.stopped()) ServiceProcess::resume(pid);
    return service.stopped().empty() && query(open_transactions) == "0";
  }));
  for (const std::string& key : keys) expect_paid_once(key);
  EXPECT_EQ(query("SELECT count(*) FROM payments"), std::to_string(keys.size()));
  EXPECT_EQ(query("SELECT count(*) FROM pawl.keys WHERE status <> 'completed'"), "0");
}

TEST_F(Transactional, WhatIsStoredIsTheAnswerWhateverTheServiceSays) {
  ServeProcess& gateway = node();
  for (const std::string then : {"", "reset", "200", "404", "429", "500", "503"}) {
    const std::string key = new_key();
    const HttpAnswer answer = tell(gateway, payment_of(key, {{"X-Then", then}}));
    EXPECT_EQ(answer.status, 201) << then << ": " << answer.body;
    EXPECT_EQ(answer.header("Idempotent-Replayed"), std::nullopt);
    const HttpAnswer again = tell(gateway, payment_of(key));
    EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
    EXPECT_EQ(again.value("Pawl-Request-Id"), answer.value("Pawl-Request-Id"));
    EXPECT_EQ(again.value("Idempotency-Expires"), answer.value("Idempotency-Expires"));
    EXPECT_EQ(again.value("Content-Type"), "application/json");
    EXPECT_EQ(service.count("received", key), 1U);
    expect_paid_once(key);
  }
  EXPECT_EQ(metric(gateway, "pawl_completed_without_commit_total"), 0);
}

TEST_F(Transactional, AnAnswerWithoutACompletionIsStoredCountedAndLogged) {
  ServeProcess& gateway = node();
  Post uncommitted = payment_of(new_key(), {{"X-Skip", "all"}});
  EXPECT_EQ(post(gateway.port(), uncommitted).body, "nothing was done");
  EXPECT_EQ(post(gateway.port(), uncommitted).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(metric(gateway, "pawl_completed_without_commit_total"), 1);
  EXPECT_TRUE(gateway.wait_for_text("a 2xx without pawl.complete"));
  // An error is an answer too, and no reason to complain.
  uncommitted = payment_of(new_key(), {{"X-Skip", "all"}, {"X-Then", "422"}});
  EXPECT_EQ(post(gateway.port(), uncommitted).status, 422);
  EXPECT_EQ(post(gateway.port(), uncommitted).value("Idempotent-Replayed"), "true");
  EXPECT_EQ(service.count("received", uncommitted.key), 1U);
  EXPECT_EQ(metric(gateway, "pawl_completed_without_commit_total"), 1);
}

TEST_F(Transactional, ScopeKeyAndFenceReachTheServiceAndNobodyElsesDo) {
  ServeProcess& gateway = start({.policy = "", .top = "", .rest = R"(
[[route]]
match = "POST /transactional"
transactional = true
[[route]]
match = "POST /derived"
transactional = true
forward_key = "derived"
)"});
  Post forged{.key = "\"quoted-key-0123456789\";a=1", .path = "/transactional"};
  forged.headers.insert(forged.headers.end(), {{"Pawl-Fence", "1"}, {"pawl-scope", "caller:me"}});
  EXPECT_EQ(post(gateway.port(), forged).status, 201);
  const ReceivedRequest seen = upstream.requests().back();
  EXPECT_EQ(seen.header("Idempotency-Key"), forged.key);
  EXPECT_EQ(seen.header("Pawl-Key"), "quoted-key-0123456789");
  EXPECT_EQ(seen.header("Pawl-Scope"), "caller:default");
  EXPECT_EQ(seen.header("Pawl-Fence"), query("SELECT fence FROM pawl.keys"));
  EXPECT_EQ(seen.head.find("caller:me"), std::string::npos);
  EXPECT_EQ(seen.head.find("Fence: 1\r\n"), std::string::npos);

  forged.key = "another-key-0123456789";
  forged.path = "/derived";
  EXPECT_EQ(post(gateway.port(), forged).status, 201);
  EXPECT_EQ(upstream.requests().back().header("Pawl-Key"), forged.key);
  EXPECT_NE(upstream.requests().back().header("Idempotency-Key"), forged.key);

  forged.key = "a-third-key-0123456789";
  forged.path = "/plain";
  EXPECT_EQ(post(gateway.port(), forged).status, 201);
  EXPECT_EQ(upstream.requests().back().header("Pawl-Fence"), std::nullopt);
  EXPECT_EQ(upstream.requests().back().header("Pawl-Scope"), std::nullopt);

  // A header loses the blanks at its ends, and the service would complete another key.
  forged.key = "\" a-padded-key-0123456789\"";
  EXPECT_EQ(post(gateway.port(), forged).status, 201);
  forged.path = "/transactional";
  EXPECT_EQ(problem_of(post(gateway.port(), forged)), "key-invalid");
}

TEST_F(Transactional, ACallerOfAnyNameAndAQuotedKeyCanBeCompleted) {
  const std::string secret = "a-caller's-secret";
  ServeProcess& gateway =
      start({.policy = "transactional = true\nkey_scope = \"caller+route\"",
             .top = "",
             .rest = "[caller]\nfrom = \"api-key\"\n[[caller.api_key]]\n"
                     "scope = \" Zo\u00eb | S\u00f8n 100% \"\nsha256 = \"" +
                     hex(sha256(secret)) +
                     "\"\n[[route]]\nname = \"a|route\"\nmatch = \"POST /payments\"\n",
             .upstream = service.url()});
  const Post paid = payment_of("\"a key, in \\\"quotes\\\"\"", {{"Authorization", secret}});
  const HttpAnswer answer = post(gateway.port(), paid);
  EXPECT_EQ(answer.status, 201) << answer.body;
  EXPECT_EQ(query("SELECT count(*) FROM payments WHERE key = 'a key, in \"quotes\"'"), "1");
  EXPECT_EQ(query("SELECT status FROM pawl.keys"), "completed");
  EXPECT_EQ(post(gateway.port(), paid).body, answer.body);
  EXPECT_EQ(metric(gateway, "pawl_completed_without_commit_total"), 0);
}

}  // namespace
}  // namespace pawl::e2e
