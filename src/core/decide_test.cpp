// Design section 3, the whole product: every state, meaning, lease, age and policy, with a trusted
// and an untrusted clock. The expectation is the table of the design, row by row.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>

#include "src/core/decision.hpp"
#include "testing/builders.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::a_request;
using testing::a_stored_response;
using testing::some_time;

enum class Meaning { same, other, same_under_old_rules };
// Whose request it is, where no caller was chosen: the record's client, or another one, which comes
// before or after a phase of the record's client was committed.
enum class Whose { owners, others, others_after_a_phase };
enum class End { ahead, now, behind };  // of a lease, or of the retention

struct Case {
  Status status;
  Meaning meaning;
  End lease;
  OnLeaseExpiry on_lease_expiry;
  End retention;
  WhenExpired expired_then;
  WhenExpired expired_today;
  bool own;
  Mode mode_then;
  Mode mode_today;
  bool clock_trusted;
  bool outside;  // the owner's token is a client's
  Whose whose;
};

constexpr std::size_t case_count = std::size_t{6} * 3 * 3 * 3 * 3 * 2 * 2 * 2 * 2 * 3 * 2 * 2 * 3;

Case nth_case(std::size_t n) {
  const auto pick = [&n](std::size_t size) {
    const std::size_t digit = n % size;
    n /= size;
    return digit;
  };
  return Case{.status = static_cast<Status>(pick(6)),
              .meaning = static_cast<Meaning>(pick(3)),
              .lease = static_cast<End>(pick(3)),
              .on_lease_expiry = static_cast<OnLeaseExpiry>(pick(3)),
              .retention = static_cast<End>(pick(3)),
              .expired_then = static_cast<WhenExpired>(pick(2)),
              .expired_today = static_cast<WhenExpired>(pick(2)),
              .own = pick(2) == 1,
              .mode_then = static_cast<Mode>(pick(2)),
              .mode_today = static_cast<Mode>(pick(3)),
              .clock_trusted = pick(2) == 1,
              .outside = pick(2) == 1,
              .whose = static_cast<Whose>(pick(3))};
}

// What the rows of the table say.
enum class Does {
  gone,
  new_life,
  unproven,
  misuse,
  replay,
  own_claim,
  wait,
  doubt,
  spent,
  take_over,
  undetermined
};

struct Row {
  const char* record;
  bool (*fits)(const Case&);
  Does does;
};

bool finished(const Case& c) {
  return c.status == Status::completed || c.status == Status::failed_retryable;
}
// By a clock that cannot be trusted nothing expires and no lease ends.
bool past_retention(const Case& c) { return c.clock_trusted && c.retention != End::ahead; }
// Accepted with 202 and out of attempts: it waits for somebody, however long.
bool dead_letter(const Case& c) {
  return c.status == Status::failed_retryable && c.mode_then == Mode::async;
}
bool lease_over(const Case& c) { return c.clock_trusted && c.lease != End::ahead; }
bool running(const Case& c) { return c.status == Status::in_progress; }
bool strange(const Case& c) { return c.whose != Whose::owners; }
// Nothing was executed for whoever had the key, and nothing is owed: anybody may have it.
bool free(const Case& c) {
  return c.status == Status::failed_retryable && !dead_letter(c) && c.whose == Whose::others;
}
bool asked_again(const Case& c) { return c.own && c.outside; }
bool tombstones(const Case& c) {
  return c.expired_then == WhenExpired::tombstone || c.expired_today == WhenExpired::tombstone;
}
bool lapsed(const Case& c, OnLeaseExpiry rule) {
  return running(c) && lease_over(c) && c.on_lease_expiry == rule;
}

constexpr std::array table{
    Row{"expired", [](const Case& c) { return c.status == Status::expired; }, Does::gone},
    Row{"finished past retention, tombstones kept",
        [](const Case& c) {
          return finished(c) && !dead_letter(c) && past_retention(c) && tombstones(c);
        },
        Does::gone},
    Row{"finished past retention",
        [](const Case& c) { return finished(c) && !dead_letter(c) && past_retention(c); },
        Does::new_life},
    Row{"any but a free one, other credentials",
        [](const Case& c) { return strange(c) && !free(c); }, Does::unproven},
    Row{"free, other credentials and another fingerprint",
        [](const Case& c) { return strange(c) && c.meaning == Meaning::other && !asked_again(c); },
        Does::new_life},
    Row{"any, other fingerprint", [](const Case& c) { return c.meaning == Meaning::other; },
        Does::misuse},
    Row{"completed", [](const Case& c) { return c.status == Status::completed; }, Does::replay},
    Row{"in_progress, our own claim read back",
        [](const Case& c) { return running(c) && c.own && !c.outside; }, Does::own_claim},
    Row{"in_progress, the grant of a client that asks again",
        [](const Case& c) { return running(c) && c.own && !lease_over(c); }, Does::own_claim},
    Row{"in_progress, lease alive", [](const Case& c) { return running(c) && !lease_over(c); },
        Does::wait},
    Row{"in_progress, lease over, unknown",
        [](const Case& c) { return lapsed(c, OnLeaseExpiry::unknown); }, Does::doubt},
    Row{"in_progress, lease over, or failed_retryable, of a client that asks again",
        [](const Case& c) {
          return asked_again(c) && (running(c) || c.status == Status::failed_retryable);
        },
        Does::spent},
    Row{"in_progress, lease over, retry",
        [](const Case& c) { return lapsed(c, OnLeaseExpiry::retry); }, Does::take_over},
    Row{"in_progress, lease over, resume",
        [](const Case& c) { return lapsed(c, OnLeaseExpiry::resume); }, Does::take_over},
    Row{"failed_retryable", [](const Case& c) { return c.status == Status::failed_retryable; },
        Does::take_over},
    Row{"unknown", [](const Case& c) { return c.status == Status::unknown; }, Does::undetermined},
    Row{"pending", [](const Case& c) { return c.status == Status::pending; }, Does::wait},
};

struct Scene {
  Record record;
  Request request;
  Policy today;
  Attempt attempt;
};

Instant at(End end, Instant now) {
  switch (end) {
    case End::ahead: return now + 1us;
    case End::now: return now;
    case End::behind: return now - 1h;
  }
  return now;
}

State state_in(const Case& c, Instant now) {
  switch (c.status) {
    case Status::pending: return Pending{};
    case Status::in_progress: return InProgress{now - 2h, at(c.lease, now)};
    case Status::completed: return Completed{a_stored_response(), now - 2h};
    case Status::failed_retryable: return FailedRetryable{};
    case Status::unknown: return Unknown{at(c.lease, now), now - 1h, now - 2h};
    case Status::expired: return Expired{};
  }
  return Expired{};
}

Scene scene_of(const Case& c) {
  const Instant now = some_time();
  Scene scene;
  scene.attempt = {.owner = Owner{"us"},
                   .now = now,
                   .clock_trusted = c.clock_trusted,
                   .may_have_acted = c.outside};
  scene.today.expired = c.expired_today;
  scene.today.mode = c.mode_today;
  scene.today.lease = 20s;
  scene.today.fingerprint.exclude = {{{"new"}}};
  // Never today's: the attempt was accepted under its own rule.
  scene.today.on_lease_expiry = static_cast<OnLeaseExpiry>((int(c.on_lease_expiry) + 1) % 3);

  scene.record = testing::an_in_progress_record("test-key-00000001", "them", now - 3h);
  scene.record.owner.text = c.own ? "us" : "them";
  scene.record.state = state_in(c, now);
  scene.record.attempt = 3;
  scene.record.recovery_point = c.whose == Whose::others ? "" : "charged";
  scene.record.policy.credentials = "alice";
  scene.record.policy.mode = c.mode_then;
  scene.record.policy.on_lease_expiry = c.on_lease_expiry;
  scene.record.policy.expired = c.expired_then;
  scene.record.policy.fingerprint.exclude = {{{"old"}}};
  scene.record.expires_at = at(c.retention, now);

  scene.request = a_request();
  scene.request.credentials = c.whose == Whose::owners ? "alice" : "bob";
  scene.request.meant_then = [](const Fingerprint&, const FingerprintRules&) { return false; };
  if (c.meaning == Meaning::same) return scene;
  scene.request.fingerprint.text = "2.new-secret.abc";
  if (c.meaning == Meaning::other) return scene;
  const Fingerprint stored = scene.record.fingerprint;
  const FingerprintRules rules = scene.record.policy.fingerprint;
  scene.request.meant_then = [=](const Fingerprint& asked, const FingerprintRules& rules_then) {
    return asked == stored && rules_then == rules;
  };
  return scene;
}

// A new owner works at once, or on an async route leaves the work to a worker.
void expect_begun(const Scene& s, const Verdict& verdict) {
  const bool async = s.today.mode == Mode::async;
  const State state =
      async ? State{Pending{}} : State{InProgress{s.attempt.now, s.attempt.now + s.today.lease}};
  const Decision decision = async ? Decision{InFlight{0us, true}} : Decision{Execute{}};
  EXPECT_EQ(verdict.decision, decision);
  ASSERT_TRUE(verdict.next);
  EXPECT_EQ(verdict.next->state, state);
  EXPECT_EQ(verdict.next->owner, s.attempt.owner);
}

void expect_new_life(const Scene& s, const Verdict& verdict) {
  expect_begun(s, verdict);
  EXPECT_EQ(verdict.next, first_record(s.request, s.today, s.attempt));
  EXPECT_EQ(verdict.next->fence.number, s.attempt.now.time_since_epoch().count());
}

void expect_taken_over(const Scene& s, const Verdict& verdict) {
  expect_begun(s, verdict);
  Record expected = s.record;
  expected.state = verdict.next->state;
  expected.owner = s.attempt.owner;
  expected.fence.number += 1;
  expected.attempt += 1;
  expected.policy = s.today;
  expected.policy.fingerprint = s.record.policy.fingerprint;  // they made the stored hash
  expected.policy.credentials = s.request.credentials;        // it is whoever's has it now
  // At a recovery point, under the rule that it is resumed: it goes on being resumed.
  if (!s.record.recovery_point.empty() &&
      s.record.policy.on_lease_expiry == OnLeaseExpiry::resume) {
    expected.policy.on_lease_expiry = OnLeaseExpiry::resume;
  }
  expected.expires_at = s.attempt.now + s.today.retention;
  EXPECT_EQ(*verdict.next, expected);
}

void expect_own_claim(const Scene& s, const Case& c, const Verdict& verdict) {
  EXPECT_EQ(verdict.decision, Decision{Execute{}});
  EXPECT_EQ(verdict.next.has_value(),
            lease_over(c));  // then the lease is begun again, nothing else
  if (!verdict.next) return;
  Record expected = s.record;
  expected.state = InProgress{s.attempt.now, s.attempt.now + s.record.policy.lease};
  EXPECT_EQ(*verdict.next, expected);
}

void expect_doubt(const Scene& s, const Verdict& verdict) {
  EXPECT_EQ(verdict.decision, Decision{Undetermined{0us}});
  Record expected = s.record;
  const auto& held = std::get<InProgress>(s.record.state);
  expected.state = Unknown{s.attempt.now, held.locked_until, held.locked_at};
  expected.last_error = "lease-expired";
  ASSERT_TRUE(verdict.next);
  EXPECT_EQ(*verdict.next, expected);
}

void expect_answer(const Verdict& verdict, const Decision& decision) {
  EXPECT_EQ(verdict.decision, decision);
  EXPECT_FALSE(verdict.next) << "an answer from the record writes nothing";
}

void expect_row(const Row& row, const Scene& s, const Case& c, const Verdict& verdict) {
  const Duration left = c.lease == End::ahead ? 1us : 0us;
  switch (row.does) {
    case Does::gone: return expect_answer(verdict, Gone{});
    case Does::new_life: return expect_new_life(s, verdict);
    case Does::unproven: return expect_answer(verdict, Unproven{});
    case Does::misuse: return expect_answer(verdict, Misuse{});
    case Does::replay: return expect_answer(verdict, Replay{a_stored_response()});
    case Does::own_claim: return expect_own_claim(s, c, verdict);
    case Does::wait:
      return expect_answer(verdict, running(c) ? InFlight{left, false} : InFlight{0us, true});
    case Does::doubt: return expect_doubt(s, verdict);
    case Does::spent: return expect_answer(verdict, Spent{});
    case Does::take_over: return expect_taken_over(s, verdict);
    case Does::undetermined: return expect_answer(verdict, Undetermined{left});
  }
}

// True whatever the table says: what must hold for money not to move twice. Empty, or what does
// not.
std::string_view broken_promise(const Scene& s, const Case& c, const Verdict& verdict) {
  const Record& after = verdict.next ? *verdict.next : s.record;
  const bool writes = verdict.next.has_value();
  const bool executes = kind_of(verdict.decision) == DecisionKind::execute;
  const bool held = status_of(after) == Status::in_progress && after.owner == s.attempt.owner;
  const bool new_life = after.created_at != s.record.created_at;
  const bool gone = kind_of(verdict.decision) == DecisionKind::gone;
  const bool over = finished(c) && past_retention(c);
  if (executes && !held) return "executes without holding the record";
  if (!executes && writes && held) return "holds the record without executing";
  if (broken_invariant(after)) return "breaks an invariant of the record";
  if (after.owner != s.record.owner && after.fence <= s.record.fence) return "new owner, old fence";
  if (!new_life && after.fence.number > s.record.fence.number + 1) return "fence raised twice";
  const bool rebound = after.policy.credentials != s.record.policy.credentials;
  const bool let_go = strange(c) && free(c);
  if (rebound && !over && c.status != Status::failed_retryable) return "taken from its client";
  if (new_life && !over && !let_go) return "a new life before the old one was over";
  if (gone && !over && c.status != Status::expired) return "gone before it was over";
  if (c.status == Status::unknown && (executes || writes)) return "unknown left without resolve";
  if (c.status == Status::completed && !over && (executes || writes)) return "completed changed";
  if (c.meaning == Meaning::other && !over && !let_go && (executes || writes))
    return "misuse had an effect";
  const bool silent = c.outside && running(c) && lease_over(c);
  if (silent && executes && after.fence == s.record.fence) return "granted again in silence";
  const bool by_time = !c.clock_trusted && !c.own && c.status != Status::failed_retryable;
  if (by_time && (executes || writes)) return "a clock that jumped made the key new";
  return "";
}

TEST(Decide, FollowsTheTableForEveryRecordAndRequest) {
  std::set<const Row*> reached;
  for (std::size_t n = 0; n < case_count; ++n) {
    const Case c = nth_case(n);
    const Scene scene = scene_of(c);
    const Verdict verdict = decide(scene.record, scene.request, scene.today, scene.attempt);
    const auto* row = std::ranges::find_if(table, [&](const Row& r) { return r.fits(c); });
    ASSERT_NE(row, table.end()) << "no row fits case " << n;
    reached.insert(row);
    expect_row(*row, scene, c, verdict);
    EXPECT_EQ(broken_promise(scene, c, verdict), "");
    ASSERT_FALSE(HasFailure()) << "case " << n << ", row: " << row->record << ", decided "
                               << to_text(kind_of(verdict.decision));
  }
  EXPECT_EQ(reached.size(), table.size()) << "a row that nothing reaches";
}

TEST(Decide, LapsedLeaseIsReconciledNotRetried) {
  const Record held = testing::an_in_progress_record();
  const Attempt late{.owner = Owner{"us"}, .now = some_time() + held.policy.lease};
  const Verdict verdict = decide(held, a_request(), Policy{}, late);
  EXPECT_EQ(kind_of(verdict.decision), DecisionKind::undetermined);
  EXPECT_EQ(status_of(verdict.next.value()), Status::unknown);
}

TEST(Decide, NewLifeStartsAboveTheOldFenceEvenIfTheClockWentBack) {
  Record done = testing::in_state(testing::an_in_progress_record(), Status::completed, some_time());
  done.expires_at = some_time() + 1h;
  done.fence.number = (some_time() + 24h).time_since_epoch().count();
  const Attempt attempt{.owner = Owner{"us"}, .now = some_time() + 2h};
  const Verdict verdict = decide(done, a_request(), Policy{}, attempt);
  ASSERT_TRUE(verdict.next);
  EXPECT_EQ(verdict.next->fence.number, done.fence.number + 1);
}

TEST(Decide, TakingOverNeverShortensTheRetention) {
  Record failed = testing::an_in_progress_record();
  failed.state = FailedRetryable{};
  failed.expires_at = some_time() + 1000h;
  const Verdict verdict = decide(failed, a_request(), Policy{}, {Owner{"us"}, some_time() + 1s});
  EXPECT_EQ(verdict.next.value().expires_at, failed.expires_at);
}

// A provider that honours keys has seen the first one: under another it would charge again.
TEST(Decide, TakingOverKeepsTheKeyThatTheProviderWasSent) {
  Record lapsed = testing::an_in_progress_record();
  lapsed.policy.on_lease_expiry = OnLeaseExpiry::retry;
  lapsed.policy.sent_key = ForwardKey::same;
  lapsed.policy.source = "by-key";
  Policy today;
  today.sent_key = ForwardKey::derived;
  today.source = "by-derived by derived key";
  const Attempt attempt{.owner = Owner{"us"}, .now = some_time() + 1h};
  const Record next = decide(lapsed, a_request(), today, attempt).next.value();
  EXPECT_EQ(next.policy.sent_key, ForwardKey::same);
  EXPECT_EQ(next.policy.source, today.source) << "who is asked about the new attempt";
  lapsed.policy.sent_key.reset();
  EXPECT_EQ(decide(lapsed, a_request(), today, attempt).next->policy.sent_key, ForwardKey::derived)
      << "a record of an earlier version does not say";
}

TEST(Decide, TakingOverKeepsTheStoredRequestUnlessTheRetryBringsOne) {
  Record failed = testing::an_in_progress_record();
  failed.state = FailedRetryable{};
  failed.request = StoredRequest{"/v1/payments", {}, "first"};
  Request request = a_request();
  EXPECT_EQ(decide(failed, request, {}, {Owner{"us"}, some_time()}).next->request, failed.request);
  request.stored = StoredRequest{"/v1/payments", {}, "again"};
  EXPECT_EQ(decide(failed, request, {}, {Owner{"us"}, some_time()}).next->request, request.stored);
}

TEST(Decide, RequestWithoutOldRulesIsMisuseWhereTheHashDiffers) {
  const Record held = testing::an_in_progress_record();
  const Request other = a_request("test-key-00000001", "tenant-a", "pay 11 EUR");
  const Verdict verdict = decide(held, other, Policy{}, {Owner{"us"}, some_time()});
  EXPECT_EQ(kind_of(verdict.decision), DecisionKind::misuse);
}

TEST(DecideDeathTest, AnotherTenantsRecordIsNeverDecidedOn) {
  const Record held = testing::an_in_progress_record();
  const Request request = a_request("test-key-00000001", "tenant-b");
  EXPECT_DEATH(std::ignore = decide(held, request, Policy{}, {Owner{"us"}, some_time()}), "scope");
}

// A retry means the same; its spaces, excluded fields and headers may be others.
TEST(Decide, AFlowThatGotSomewhereGoesOnWithTheRequestItBeganWith) {
  const StoredRequest first{"/v1/payments", {{"X-Trace", "1"}}, R"({"amount":1})"};
  Record record = testing::an_in_progress_record();
  record.policy.on_lease_expiry = OnLeaseExpiry::resume;
  record.request = first;
  Request retry = a_request();
  retry.stored = StoredRequest{"/v1/payments", {{"X-Trace", "2"}}, R"({ "amount": 1 })"};
  const Attempt attempt{.owner = Owner{"us"}, .now = testing::some_time() + 1h};
  Policy flow;
  flow.on_lease_expiry = OnLeaseExpiry::resume;
  EXPECT_EQ(decide(record, retry, flow, attempt).next.value().request, retry.stored)
      << "nothing was made of the first one";
  record.recovery_point = "charge";
  EXPECT_EQ(decide(record, retry, flow, attempt).next.value().request, first);
}

TEST(Decide, AHalfDoneFlowIsTakenOverByItselfAlone) {
  Record record = testing::an_in_progress_record();
  record.policy.on_lease_expiry = OnLeaseExpiry::resume;
  record.request = StoredRequest{"/v1/payments", {}, "{}"};
  record.recovery_point = "charge";
  Request itself = a_request();
  itself.stored = record.request;
  Request no_flow = a_request();
  Request other_flow = itself;
  other_flow.route = "refunds";
  const Attempt attempt{.owner = Owner{"us"}, .now = some_time() + 1h};
  for (const State& state : {record.state, State{FailedRetryable{}}}) {
    record.state = state;
    EXPECT_EQ(decide(record, itself, Policy{}, attempt).decision, Decision{Execute{}});
    for (const Request& other : {no_flow, other_flow}) {
      const Verdict verdict = decide(record, other, Policy{}, attempt);
      EXPECT_EQ(verdict.decision, Decision{Undetermined{}});
      EXPECT_FALSE(verdict.next);
    }
  }
}

// Nothing has happened: whoever begins now must be found by its own completer.
TEST(Decide, ATakeoverFromTheBeginningTakesTheRouteOfWhoeverBegins) {
  Record record = testing::an_in_progress_record();
  record.policy.on_lease_expiry = OnLeaseExpiry::resume;
  record.request = StoredRequest{"/v1/payments", {}, "{}"};
  Request other = a_request();
  other.route = "refunds";
  const Attempt attempt{.owner = Owner{"us"}, .now = some_time() + 1h};
  EXPECT_EQ(decide(record, other, Policy{}, attempt).next.value().route, "refunds");
}

// Where nobody chose how callers are told apart.
// A service's 401 to a stranger, or to an old token: nothing was executed, and the key is nobody's.
TEST(Decide, AReleasedKeyIsBoundToWhoeverTakesItNext) {
  Request stranger = a_request();
  stranger.credentials = "stranger";
  Request owner = a_request();
  owner.credentials = "owner";
  const Attempt attempt{.owner = Owner{"us"}, .now = some_time()};
  const Record first = first_record(stranger, Policy{}, attempt);
  const Record released = testing::in_state(first, Status::failed_retryable, some_time());
  const Verdict taken = decide(released, owner, Policy{}, attempt);
  EXPECT_EQ(taken.decision, Decision{Execute{}});
  EXPECT_EQ(taken.next->policy.credentials, "owner");
  EXPECT_EQ(taken.next->created_at, released.created_at) << "what is known of it stays";
  owner.fingerprint.text = "1.-.another";  // the stranger's request was not the owner's
  const Verdict anew = decide(released, owner, Policy{}, attempt);
  EXPECT_EQ(anew.decision, Decision{Execute{}});
  EXPECT_EQ(anew.next->policy.credentials, "owner");
  EXPECT_EQ(anew.next->fingerprint, owner.fingerprint);
  EXPECT_GT(anew.next->fence, released.fence);
  // From then on it is the owner's.
  EXPECT_EQ(decide(*anew.next, stranger, Policy{}, attempt).decision, Decision{Unproven{}});
}

TEST(Decide, WhoeverBringsOtherCredentialsIsNeitherToldNorExecuted) {
  Request alice = a_request();
  alice.credentials = "alice";
  Request bob = a_request();
  bob.credentials = "bob";
  const Attempt attempt{.owner = Owner{"us"}, .now = some_time()};
  const Record first = first_record(alice, Policy{}, attempt);
  for (const auto& [status, name] : Names<Status>::table) {
    if (status == Status::expired || status == Status::failed_retryable) continue;
    const Record record = testing::in_state(first, status, some_time());
    const Verdict verdict = decide(record, bob, Policy{}, attempt);
    EXPECT_EQ(verdict.decision, Decision{Unproven{}}) << name;
    EXPECT_FALSE(verdict.next);
    EXPECT_NE(decide(record, alice, Policy{}, attempt).decision, Decision{Unproven{}}) << name;
    // A caller that was chosen is told apart by its scope.
    EXPECT_NE(decide(record, a_request(), Policy{}, attempt).decision, Decision{Unproven{}});
  }
  const Record failed = testing::in_state(first, Status::failed_retryable, some_time());
  EXPECT_EQ(decide(failed, alice, Policy{}, attempt).next->policy.credentials, "alice");
}

TEST(Decide, ARestoredStoreBeginsNoSecondLife) {
  const Record done =
      testing::in_state(testing::an_in_progress_record(), Status::completed, some_time());
  const Attempt attempt{.owner = Owner{"us"}, .now = done.expires_at, .forgotten = true};
  EXPECT_EQ(decide(done, a_request(), Policy{}, attempt).decision, Decision{Restored{}});
  const Attempt in_time{.owner = Owner{"us"}, .now = done.expires_at - 1us, .forgotten = true};
  EXPECT_EQ(kind_of(decide(done, a_request(), Policy{}, in_time).decision), DecisionKind::replay);
}

}  // namespace
}  // namespace pawl
