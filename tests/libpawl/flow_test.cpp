// Flows that meet trouble without dying: phases that throw, destinations that fail in every way.
#include "pawl/flow.hpp"

#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sqlite3.h>
#include <sys/socket.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <fstream>
#include <future>
#include <thread>

#include "pawl/async.hpp"
#include "src/core/derived_key.hpp"
#include "src/libpawl/node_core.hpp"
#include "tests/libpawl/flows_fixture.hpp"
#include "tests/support/process.hpp"
#include "tests/support/upstream_server.hpp"

namespace pawl::testing {
namespace {

using namespace std::chrono_literals;

TEST_P(FlowsTest, RunsItsPhasesAndReplaysItsAnswer) {
  Flow flow(node, {.name = "payments"});
  declare(flow, scripted({answer(201)}));
  const Response first = flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(header(first, "Location"), "/v1/payments/1");
  EXPECT_NE(header(first, "Idempotency-Expires"), "");
  const Response second = flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(header(second, "Location"), "/v1/payments/1");
  EXPECT_EQ(header(second, "Idempotent-Replayed"), "true");
  EXPECT_EQ(header(second, "Pawl-Request-Id"), header(first, "Pawl-Request-Id"));
  EXPECT_EQ(header(second, "Idempotency-Expires"), header(first, "Idempotency-Expires"));
  for (const char* fact : {"created", "charged", "finished"}) EXPECT_EQ(count(fact), "1");
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001", "{}")).status, 422);
  EXPECT_EQ(flow.handle("tenant-a", payment("")).status, 400);
}

TEST_P(FlowsTest, APhaseThatThrowsIsRolledBackAndTheRetryGoesOnThere) {
  Flow flow(node, {.name = "payments"});
  declare(flow, scripted({answer(201)}));
  create_fails = true;
  finish_fails = true;
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  EXPECT_EQ(count("created"), "0");
  EXPECT_EQ(status("flow-key-00000001"), "failed_retryable") << "nothing has happened";
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  EXPECT_EQ(count("finished"), "0");
  EXPECT_EQ(status("flow-key-00000001"), "in_progress") << "half done is not released";
  const std::string error = ask("SELECT last_error FROM " + keys_table());
  EXPECT_EQ(error, "stopped: finish: finish is broken");
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 201);
  for (const char* fact : {"created", "charged", "finished"}) EXPECT_EQ(count(fact), "1");
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(FlowsTest, TheCompleterGoesOnWhereAPhaseFailed) {
  Flow flow(node, {.name = "payments"});
  declare(flow, scripted({answer(201)}));
  finish_fails = true;
  flow.handle("tenant-a", payment("flow-key-00000001"));
  Flow other(node, {.name = "refunds"});
  declare(other, scripted({answer(201)}));
  EXPECT_EQ(other.complete_abandoned().seen, 0U) << "another flow's";
  CompletionReport report;
  while (report.completed == 0) report = flow.complete_abandoned();
  EXPECT_EQ(status("flow-key-00000001"), "completed");
  EXPECT_EQ(flow.complete_abandoned().seen, 0U);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 201);
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(FlowsTest, ACompleterFinishesWithoutAnybodyComingBack) {
  Flow flow(node, {.name = "payments"});
  declare(flow, scripted({answer(201)}));
  finish_fails = true;
  flow.handle("tenant-a", payment("flow-key-00000001"));
  const Completer completer(flow, 10ms);
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (status("flow-key-00000001") != "completed") {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(count("finished"), "1");
}

// A key that is used again after its retention is a new request: its rows must not collide.
TEST_P(FlowsTest, IdsAreOfOneLifeOfTheKey) {
  FlowOptions options{.name = "payments"};
  options.policy.retention = 1ms;
  Flow flow(node, options);
  std::vector<std::string> ids;
  flow.local("only", [&](Transaction&, const pawl::Run& run) {
    ids.push_back(run.id("payment"));
    EXPECT_EQ(run.id("payment"), run.id("payment"));
    EXPECT_NE(run.id("payment"), run.id("refund"));
    return respond({200, {}, ""});
  });
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (ids.size() < 2 && std::chrono::steady_clock::now() < deadline) {
    flow.handle("tenant-a", payment("flow-key-00000001"));
  }
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_NE(ids[0], ids[1]);
}

struct Failure {
  const char* what;
  Outcome outcome;
  bool dedupes;
  int told;
  const char* status;
  std::size_t sent_after_retry;
};

TEST_P(FlowsTest, AFailedCallIsSentAgainOnlyWhereThatIsSafe) {
  const Headers retry_after{{"Retry-After", "1"}};
  const std::vector<Failure> failures{
      {"not sent", NotSent{"refused"}, true, 503, "in_progress", 2},
      {"not sent, no deduping", NotSent{"refused"}, false, 503, "in_progress", 2},
      {"refused for now", answer(429), false, 503, "in_progress", 2},
      {"busy", answer(503, retry_after), false, 503, "in_progress", 2},
      {"lost", Lost{Lost::How::timeout, "timeout"}, true, 504, "in_progress", 2},
      {"lost, no deduping", Lost{Lost::How::timeout, "timeout"}, false, 504, "unknown", 1},
      {"reset", Lost{Lost::How::reset, "reset"}, true, 503, "in_progress", 2},
      {"500", answer(500), true, 503, "in_progress", 2},
      {"500, no deduping", answer(500), false, 504, "unknown", 1},
      {"502, no deduping", answer(502), false, 504, "unknown", 1},
      {"declined", answer(402), false, 402, "completed", 1},
  };
  int number = 0;
  for (const Failure& failure : failures) {
    const std::string key = "flow-failure-" + std::to_string(1000 + ++number);
    sent.clear();
    Destination provider = scripted({failure.outcome, answer(201)});
    provider.dedupes = failure.dedupes;
    Flow flow(node, {.name = "payments"});
    declare(flow, provider);
    EXPECT_EQ(flow.handle("tenant-a", payment(key)).status, failure.told) << failure.what;
    EXPECT_EQ(status(key), failure.status) << failure.what;
    flow.handle("tenant-a", payment(key));
    ASSERT_EQ(sent.size(), failure.sent_after_retry) << failure.what;
    EXPECT_EQ(sent.front(), sent.back()) << failure.what << ": another key";
    const bool done = failure.sent_after_retry == 2 || failure.told == 402;
    EXPECT_EQ(status(key), done ? "completed" : "unknown") << failure.what;
  }
}

// What the second sending of a call hears, the first one having been lost.
struct SecondWord {
  int status;
  const char* record;  // after the second try
  int told_at_last;    // after a third one, which the provider answers with 201
};

TEST_P(FlowsTest, WhatASecondSendingHearsIsNotTakenForTheOutcomeOfTheFirst) {
  const std::vector<SecondWord> words{
      {409, "in_progress", 201}, {408, "in_progress", 201}, {425, "in_progress", 201},
      {401, "in_progress", 201}, {502, "in_progress", 201}, {504, "in_progress", 201},
      {410, "unknown", 409},     {422, "unknown", 409},     {402, "completed", 402},
  };
  FlowOptions options{.name = "payments"};
  options.policy = default_policy(Profile::stripe);  // stores server errors: the route's own
  for (const SecondWord& word : words) {
    const std::string key = "flow-second-word-" + std::to_string(word.status);
    sent.clear();
    Flow flow(node, options);
    const Outcome lost = Lost{Lost::How::reset, "reset"};
    declare(flow, scripted({lost, answer(word.status), answer(201)}));
    EXPECT_EQ(flow.handle("tenant-a", payment(key)).status, 503) << word.status;
    flow.handle("tenant-a", payment(key));
    EXPECT_EQ(status(key), word.record) << word.status;
    const Response last = flow.handle("tenant-a", payment(key));
    EXPECT_EQ(last.status, word.told_at_last) << word.status << last.body;
    for (const std::string& used : sent) EXPECT_EQ(used, sent.front()) << word.status;
  }
}

TEST_P(FlowsTest, AWordThatDecidesNothingIsLookedUpWhereItMayNotBeSentAgain) {
  Destination provider = scripted({Lost{Lost::How::reset, "reset"}, answer(422)});
  provider.look_up = [](const Call&) { return Response{201, {}, "ch_1"}; };
  Flow flow(node, {.name = "payments"});
  declare(flow, provider);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 201);
  EXPECT_EQ(sent.size(), 2U);
}

TEST_P(FlowsTest, ADestinationSaysWhichStatusesAreFinal) {
  Destination provider = scripted({answer(409)});
  provider.final_statuses = {409};
  Flow flow(node, {.name = "payments"});
  declare(flow, provider);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 201) << "recorded";
  EXPECT_EQ(count("charged"), "1");
}

// A crash while `unknown` is still being written must not leave a record that says "never sent".
TEST_P(FlowsTest, TheMarkStaysUntilUnknownIsDurable) {
  const std::string table = keys_table();
  refuse_unknown();
  FlowOptions options{.name = "payments"};
  options.policy.lease = 300ms;
  Destination provider = scripted({Lost{Lost::How::reset, "reset"}});
  provider.dedupes = false;
  Flow flow(node, options);
  declare(flow, provider);
  std::future<Response> told = std::async(
      std::launch::async, [&] { return flow.handle("tenant-a", payment("flow-key-00000001")); });
  const auto is_over = [&] { return told.wait_for(0s) == std::future_status::ready; };
  while (log().find(" is unknown: ") == std::string::npos) {
    ASSERT_FALSE(is_over()) << told.get().body;
  }
  const std::string lease = "SELECT locked_until FROM " + table;
  std::string before = ask(lease);
  for (int renewals = 0; renewals < 3;) {  // a renewal writes all that the lease's record says
    ASSERT_FALSE(is_over()) << "unknown was written, or given up";
    const std::string now = ask(lease);
    if (now != before) ++renewals;
    before = now;
    EXPECT_EQ(ask("SELECT count(*) FROM " + table + " WHERE recovery_point LIKE '%sending%'"), "1");
  }
  std::string drop = "DROP TRIGGER not_now";
  if (on_postgres()) drop.append(" ON ").append(table);
  node.transact([&](Database& database) { database.execute(drop); });
  EXPECT_EQ(told.get().status, 504);
  EXPECT_EQ(status("flow-key-00000001"), "unknown");
}

TEST_P(FlowsTest, WhatIsFoundNotExecutedIsSentByTheCompleterAndNothingBeforeItAgain) {
  FlowOptions options{.name = "payments"};
  options.policy.lease = 150ms;
  options.policy.upstream_timeout = 100ms;
  Destination provider = scripted({Lost{Lost::How::reset, "reset"}, answer(201)});
  provider.dedupes = false;
  Flow flow(node, options);
  declare(flow, provider);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 504);
  ASSERT_EQ(status("flow-key-00000001"), "unknown");
  detail::NodeCore& core = *node.core();
  const auto resolve = [&](Finding finding) {
    return core.run(core.engine().resolve(Scope{"lib:tenant-a"}, Key{"flow-key-00000001"},
                                          std::move(finding), "ops", "asked the provider"));
  };
  while (!resolve(FoundNotExecuted{})) std::this_thread::yield();  // too early, at first
  EXPECT_EQ(status("flow-key-00000001"), "in_progress");
  while (flow.complete_abandoned().completed == 0) std::this_thread::yield();
  EXPECT_EQ(sent.size(), 2U);
  for (const char* fact : {"created", "charged", "finished"}) EXPECT_EQ(count(fact), "1") << fact;
}

// What was found is the charge's answer: the payment is not finished by it.
TEST_P(FlowsTest, WhatIsFoundExecutedIsRecordedByItsPhaseAndThePhasesAfterItAreRun) {
  Destination provider = scripted({Lost{Lost::How::reset, "reset"}});
  provider.dedupes = false;
  Flow flow(node, {.name = "payments"});
  declare(flow, provider);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 504);
  detail::NodeCore& core = *node.core();
  const auto resolve = [&](StoredResponse found) {
    return core.run(core.engine().resolve(Scope{"lib:tenant-a"}, Key{"flow-key-00000001"},
                                          FoundCompleted{std::move(found)}, "ops", "asked"));
  };
  EXPECT_FALSE(resolve({201, {{"Idempotency-Key", "of-another-call"}}, "ch_8", 1}));
  EXPECT_EQ(status("flow-key-00000001"), "unknown");
  ASSERT_TRUE(resolve({201, {{"X", "\xff"}}, "ch_9", 1}));
  EXPECT_EQ(status("flow-key-00000001"), "in_progress");
  EXPECT_EQ(flow.complete_abandoned().completed, 1U);
  const Response told = flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(told.status, 201) << "the flow's own answer: " << told.body;
  EXPECT_EQ(header(told, "Location"), "/v1/payments/1");
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_EQ(ask("SELECT value FROM facts WHERE name = 'finished'"), "ch_9");
  for (const char* fact : {"created", "charged", "finished"}) EXPECT_EQ(count(fact), "1") << fact;
}

TEST_P(FlowsTest, WhatAnOperatorFoundIsRecordedByItsPhase) {
  Destination provider = scripted({Lost{Lost::How::reset, "reset"}});
  provider.dedupes = false;
  Flow flow(node, {.name = "payments"});
  declare(flow, provider);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 504);
  const TemporaryFolder folder;
  const std::string body = folder.path() / "charge";
  std::ofstream(body) << "ch_7";
  const Finished resolved = run_program(
      {PAWL_BINARY, "keys", "resolve", "flow-key-00000001", "--scope", "lib:tenant-a",
       "--completed", "--status", "201", "--body", body, "--reason", "seen", "--store", url()});
  EXPECT_EQ(resolved.exit_code, 0) << resolved.err;
  EXPECT_NE(resolved.out.find("its flow goes on"), std::string::npos) << resolved.out;
  EXPECT_EQ(flow.complete_abandoned().completed, 1U);
  EXPECT_EQ(ask("SELECT value FROM facts WHERE name = 'finished'"), "ch_7");
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(FlowsTest, ASenderThatThrowsMayHaveSent) {
  Destination provider;
  int calls = 0;
  provider.dedupes = false;
  provider.send = [&](const Call&) -> Outcome {
    ++calls;
    throw std::runtime_error("socket trouble");
  };
  Flow flow(node, {.name = "payments"});
  declare(flow, provider);
  flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(status("flow-key-00000001"), "unknown");
  flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(calls, 1);
}

TEST_P(FlowsTest, HttpDestinationsCarryTheDerivedKeyAndTellHowFarItGot) {
  UpstreamServer server;
  server.behave(Behaviour::answer(201, "ch_7"));
  Destination provider = http_destination(node, server.url());
  provider.dedupes = false;
  Flow flow(node, {.name = "payments"});
  declare(flow, provider);
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-http-0000001")).status, 201);
  const std::vector<ReceivedRequest> seen = server.requests();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_NE(seen[0].header("Idempotency-Key").value_or("").size(), 0U);
  EXPECT_NE(seen[0].header("Idempotency-Key"), "flow-http-0000001");
  EXPECT_EQ(count("finished"), "1");
  server.behave(Behaviour::reset());
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-http-0000002")).status, 504);
  EXPECT_EQ(status("flow-http-0000002"), "unknown");
  server.stop();
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-http-0000003")).status, 503);
  EXPECT_EQ(status("flow-http-0000003"), "in_progress") << "not one byte was sent";
  EXPECT_EQ(ask("SELECT count(*) FROM " + keys_table() +
                " WHERE status = 'in_progress' AND recovery_point LIKE '%sending%'"),
            "0");
  for (const char* bad : {"", "ftp://x", "http://", "http://h:0", "http://h:x", "http://u@h"}) {
    EXPECT_THROW(http_destination(node, bad), std::invalid_argument) << bad;
  }
}

TEST_P(FlowsTest, EnqueuedCallsAreThereIfAndOnlyIfThePhaseCommitted) {
  bool fails = true;
  Flow flow(node, {.name = "payments"});
  flow.local("only", [&](Transaction& tx, const pawl::Run&) {
    const std::string first = tx.enqueue({.destination = "mail", .body = "one"});
    const std::string second =
        tx.enqueue({.destination = "mail", .path = "/x", .headers = {{"A", "b"}}, .body = "two"});
    EXPECT_NE(first, second);
    EXPECT_EQ(tx.enqueue({.destination = "mail", .step = "s"}),
              tx.enqueue({.destination = "mail", .step = "s"}));
    if (std::exchange(fails, false)) throw std::runtime_error("not yet");
    return respond({200, {}, "ok"});
  });
  const std::string outbox = on_postgres() ? "pawl.outbox" : "outbox";
  flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(ask("SELECT count(*) FROM " + outbox), "0");
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 200);
  EXPECT_EQ(ask("SELECT count(*) FROM " + outbox), "3");
  EXPECT_EQ(ask("SELECT count(DISTINCT derived_key) FROM " + outbox), "3");
  EXPECT_EQ(ask("SELECT CAST(headers AS TEXT) FROM " + outbox + " WHERE path = '/x'"),
            on_postgres() ? R"([["A", "b"]])" : R"([["A","b"]])");
  EXPECT_EQ(ask("SELECT status FROM " + outbox + " WHERE path = '/x'"), "pending");
  const std::string life =
      ask(on_postgres() ? "SELECT (extract(epoch FROM created_at) * 1000000)::bigint FROM pawl.keys"
                        : "SELECT created_at FROM keys");
  EXPECT_EQ(ask("SELECT derived_key FROM " + outbox + " WHERE path = '/x'"),
            outbox_key(Scope{"lib:tenant-a"}, Key{"flow-key-00000001"}, "mail", "only#2",
                       Instant(Duration(std::stoll(life)))))
      << "the same on both stores";
}

// After its retention a key is new, and what it promises is new as well.
TEST_P(FlowsTest, ASecondLifeOfAKeyPromisesAnew) {
  FlowOptions options{.name = "payments"};
  options.policy.retention = 1ms;
  Flow flow(node, options);
  std::vector<std::string> rows;
  flow.local("only", [&](Transaction& tx, const pawl::Run&) {
    rows.push_back(tx.enqueue({.destination = "mail", .body = "paid"}));
    return respond({200, {}, ""});
  });
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (rows.size() < 2 && std::chrono::steady_clock::now() < deadline) {
    flow.handle("tenant-a", payment("flow-key-00000001"));
  }
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_NE(rows[0], rows[1]);
  EXPECT_EQ(ask(std::string("SELECT count(*) FROM ") + (on_postgres() ? "pawl.outbox" : "outbox")),
            "2");
}

TEST_P(FlowsTest, AnotherMessageInThePlaceOfAPromiseIsAnErrorAndNotSwallowed) {
  int refused = 0;
  Flow flow(node, {.name = "payments"});
  flow.local("only", [&](Transaction& tx, const pawl::Run&) {
    const OutboxItem item{.destination = "mail", .path = "/x", .body = "one", .step = "s"};
    const std::string row = tx.enqueue(item);
    EXPECT_EQ(tx.enqueue(item), row);
    OutboxItem again = item;
    again.headers = {{"traceparent", "another"}};
    EXPECT_EQ(tx.enqueue(again), row) << "a header is not the message";
    again.body = "two";
    try {
      tx.enqueue(again);
    } catch (const PromiseTaken& taken) {
      ++refused;
      EXPECT_EQ(taken.code(), "PW002");
      EXPECT_NE(std::string(taken.what()).find("step of its own"), std::string::npos);
      throw;
    }
    return respond({200, {}, "ok"});
  });
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(ask(std::string("SELECT count(*) FROM ") + (on_postgres() ? "pawl.outbox" : "outbox")),
            "0");
}

// What was promised before derived keys had a life in them is not promised a second time.
TEST_P(FlowsTest, ARowFromBeforeTheUpgradeIsTheSamePromise) {
  const Scope scope{"lib:tenant-a"};
  const Key key{"flow-key-00000001"};
  const std::string former = former_outbox_key(scope, key, "mail", "only#1");
  const std::string table = on_postgres() ? "pawl.outbox" : "outbox";
  std::vector<std::string> rows;
  Flow flow(node, {.name = "payments"});
  flow.local("only", [&](Transaction& tx, const pawl::Run&) {
    rows.push_back(tx.enqueue({.destination = "mail", .body = "paid"}));
    tx.execute("UPDATE " + table + " SET derived_key = $1 WHERE derived_key <> $1", {former});
    rows.push_back(tx.enqueue({.destination = "mail", .body = "paid", .step = "only#1"}));
    return respond({200, {}, "ok"});
  });
  EXPECT_EQ(flow.handle("tenant-a", payment(key.text)).status, 200);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_EQ(ask("SELECT count(*) FROM " + table), "1");
}

// Leases are renewed all the while: no renewal may put an earlier recovery point back.
TEST_P(FlowsTest, RenewalsNeverTakeAPhaseBack) {
  constexpr int phases = 40;
  FlowOptions options{.name = "payments"};
  options.policy.lease = 150ms;  // looked at every 25 ms, renewed from 50 ms on
  Flow flow(node, options);
  for (int i = 0; i < phases; ++i) {
    flow.local("phase-" + std::to_string(i), [i](Transaction& tx, const pawl::Run&) {
      note(tx, "phase", std::to_string(i));
      std::this_thread::sleep_for(std::chrono::milliseconds(i % 9));
      if (i + 1 == phases) return respond({201, {}, "done"});
      return advance("phase-" + std::to_string(i + 1));
    });
  }
  Response told = flow.handle("tenant-a", payment("flow-key-00000001"));
  while (told.status != 201) told = flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(count("phase"), std::to_string(phases));
  EXPECT_EQ(ask("SELECT count(DISTINCT value) FROM facts"), std::to_string(phases));
}

// What a phase sees must not depend on whether it is the first try.
TEST_P(FlowsTest, OnlyListedHeadersAreKeptAndSeen) {
  std::vector<HttpRequest> seen;
  bool fails = true;
  Flow flow(node, {.name = "payments"});
  flow.local("first", [&](Transaction&, const pawl::Run& run) {
    seen.push_back(run.request);
    return advance("second");
  });
  flow.local("second", [&](Transaction&, const pawl::Run& run) {
    seen.push_back(run.request);
    if (std::exchange(fails, false)) throw std::runtime_error("once");
    return respond({200, {}, "ok"});
  });
  flow.handle("tenant-a", payment("flow-key-00000001"));
  flow.handle("tenant-a", payment("flow-key-00000001"));
  ASSERT_EQ(seen.size(), 3U);
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[0].method, "POST");
  EXPECT_EQ(seen[0].target, "/v1/payments?x=1");
  EXPECT_EQ(seen[0].headers, (Headers{{"Content-Type", "application/json"}}));
}

// The provider compares what it gets under one key: a retry's own bytes would be another request.
TEST_P(FlowsTest, ACallIsMadeAgainOfTheBytesItWasFirstMadeOf) {
  FlowOptions options{.name = "payments"};
  options.request_headers = {"Content-Type", "X-Trace"};
  options.policy.fingerprint.exclude = {{{"sent_at"}}};
  std::vector<std::string> bodies;
  Destination provider;
  provider.send = [&](const Call& call) -> Outcome {
    bodies.push_back(call.request.body);
    if (bodies.size() == 1) return Lost{Lost::How::reset, "reset"};
    return answer(201);
  };
  Flow flow(node, options);
  flow.local("create", [](Transaction&, const pawl::Run&) { return advance("charge"); });
  flow.foreign(
      "charge", provider,
      [](const pawl::Run& run) {
        const auto trace = find_header(run.request.headers, "X-Trace").value_or("");
        return Outbound{.path = "/charges", .body = run.request.body + std::string(trace)};
      },
      [](Transaction&, const pawl::Run&, const Response& told) { return respond(told); });
  HttpRequest first = payment("flow-key-00000001", R"({"amount":1,"sent_at":1})");
  first.headers.push_back({"X-Trace", "one"});
  HttpRequest retry = payment("flow-key-00000001", R"({ "sent_at": 2, "amount": 1 })");
  retry.headers.push_back({"X-Trace", "two"});
  EXPECT_EQ(flow.handle("tenant-a", first).status, 503);
  EXPECT_EQ(flow.handle("tenant-a", retry).status, 201);
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(bodies[0], bodies[1]);
}

TEST_P(FlowsTest, APhaseThatGoesNowhereOrBackIsAnErrorThatNamesTheOthers) {
  Flow flow(node, {.name = "payments"});
  std::string next = "second";
  flow.local("first", [](Transaction&, const pawl::Run&) { return advance("second"); });
  flow.local("second", [&](Transaction&, const pawl::Run&) { return advance(next); });
  flow.local("third", [](Transaction&, const pawl::Run&) { return respond({99, {}, ""}); });
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  EXPECT_NE(log().find("advance(\"second\"): the phases after this one are third"),
            std::string::npos)
      << log();
  next = "nowhere";
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  next = "third";
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  EXPECT_NE(log().find("99 is no final HTTP status"), std::string::npos) << log();
}

// As in a deployment that puts a flow in a handler's place, with the old version still running.
TEST_P(FlowsTest, AMiddlewareLeavesAHalfDoneFlowAlone) {
  Flow flow(node, {.name = "payments"});
  declare(flow, scripted({answer(201)}));
  finish_fails = true;
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  int handled = 0;
  const auto handler = [&](const HttpRequest&) {
    ++handled;
    return Response{201, {}, "again"};
  };
  for (const char* name : {"payments", "old-payments"}) {
    Middleware old(node, {.name = name}, handler);
    const Response told = old.handle("tenant-a", payment("flow-key-00000001"));
    EXPECT_EQ(told.status, 503) << told.body;
    EXPECT_EQ(header(told, "Retry-After"), "30");
  }
  EXPECT_EQ(handled, 0);
  EXPECT_NE(log().find("was begun by the flow \"payments\""), std::string::npos) << log();
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 201);
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(FlowsTest, AFlowLeavesAHalfDoneFlowOfAnotherNameAlone) {
  Flow flow(node, {.name = "payments"});
  declare(flow, scripted({answer(201)}));
  finish_fails = true;
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  Flow other(node, {.name = "payouts"});
  declare(other, scripted({answer(201)}));  // its phases have the same names
  EXPECT_EQ(other.handle("tenant-a", payment("flow-key-00000001")).status, 503);
  EXPECT_EQ(count("finished"), "0");
  EXPECT_NE(log().find("was begun by the flow \"payments\""), std::string::npos) << log();
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 201);
  EXPECT_EQ(sent.size(), 1U);
}

TEST_P(FlowsTest, DeclarationsAreChecked) {
  Flow flow(node, {.name = "payments"});
  const auto done = [](Transaction&, const pawl::Run&) { return respond({200, {}, ""}); };
  flow.local("a", done);
  EXPECT_THROW(flow.local("a", done), std::invalid_argument);
  EXPECT_THROW(flow.local("no spaces", done), std::invalid_argument);
  EXPECT_THROW(flow.local("b", {}), std::invalid_argument);
  EXPECT_THROW(flow.foreign("b", {}, {}, {}), std::invalid_argument);
  EXPECT_THROW(Flow(node, {.name = ""}), std::invalid_argument);
}

TEST_P(FlowsTest, NativeHandlesAreTheTransactionsOwnAndCommitIsNotTheirs) {
  Flow flow(node, {.name = "payments"});
  flow.local("only", [&](Transaction& tx, const pawl::Run& run) {
    EXPECT_EQ(tx.native<sqlite3*>() != nullptr, !on_postgres());
    EXPECT_EQ(tx.native<pg_conn*>() != nullptr, on_postgres());
    const bool commits = run.request.body == "[]";
    const char* sql = commits ? "COMMIT" : "INSERT INTO facts (name) VALUES ('native')";
    if (on_postgres()) {
      PQclear(PQexec(tx.native<pg_conn*>(), sql));
    } else {
      EXPECT_EQ(sqlite3_exec(tx.native<sqlite3*>(), sql, nullptr, nullptr, nullptr), SQLITE_OK);
    }
    return respond({200, {}, ""});
  });
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 200);
  EXPECT_EQ(count("native"), "1");
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000002", "[]")).status, 503);
  EXPECT_NE(log().find("leave COMMIT and ROLLBACK to pawl"), std::string::npos) << log();
}

// Each statement after that would commit by itself, whatever becomes of the phase.
TEST_P(FlowsTest, NothingIsWrittenAfterTheTransactionIsGone) {
  if (!on_postgres()) {
    node.transact([](Database& database) {
      database.execute(
          "CREATE TRIGGER all_back BEFORE INSERT ON facts WHEN NEW.name = 'all back' "
          "BEGIN SELECT RAISE(ROLLBACK, 'all back'); END");
    });
  }
  Flow flow(node, {.name = "payments"});
  flow.local("only", [&](Transaction& tx, const pawl::Run& run) {
    note(tx, "before", "");
    const bool by_hand = on_postgres() || run.request.body == "[]";
    try {
      by_hand ? tx.execute("ROLLBACK") : note(tx, "all back", "");
    } catch (const DatabaseError&) {
      EXPECT_FALSE(by_hand);
    }
    try {
      note(tx, "after", "1");
    } catch (const DatabaseError&) {
    }
    note(tx, "after", "2");
    return respond({200, {}, ""});
  });
  for (const char* body : {"{}", "[]"}) {
    const std::string key =
        std::string("flow-key-of-").append(body == std::string("[]") ? "list" : "object");
    EXPECT_EQ(flow.handle("tenant-a", payment(key, body)).status, 503);
    EXPECT_EQ(count("before"), "0");
    EXPECT_EQ(count("after"), "0");
  }
  EXPECT_NE(log().find("leave COMMIT and ROLLBACK to pawl"), std::string::npos) << log();
}

TEST_P(FlowsTest, ValuesOfEveryKindGoInAndOut) {
  node.transact([](Database& database) {
    database.execute("CREATE TABLE kinds (n BIGINT, t TEXT, m TEXT)");
    database.execute("INSERT INTO kinds (t, n, m) VALUES ($2, $1, $3)",
                     {std::int64_t{-7}, std::string("a'b\xc3\xa4"), nullptr});
    const Rows rows = database.query("SELECT n, t, m FROM kinds WHERE n = $1", {std::int64_t{-7}});
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0], (Row{"-7", "a'b\xc3\xa4", std::nullopt}));
  });
  const auto wrong = [](Database& database) { database.query("SELECT nothing FROM nowhere"); };
  EXPECT_THROW(node.transact(wrong), DatabaseError);
}

TEST_P(FlowsTest, FieldsOfAnyBytesAreKeptAndReplayed) {
  const Headers odd{{"X-Latin", "caf\xe9"}, {"X-Escaped", "\\x41"}, {"X-Utf8", "caf\xc3\xa9"}};
  Flow flow(node, {.name = "payments"});
  flow.local("only", [&](Transaction& tx, const pawl::Run&) {
    EXPECT_THROW(tx.enqueue({.destination = "mail", .headers = odd}), std::invalid_argument);
    return respond({200, odd, "ok"});
  });
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 200);
  const Response replayed = flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(header(replayed, "Idempotent-Replayed"), "true") << replayed.body;
  for (const Header& one : odd) EXPECT_EQ(header(replayed, one.name), one.value);
}

TEST_P(FlowsTest, AnAnswerTooLargeToKeepIsGivenOnceAndItsReplaySaysSo) {
  FlowOptions options{.name = "payments"};
  options.policy.response_bytes_max = 10;
  Flow flow(node, options);
  flow.local("only", [](Transaction&, const pawl::Run&) {
    return respond({200, {}, "longer than ten bytes"});
  });
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).body, "longer than ten bytes");
  const Response replay = flow.handle("tenant-a", payment("flow-key-00000001"));
  EXPECT_EQ(replay.status, 200);
  EXPECT_NE(replay.body.find("body-withheld"), std::string::npos);
}

TEST_P(FlowsTest, AThreadThatWouldWaitForItselfIsToldSo) {
  Flow flow(node, {.name = "payments"});
  std::string inside;
  flow.local("only", [&](Transaction&, const pawl::Run&) {
    try {
      ask("SELECT 1");
    } catch (const std::logic_error& refusal) {
      inside = refusal.what();
    }
    return respond({200, {}, "ok"});
  });
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 200);
  EXPECT_NE(inside.find("open in this thread already"), std::string::npos) << inside;
  EXPECT_EQ(ask("SELECT 1"), "1") << "and afterwards all is well";

  Middleware middleware(node, {.name = "wrapped"}, [](const HttpRequest&) { return Response{}; });
  std::promise<std::string> told;
  middleware.begin("tenant-a", payment("flow-key-00000002"), [&](Middleware::Begun) {
    try {
      flow.handle("tenant-a", payment("flow-key-00000003"));
      told.set_value("");
    } catch (const std::logic_error& refusal) {
      told.set_value(refusal.what());
    }
  });
  const std::string text = told.get_future().get();
  EXPECT_NE(text.find("the node's own thread"), std::string::npos) << text;
}

TEST_P(FlowsTest, CanBeAwaited) {
  namespace net = boost::asio;
  Flow flow(node, {.name = "payments"});
  declare(flow, scripted({answer(201)}));
  net::io_context loop;
  std::future<Response> told = net::co_spawn(
      loop, pawl::handle(flow, "tenant-a", payment("flow-key-00000001")), net::use_future);
  loop.run();
  EXPECT_EQ(told.get().status, 201);
}

TEST_P(FlowsTest, ManyThreadsAndFewKeysIsOneEffectEach) {
  std::atomic<int> charges = 0;
  Destination provider;
  provider.send = [&](const Call&) -> Outcome {
    ++charges;
    return answer(201);
  };
  FlowOptions options{.name = "payments"};
  options.policy.in_flight = WhenInFlight::wait;
  Flow flow(node, options);
  declare(flow, provider);
  std::vector<std::future<Response>> all;
  for (int i = 0; i < 24; ++i) {
    all.push_back(std::async(std::launch::async, [&, i] {
      return flow.handle("tenant-a", payment("flow-key-of-many-" + std::to_string(i % 8)));
    }));
  }
  for (auto& one : all) EXPECT_EQ(one.get().status, 201);
  EXPECT_EQ(charges, 8);
  EXPECT_EQ(count("finished"), "8");
}

// Only PostgreSQL has a session that outlives its transaction.
class SessionTest : public FlowsTest {};

TEST_P(SessionTest, WhatAPhaseSetInItsSessionIsGoneInTheNext) {
  Flow flow(node, {.name = "payments"});
  flow.local("only", [&](Transaction& tx, const pawl::Run&) {
    tx.execute("SET application_name = 'leaked'");
    tx.execute("SET lock_timeout = '7s'");
    tx.execute("SELECT pg_advisory_lock(42)");
    tx.execute("CREATE TEMP TABLE mine (x int)");
    tx.execute("CREATE ROLE nobody");
    return respond({200, {}, "ok"});
  });
  EXPECT_EQ(flow.handle("tenant-a", payment("flow-key-00000001")).status, 200);
  EXPECT_EQ(ask("SELECT current_setting('application_name')"), "pawl");
  EXPECT_EQ(ask("SELECT current_setting('lock_timeout')"), "0");
  EXPECT_EQ(ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"), "0");
  EXPECT_EQ(ask("SELECT to_regclass('pg_temp.mine')"), "NULL");
  node.transact([](Database& database) { database.execute("SET ROLE nobody"); });
  EXPECT_EQ(ask("SELECT current_user"), "postgres");
}

TEST_P(SessionTest, AServerThatIsGoneWithoutAWordIsNoticed) {
  const Node over_tcp = pawl::open(shared_server().tcp_url("postgres"), {.migrate = true});
  over_tcp.transact([](Database& database) {
    const int socket = PQsocket(database.native<pg_conn*>());
    const auto option = [&](int level, int name) {
      int value = 0;
      socklen_t size = sizeof value;
      EXPECT_EQ(::getsockopt(socket, level, name, &value, &size), 0);
      return value;
    };
    EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 10);
    EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 20'000);
  });
}

INSTANTIATE_TEST_SUITE_P(Stores, SessionTest, ::testing::Values(StoreKind::postgres), store_name);

// The connection dies at the worst moment: nobody can say at once whether the phase committed.
class DoubtTest : public FlowsTest {
 protected:
  // This thread has a transaction open.
  std::string ask_elsewhere(const std::string& sql) {
    return std::async(std::launch::async, [&] { return ask(sql); }).get();
  }

  void pay_through_doubt(const std::string& key, bool commits) {
    PGconn* connection = nullptr;
    bool broken = false;
    Flow flow(node, {.name = "payments"});
    flow.local("pay", [&](Transaction& tx, const pawl::Run& run) {
      connection = tx.native<pg_conn*>();
      note(tx, "paid", run.key.text);
      return advance("finish");
    });
    flow.local("finish", [](Transaction&, const pawl::Run&) { return respond({201, {}, "paid"}); });
    const std::string paid = "SELECT count(*) FROM facts WHERE value = '" + key + "'";
    at_point = [&](std::string_view point) {
      if (point != "pay:before-commit" || std::exchange(broken, true)) return;
      if (commits) {
        ASSERT_EQ(PQsendQuery(connection, "COMMIT"), 1);
        while (ask_elsewhere(paid) != "1") std::this_thread::yield();
      }
      ::shutdown(PQsocket(connection), SHUT_RDWR);
    };
    EXPECT_EQ(flow.handle("tenant-a", payment(key)).status, 503);
    EXPECT_EQ(ask(paid), commits ? "1" : "0");
    Response retried = flow.handle("tenant-a", payment(key));
    EXPECT_EQ(retried.status, 201) << retried.body;
    EXPECT_EQ(ask(paid), "1");
  }
};

TEST_P(DoubtTest, ACommitThatHappenedAfterAllIsNotRepeated) {
  pay_through_doubt("flow-doubt-committed", true);
}

TEST_P(DoubtTest, ACommitThatDidNotHappenIsMadeGood) {
  pay_through_doubt("flow-doubt-rolled-back", false);
}

// A connection that can break is PostgreSQL's.
INSTANTIATE_TEST_SUITE_P(Stores, DoubtTest, ::testing::Values(StoreKind::postgres), store_name);

INSTANTIATE_TEST_SUITE_P(Stores, FlowsTest,
                         ::testing::Values(StoreKind::sqlite, StoreKind::postgres), store_name);

}  // namespace
}  // namespace pawl::testing
