// The key API on the real binary: every decision, every write, and who may ask.
#include "tests/e2e/key_api_fixture.hpp"

#include <ctime>
#include <set>
#include <thread>

#include "pawl/types/json.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string paid = R"(,"response":{"status":201,"body_json":{"id":"pay_1"}})";

std::time_t seconds_of(const std::string& timestamp) {
  std::tm parts{};
  EXPECT_NE(::strptime(timestamp.c_str(), "%Y-%m-%dT%H:%M:%S", &parts), nullptr) << timestamp;
  return ::timegm(&parts);
}

class KeyApi : public OnEveryStore {
 protected:
  ServeProcess& node(const std::string& lines = "", const std::string& top = "") {
    return start({.policy = "", .top = top, .rest = key_api(lines)});
  }
};

TEST_P(KeyApi, IsOffUntilCallersAreListed) {
  ServeProcess& gateway = start();
  for (const char* verb : {"reserve", "advance", "complete", "release", "renew"}) {
    const HttpAnswer off = call(gateway, verb, "{}");
    EXPECT_EQ(off.status, 404);
    EXPECT_THAT(off.body, HasSubstr("The key API is off"));
  }
  EXPECT_EQ(look(gateway).status, 404);
  EXPECT_EQ(upstream.count(), 0U) << "what is below /_pawl/ is never forwarded";
}

TEST_P(KeyApi, ReserveExecuteCompleteReplay) {
  ServeProcess& gateway = node();
  const HttpAnswer granted = reserve(gateway);
  ASSERT_EQ(granted.status, 201) << granted.body;
  EXPECT_EQ(decision_of(granted), "execute");
  EXPECT_EQ(member_of(granted.body, "key"), job);
  EXPECT_EQ(member_of(granted.body, "attempt"), "1");
  EXPECT_EQ(member_of(granted.body, "recovery_point"), "");
  EXPECT_THAT(member_of(granted.body, "lease_expires_at"), HasSubstr("T"));
  const double left = std::stod(member_of(granted.body, "lease_seconds"));
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 30);
  EXPECT_NE(granted.value("Pawl-Request-Id"), "");
  EXPECT_EQ(granted.value("Content-Type"), "application/json");

  const HttpAnswer running = reserve(gateway, theirs);
  EXPECT_EQ(running.status, 409);
  EXPECT_EQ(problem_of(running), "in-flight");
  EXPECT_EQ(decision_of(running), "in_flight");
  EXPECT_NE(running.value("Retry-After"), "");

  const HttpAnswer completed = write(gateway, "complete", fence_of(granted), paid);
  ASSERT_EQ(completed.status, 200) << completed.body;
  EXPECT_EQ(member_of(completed.body, "status"), "completed");
  EXPECT_EQ(member_of(completed.body, "lease_expires_at"), "null");
  EXPECT_EQ(member_of(completed.body, "lease_seconds"), "null");

  for (const std::string& owner : {ours, theirs}) {
    const HttpAnswer replay = reserve(gateway, owner);
    ASSERT_EQ(replay.status, 200);
    EXPECT_EQ(decision_of(replay), "replay");
    const json::Value document = json::read(replay.body).value();
    EXPECT_EQ(document.find("response")->find("status")->text, "201");
    EXPECT_EQ(document.find("response")->find("body")->text, R"({"id":"pay_1"})");
  }
  EXPECT_EQ(job_status(gateway), "completed");
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(metric(gateway, "pawl_reserve_total{decision=\"created\"}"), 1);
  EXPECT_EQ(metric(gateway, "pawl_reserve_total{decision=\"replay\"}"), 2);
  EXPECT_EQ(metric(gateway, "pawl_requests_total{route=\"key-api\",status=\"2xx\"}"), 4);
}

TEST_P(KeyApi, ItsRulesArePublished) {
  ServeProcess& gateway = node("lease = \"7s\"\n");
  EXPECT_THAT(get(gateway.port(), "/_pawl/v1/policy").body,
              HasSubstr("\"key_api\":{\"min_key_length\":16,\"refuses_pii\":true,"
                        "\"lease_seconds\":7,\"on_lease_expiry\":\"unknown\""));
}

TEST_P(KeyApi, AnOwnerThatRepeatsReserveIsGrantedTheSame) {
  ServeProcess& gateway = node();
  ServeProcess& other = node();
  const HttpAnswer first = reserve(gateway);
  const HttpAnswer again = reserve(other);
  EXPECT_EQ(again.status, 201);
  for (const char* member : {"fence", "attempt", "recovery_point", "lease_expires_at"}) {
    EXPECT_EQ(member_of(again.body, member), member_of(first.body, member)) << member;
  }
  EXPECT_EQ(again.value("Pawl-Request-Id"), first.value("Pawl-Request-Id")) << "one execution";
}

TEST_P(KeyApi, ManyRepeatsAtOnceAreOneGrant) {
  ServeProcess& gateway = node("", "threads = 2\n");
  constexpr int repeats = 16;
  std::vector<std::string> fences(repeats);
  std::vector<std::thread> clients;
  for (int i = 0; i < repeats; ++i) {
    clients.emplace_back(
        [&, i] { fences[static_cast<std::size_t>(i)] = fence_of(reserve(gateway)); });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(std::set<std::string>(fences.begin(), fences.end()).size(), 1U);
  EXPECT_EQ(write(gateway, "renew", fences.front()).status, 200);
}

TEST_P(KeyApi, OfManyConsumersOneIsGranted) {
  ServeProcess& one = node("", "threads = 2\n");
  ServeProcess& other = node();
  constexpr int consumers = 16;
  std::vector<int> statuses(consumers);
  std::vector<std::thread> clients;
  for (int i = 0; i < consumers; ++i) {
    clients.emplace_back([&, i] {
      const std::string owner = "racing-consumer-" + std::to_string(i);
      statuses[static_cast<std::size_t>(i)] = reserve(i % 2 == 0 ? one : other, owner).status;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(std::ranges::count(statuses, 201), 1);
  EXPECT_EQ(std::ranges::count(statuses, 409), consumers - 1);
}

TEST_P(KeyApi, ARestartChangesNothingForAnOwner) {
  ServeProcess& first = node();
  const std::string fence = fence_of(reserve(first));
  first.kill_hard();
  ServeProcess& second = node();
  EXPECT_EQ(fence_of(reserve(second)), fence);
  EXPECT_EQ(write(second, "advance", fence, R"(,"after":"","recovery_point":"charged")").status,
            200);
  EXPECT_EQ(write(second, "complete", fence, paid).status, 200);
}

TEST_P(KeyApi, AnotherOperationUnderTheSameKeyIsMisuse) {
  ServeProcess& gateway = node();
  const HttpAnswer first = reserve(gateway, ours, R"({"amount":100,"to":"a"})");
  EXPECT_EQ(fence_of(reserve(gateway, ours, R"({"to":"a","amount":1e2})")), fence_of(first))
      << "spelling does not matter";
  const HttpAnswer misused = reserve(gateway, ours, R"({"amount":101,"to":"a"})");
  EXPECT_EQ(misused.status, 422);
  EXPECT_EQ(problem_of(misused), "key-reused");
  EXPECT_EQ(decision_of(misused), "misuse");
  const HttpAnswer hashed =
      call(gateway, "reserve", R"({"owner":")" + ours + R"(","fingerprint":"sha256:00"})");
  EXPECT_EQ(hashed.status, 422) << "a hash of one's own is another operation too";
}

TEST_P(KeyApi, AnswersAreKeptByteForByte) {
  ServeProcess& gateway = node();
  const std::string fence = fence_of(reserve(gateway));
  const std::string bytes =
      R"(,"response":{"status":503,"headers":[["Retry-After","1"],["X-Two","a"],["X-Two","b"]],)"
      R"("body_base64":"AAH+/w=="})";
  EXPECT_EQ(write(gateway, "complete", fence, bytes).status, 200);
  const HttpAnswer replay = reserve(gateway, theirs);
  EXPECT_EQ(replay.status, 200) << "503 is an answer like any other";
  EXPECT_THAT(replay.body,
              HasSubstr(R"("response":{"status":503,"headers":[["Retry-After","1"],["X-Two","a"],)"
                        R"(["X-Two","b"]],"body_base64":"AAH+/w=="})"));
  EXPECT_EQ(write(gateway, "complete", fence, bytes).status, 200) << "and may be repeated";
}

TEST_P(KeyApi, EveryWriteMayBeRepeatedAndCompletedIsForGood) {
  ServeProcess& gateway = node();
  const std::string fence = fence_of(reserve(gateway));
  for (int i = 0; i < 2; ++i) {
    const HttpAnswer advanced =
        write(gateway, "advance", fence, R"(,"after":"","recovery_point":"charged")");
    EXPECT_EQ(advanced.status, 200);
    EXPECT_EQ(member_of(advanced.body, "recovery_point"), "charged");
    EXPECT_EQ(write(gateway, "renew", fence).status, 200);
  }
  const HttpAnswer first = write(gateway, "complete", fence, paid);
  EXPECT_EQ(write(gateway, "complete", fence, paid).body, first.body);
  for (const auto& [verb, more] : std::vector<std::pair<std::string, std::string>>{
           {"complete", R"(,"response":{"status":402})"},
           {"release", ""},
           {"renew", ""},
           {"advance", R"(,"after":"charged","recovery_point":"other")"}}) {
    const HttpAnswer refused = write(gateway, verb, fence, more);
    EXPECT_EQ(refused.status, 409) << verb;
    EXPECT_EQ(problem_of(refused), "stale-fence");
    EXPECT_EQ(refused.value("Pawl-Should-Retry"), "false");
    EXPECT_EQ(member_of(refused.body, "key_status"), "completed");
  }
  EXPECT_THAT(reserve(gateway, theirs).body, HasSubstr(R"({\"id\":\"pay_1\"})"));
}

TEST_P(KeyApi, AnAdvanceThatComesLateNeverPutsItsPointBack) {
  ServeProcess& gateway = node();
  ServeProcess& other = node();
  const std::string fence = fence_of(reserve(gateway));
  const auto step = [&](ServeProcess& at, const std::string& after, const std::string& to) {
    return write(at, "advance", fence,
                 R"(,"after":")" + after + R"(","recovery_point":")" + to + "\"");
  };
  EXPECT_EQ(step(gateway, "", "reserved").status, 200);
  EXPECT_EQ(step(other, "", "reserved").status, 200) << "a repeat";
  EXPECT_EQ(step(other, "reserved", "charged").status, 200);
  const HttpAnswer late = step(gateway, "", "reserved");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(problem_of(late), "stale-fence");
  EXPECT_THAT(late.body, HasSubstr("The recovery point is \\\"charged\\\""));
  EXPECT_EQ(member_of(reserve(gateway).body, "recovery_point"), "charged");
}

TEST_P(KeyApi, AnAnswerWithMoreHeaderFieldsThanTheWireCarriesIsRefused) {
  ServeProcess& gateway = node();
  const std::string fence = fence_of(reserve(gateway));
  std::string pairs = R"(["Connection","a"])";
  for (int i = 0; i < 90'000; ++i) pairs += R"(,["Connection","a"])";
  const HttpAnswer refused =
      write(gateway, "complete", fence, R"(,"response":{"headers":[)" + pairs + "]}");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("/response/headers must have 200 fields at most"));
  EXPECT_EQ(job_status(gateway), "in_progress");
}

TEST_P(KeyApi, ReleasedItMayRunAgainUnderAHigherFence) {
  ServeProcess& gateway = node();
  const std::string first = fence_of(reserve(gateway));
  const HttpAnswer released = write(gateway, "release", first, R"(,"reason":"bank is closed")");
  EXPECT_EQ(released.status, 200);
  EXPECT_EQ(member_of(released.body, "status"), "failed_retryable");
  EXPECT_EQ(write(gateway, "release", first).body, released.body);
  const HttpAnswer late = reserve(gateway);
  EXPECT_EQ(late.status, 409) << "this token has had its attempt";
  EXPECT_EQ(problem_of(late), "stale-fence");
  EXPECT_EQ(decision_of(late), "spent");
  EXPECT_EQ(job_status(gateway), "failed_retryable");
  const HttpAnswer next = reserve(gateway, theirs);
  ASSERT_EQ(next.status, 201);
  EXPECT_EQ(member_of(next.body, "attempt"), "2");
  EXPECT_GT(std::stoll(fence_of(next)), std::stoll(first));
}

TEST_P(KeyApi, AnOldFenceOrAnotherOwnerChangesNothing) {
  ServeProcess& gateway = node();
  const std::string old = fence_of(reserve(gateway));
  write(gateway, "release", old);
  const std::string fence = fence_of(reserve(gateway, theirs));
  const std::string before = look(gateway).body;
  for (const auto& [verb, more] : std::vector<std::pair<std::string, std::string>>{
           {"complete", paid},
           {"release", ""},
           {"renew", ""},
           {"advance", R"(,"after":"","recovery_point":"x")"}}) {
    for (const HttpAnswer& refused :
         {write(gateway, verb, old, more, ours), write(gateway, verb, fence, more, ours),
          write(gateway, verb, old, more, theirs),
          write(gateway, verb, "9007199254740991", more, theirs)}) {
      EXPECT_EQ(refused.status, 409) << verb;
      EXPECT_EQ(problem_of(refused), "stale-fence");
      EXPECT_THAT(refused.body, HasSubstr("Nothing was changed."));
    }
  }
  EXPECT_EQ(look(gateway).body, before);
  EXPECT_EQ(fence_of(reserve(gateway, theirs)), fence);
  EXPECT_GT(metric(gateway, "pawl_possible_double_executions_total{evidence=\"answered\"}"), 0)
      << "an answer under an old fence is kept as evidence";
  EXPECT_EQ(write(gateway, "complete", fence, paid, theirs).status, 200);
}

TEST_P(KeyApi, ALapsedLeaseIsUnknownAndALateAnswerStillCounts) {
  ServeProcess& gateway = node("lease = \"1s\"\n", "sweep_interval = \"50ms\"\n");
  const std::string fence = fence_of(reserve(gateway));
  ASSERT_TRUE(until([&] { return job_status(gateway) == "unknown"; }));
  for (const std::string& owner : {ours, theirs}) {
    const HttpAnswer doubtful = reserve(gateway, owner);
    EXPECT_EQ(doubtful.status, 409);
    EXPECT_EQ(problem_of(doubtful), "outcome-unknown");
    EXPECT_EQ(decision_of(doubtful), "undetermined");
    EXPECT_EQ(doubtful.value("Retry-After"), "") << "nobody is asked: waiting does not help";
    EXPECT_EQ(doubtful.value("Pawl-Should-Retry"), "false");
  }
  EXPECT_EQ(problem_of(write(gateway, "renew", fence)), "stale-fence");
  EXPECT_EQ(write(gateway, "complete", fence, paid).status, 200);
  EXPECT_EQ(decision_of(reserve(gateway, theirs)), "replay");
}

TEST_P(KeyApi, RenewingKeepsALeaseAlive) {
  ServeProcess& gateway = node("lease = \"3s\"\n", "sweep_interval = \"50ms\"\n");
  const HttpAnswer granted = reserve(gateway);
  const std::time_t first_end = seconds_of(member_of(granted.body, "lease_expires_at"));
  // A lease that ends so much later was begun when the first one was over.
  ASSERT_TRUE(until([&] {
    const HttpAnswer renewed = write(gateway, "renew", fence_of(granted));
    EXPECT_EQ(renewed.status, 200) << renewed.body;
    return renewed.status != 200 ||
           seconds_of(member_of(renewed.body, "lease_expires_at")) > first_end + 4;
  }));
  EXPECT_EQ(job_status(gateway), "in_progress");
}

TEST_P(KeyApi, WhereItMayBeResumedTheNextOwnerIsToldHowFarItCame) {
  for (const std::string policy : {"resume", "retry"}) {
    ServeProcess& gateway = node("lease = \"3s\"\non_lease_expiry = \"" + policy + "\"\n",
                                 "sweep_interval = \"50ms\"\n");
    const std::string key = "long-running-" + policy;
    const HttpAnswer granted = reserve(gateway, ours, "1", key);
    const std::string held = R"({"owner":")" + ours + R"(","fence":)" + fence_of(granted);
    EXPECT_EQ(
        call(gateway, "advance", held + R"(,"after":"","recovery_point":"charged"})", key).status,
        200);
    HttpAnswer taken;
    ASSERT_TRUE(until([&] {
      taken = reserve(gateway, theirs, "1", key);
      return taken.status == 201;
    }));
    EXPECT_EQ(member_of(taken.body, "recovery_point"), "charged");
    EXPECT_EQ(member_of(taken.body, "attempt"), "2");
    EXPECT_EQ(problem_of(call(gateway, "complete", held + "}", key)), "stale-fence");
  }
}

TEST_P(KeyApi, PastRetentionWithTombstonesTheKeyIsGone) {
  ServeProcess& gateway = node("retention = \"1s\"\nexpired = \"tombstone\"\n");
  write(gateway, "complete", fence_of(reserve(gateway)), paid);
  HttpAnswer gone;
  ASSERT_TRUE(until([&] {
    gone = reserve(gateway, theirs);
    return gone.status == 410;
  }));
  EXPECT_EQ(problem_of(gone), "key-expired");
  EXPECT_EQ(decision_of(gone), "gone");
}

TEST_P(KeyApi, TooManyNewKeysAreRefusedAndReplaysAreNot) {
  ServeProcess& gateway = node("new_keys_per_second = 0.001\n");
  const std::string fence = fence_of(reserve(gateway));
  const HttpAnswer limited = reserve(gateway, ours, "1", "another-key-of-mine");
  EXPECT_EQ(limited.status, 429);
  EXPECT_EQ(problem_of(limited), "rate-limited");
  EXPECT_EQ(look(gateway, "another-key-of-mine").status, 404) << "nothing was written";
  EXPECT_EQ(fence_of(reserve(gateway)), fence) << "what is held is no new work";
  EXPECT_EQ(write(gateway, "complete", fence, paid).status, 200);
  EXPECT_EQ(decision_of(reserve(gateway, theirs)), "replay");
}

TEST_P(KeyApi, ABadCallIsToldWhatWouldBeRightAndChangesNothing) {
  ServeProcess& gateway = node("body_limit = 1000\n");
  const auto detail = [&](const std::string& verb, const std::string& body) {
    const HttpAnswer refused = call(gateway, verb, body);
    EXPECT_EQ(refused.status, 400) << body;
    EXPECT_EQ(problem_of(refused), "body-invalid");
    return member_of(refused.body, "detail");
  };
  EXPECT_THAT(detail("reserve", "{"), HasSubstr("not valid JSON"));
  EXPECT_THAT(detail("reserve", R"({"owner":"short","request":1})"), HasSubstr("/owner must be"));
  EXPECT_THAT(detail("renew", R"({"owner":"consumer-token-0001"})"), HasSubstr("/fence must be"));
  EXPECT_THAT(detail("reserve", R"({"owner":"consumer-token-0001","requests":1})"),
              HasSubstr("did you mean /request?"));
  const HttpAnswer short_key = reserve(gateway, ours, "1", "short");
  EXPECT_EQ(short_key.status, 400);
  EXPECT_EQ(problem_of(short_key), "key-invalid");
  EXPECT_EQ(problem_of(reserve(gateway, ours, "1", "someone%40example.com-0001")), "key-invalid");
  const HttpAnswer large = reserve(gateway, ours, "\"" + std::string(2000, 'x') + "\"");
  EXPECT_EQ(large.status, 413);
  Post form{.key = "", .body = "owner=x", .path = "/_pawl/v1/keys/" + job + "/reserve"};
  form.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  EXPECT_EQ(post(gateway.port(), form).status, 415);
  form.headers = {};
  EXPECT_EQ(post(gateway.port(), form).status, 415);
  EXPECT_EQ(call(gateway, "reserved", "{}").status, 404);
  EXPECT_EQ(call(gateway, "", "{}").status, 404);
  EXPECT_EQ(write(gateway, "complete", "1").status, 404) << "no such key";
  EXPECT_EQ(look(gateway).status, 404);
  EXPECT_EQ(get(gateway.port(), "/_pawl/v1/keys/" + job + "?api=yes").status, 400);
}

TEST_P(KeyApi, EveryAnswerHasAnIdAndEveryRefusalSaysWhetherToRetry) {
  ServeProcess& gateway = node();
  const HttpAnswer wrong_method = post(gateway.port(), {.key = "", .path = "/_pawl/v1/policy"});
  for (const HttpAnswer& refused : {call(gateway, "renewal", "{}"), look(gateway), wrong_method,
                                    write(gateway, "renew", "1"), call(gateway, "renew", "{}")}) {
    EXPECT_GE(refused.status, 400);
    EXPECT_EQ(refused.value("Pawl-Should-Retry"), "false") << refused.status;
    EXPECT_THAT(refused.value("Link"), HasSubstr("/_pawl/v1/policy")) << refused.status;
    EXPECT_THAT(refused.value("Pawl-Request-Id"), HasSubstr("req_")) << refused.status;
  }
}

TEST_P(KeyApi, AnswersUnderMadeUpFencesAreKeptWithinLimitsAndRaiseNoAlarm) {
  ServeProcess& gateway = node("", "threads = 1\n");
  const std::string fence = fence_of(reserve(gateway));
  std::set<int> told;
  for (int made_up = 1; made_up < 200; ++made_up) {
    const HttpAnswer refused = write(gateway, "complete", std::to_string(made_up), paid);
    told.insert(refused.status);
    if (refused.status != 429) continue;
    EXPECT_EQ(problem_of(refused), "rate-limited");
    EXPECT_EQ(write(gateway, "complete", fence, paid).status, 200) << "who holds it is not limited";
    break;
  }
  EXPECT_EQ(told, (std::set<int>{409, 429}));
  EXPECT_EQ(metric(gateway, "pawl_possible_double_executions_total{evidence=\"answered\"}"), 0);
}

TEST_P(KeyApi, AKeyMayHaveAnyPrintableCharacter) {
  ServeProcess& gateway = node();
  const std::string escaped = "%22queue%22%2Fpayouts%5C7%3F%20%25%7E-01";
  const HttpAnswer granted = reserve(gateway, ours, "1", escaped);
  ASSERT_EQ(granted.status, 201) << granted.body;
  EXPECT_EQ(member_of(granted.body, "key"), R"("queue"/payouts\7? %~-01)");
  EXPECT_EQ(look(gateway, escaped).status, 200);
  EXPECT_EQ(reserve(gateway, ours, "1", "queue/payouts/0000001").status, 201);
  EXPECT_EQ(reserve(gateway, ours, "1", "not-ascii-%C3%A4-0001").status, 400);
}

TEST_P(KeyApi, TheLogNamesNoKeyAndNoToken) {
  ServeProcess& gateway = node("", "log = \"json\"\n");
  write(gateway, "complete", fence_of(reserve(gateway)), paid);
  // Mistakes, and a request that went in a circle: the key is in their paths all the same.
  EXPECT_EQ(post(gateway.port(), {.key = "", .path = "/_pawl/v1/keys/" + job}).status, 405);
  EXPECT_EQ(post(gateway.port(), {.key = "", .path = "/_pawl/v1/key/" + job + "/renew"}).status,
            405);
  EXPECT_EQ(call(gateway, "renewal", "{}").status, 404);
  EXPECT_EQ(get(gateway.port(), "/_pawl/v2/keys/" + job).status, 404);
  for (const std::string method : {"PUT", "DELETE", "OPTIONS", "PATCH"}) {
    for (const std::string verb : {"", "/complete"}) {
      RawClient client(gateway.port());
      client.send(method + " /_pawl/v1/keys/" + job + verb +
                  " HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
      EXPECT_EQ(client.read_answer().status, 405) << method << verb;
    }
  }
  get(gateway.port(), "/x");
  RawClient looping(gateway.port());
  looping.send("POST /_pawl/v1/keys/" + job + "/reserve HTTP/1.1\r\nHost: a\r\nVia: " +
               upstream.requests().at(0).header("Via").value_or("") +
               "\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(looping.read_answer().status, 508);
  gateway.terminate();
  const std::string log = gateway.out() + gateway.err();
  EXPECT_THAT(log, HasSubstr("\"route\":\"key-api\""));
  EXPECT_THAT(log, HasSubstr("\"path\":\"/_pawl/v1/keys/*/reserve\""));
  EXPECT_THAT(log, HasSubstr("\"decision\":\"created\""));
  EXPECT_THAT(log, Not(HasSubstr(job)));
  EXPECT_THAT(log, Not(HasSubstr(ours)));
}

// Nothing but the key API makes keys here, and they must not become new either.
TEST_P(KeyApi, AConfigurationThatMakesItsKeysNewIsRefused) {
  const Settings off{.policy = "key = \"off\"", .top = "", .rest = key_api()};
  start(off).kill_hard();
  Settings other = off;
  other.rest = api_keys({{"tenant-a", "secret-of-a"}}) + key_api("", "\"tenant-a\"");
  try {
    start(other);
    ADD_FAILURE() << "it has started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("from was single and is now api-key"));
  }
}

PAWL_ON_EVERY_STORE(KeyApi);

class KeyApiCallers : public OnEveryStore {
 protected:
  ServeProcess& node() {
    return start({.policy = "",
                  .top = "",
                  .rest = api_keys({{"tenant-a", "secret-of-a"},
                                    {"tenant-b", "secret-of-b"},
                                    {"tenant-c", "secret-of-c"},
                                    {"api:tenant-a", "secret-of-d"},
                                    {"tenant-a|route:x", "secret-of-e"}}) +
                          key_api("", R"("tenant-a", "tenant-b", "api:tenant-a", )"
                                      R"("tenant-a|route:x")")});
  }
};

TEST_P(KeyApiCallers, NobodyUsesOrSeesAnothersKeys) {
  ServeProcess& gateway = node();
  const std::string fence = fence_of(reserve(gateway, ours, "1", job, "secret-of-a"));
  for (const char* other : {"secret-of-b", "secret-of-d", "secret-of-e"}) {
    EXPECT_EQ(look(gateway, job, other).status, 404);
    for (const char* verb : {"complete", "release", "renew"}) {
      EXPECT_EQ(write(gateway, verb, fence, "", ours, other).status, 404)
          << "the right token and fence, and the wrong caller";
    }
    EXPECT_EQ(reserve(gateway, theirs, "2", job, other).status, 201) << "a key of its own";
  }
  EXPECT_EQ(fence_of(reserve(gateway, ours, "1", job, "secret-of-a")), fence);
  EXPECT_EQ(write(gateway, "complete", fence, paid, ours, "secret-of-a").status, 200);
}

TEST_P(KeyApiCallers, ACallerThatIsNotListedIsForbiddenAndAStrangerUnauthenticated) {
  ServeProcess& gateway = node();
  const HttpAnswer unlisted = reserve(gateway, ours, "1", job, "secret-of-c");
  EXPECT_EQ(unlisted.status, 403);
  EXPECT_THAT(unlisted.body, HasSubstr("not listed for the key API"));
  EXPECT_EQ(look(gateway, job, "secret-of-c").status, 403);
  for (const char* stranger : {"", "secret-of-x"}) {
    const HttpAnswer refused = reserve(gateway, ours, "1", job, stranger);
    EXPECT_EQ(refused.status, 401);
    EXPECT_EQ(problem_of(refused), "unauthenticated");
  }
}

// The caller's own proxied request has the same key; neither record knows of the other.
TEST_P(KeyApiCallers, NoCallTouchesTheRecordOfAProxiedRequest) {
  ServeProcess& gateway = node();
  Post proxied{.key = job};
  proxied.headers.push_back({"Authorization", "secret-of-a"});
  auto gate = std::make_shared<Gate>();
  upstream.behave(Behaviour::answer(201, "charged").after(gate));
  RawClient client(gateway.port());
  client.send(to_bytes(proxied));
  upstream.wait_for(1);
  for (const char* caller : {"secret-of-a", "secret-of-d", "secret-of-e"}) {
    for (const std::string& key : {job, "caller:tenant-a%7C" + job, "caller%3Atenant-a%2F" + job}) {
      const HttpAnswer granted = reserve(gateway, ours, "1", key, caller);
      EXPECT_EQ(granted.status, 201) << "a key of the key API, new to it";
      const std::string body = R"({"owner":")" + ours + R"(","fence":)" + fence_of(granted) +
                               R"(,"response":{"body":"forged"}})";
      EXPECT_EQ(call(gateway, "complete", body, key, caller).status, 200);
    }
  }
  const WireHeaders as_a{{"Authorization", "secret-of-a"}};
  EXPECT_EQ(status_of(gateway, job, as_a), "in_progress") << "the proxied one still runs";
  gate->release();
  EXPECT_EQ(client.read_answer().body, "charged");
  const HttpAnswer replay = post(gateway.port(), proxied);
  EXPECT_EQ(replay.body, "charged");
  EXPECT_EQ(replay.value("Idempotent-Replayed"), "true");
  EXPECT_THAT(look(gateway, job, "secret-of-a").body, HasSubstr("forged"));
  EXPECT_EQ(upstream.count(), 1U);
}

TEST_P(KeyApiCallers, WhatIsCompletedHereIsNoAnswerToAProxiedRequest) {
  ServeProcess& gateway = node();
  const std::string fence =
      fence_of(reserve(gateway, ours, R"({"amount":100})", job, "secret-of-a"));
  write(gateway, "complete", fence, R"(,"response":{"body":"forged"})", ours, "secret-of-a");
  Post proxied{.key = job};
  proxied.headers.push_back({"Authorization", "secret-of-a"});
  const HttpAnswer answer = post(gateway.port(), proxied);
  EXPECT_EQ(answer.status, 201);
  EXPECT_THAT(answer.body, Not(HasSubstr("forged")));
  EXPECT_EQ(upstream.effects(job), 1U);
}

PAWL_ON_EVERY_STORE(KeyApiCallers);

}  // namespace
}  // namespace pawl::e2e
