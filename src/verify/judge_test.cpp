// The judgements, over exchanges that nobody had to make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/verify/check.hpp"

namespace pawl::verify {
namespace {

using Recorded = Run;  // GoogleTest has a Run of its own

const Check& check_of(std::string_view name) {
  for (const Check& check : checks()) {
    if (check.name == name) return check;
  }
  throw std::runtime_error("no such check: " + std::string(name));
}

Exchange got(const std::string& label, int status, const std::string& body = "{}",
             const Headers& headers = {}) {
  Exchange made;
  made.sent.label = label;
  made.answer = Response{status, headers, body};
  return made;
}

Exchange unanswered(const std::string& label) {
  Exchange made;
  made.sent.label = label;
  made.trouble = "reset";
  return made;
}

Exchange ending_at(Exchange exchange, int when) {
  exchange.ended = Moment(when);
  return exchange;
}

Recorded counted_run(std::vector<Exchange> exchanges, std::int64_t effects) {
  return {std::move(exchanges), {10, 10 + effects}, ""};
}

Target target_of(Profile profile) {
  Target made;
  made.profile = profile;
  made.body = R"({"amount":1})";
  return made;
}

Result judged(std::string_view name, const Recorded& run, Profile profile = Profile::automatic,
              bool answers_differ = true) {
  const Facts facts{.answers_differ = answers_differ};
  return check_of(name).judge(target_of(profile), facts, run).result;
}

const Exchange first = got("first", 201, R"({"id": 1})");
const Headers soon{{"Retry-After", "1"}};

TEST(Judge, AReplayIsTheSameByStatusBytesAndHeaders) {
  const Recorded same{{first, got("again", 201, R"({"id": 1})")}, {}, ""};
  const Recorded other_status{{first, got("again", 200, R"({"id": 1})")}, {}, ""};
  const Recorded other_bytes{{first, got("again", 201, R"({"id":1})")}, {}, ""};
  const Recorded none{{first, unanswered("again")}, {}, ""};
  EXPECT_EQ(judged("replay-status", same), Result::passed);
  EXPECT_EQ(judged("replay-status", other_status), Result::failed);
  EXPECT_EQ(judged("replay-status", other_bytes), Result::passed);
  EXPECT_EQ(judged("replay-body", same), Result::passed);
  EXPECT_EQ(judged("replay-body", other_bytes), Result::failed);
  for (const char* name : {"replay-status", "replay-body", "replay-headers", "replay-marked"}) {
    EXPECT_EQ(judged(name, none), Result::failed) << name;
  }
  const Recorded dropped{
      {got("first", 201, "{}", {{"Location", "/1"}}), got("again", 201)}, {}, ""};
  EXPECT_EQ(judged("replay-headers", dropped), Result::failed);
  EXPECT_EQ(judged("replay-headers", same), Result::passed);
}

TEST(Judge, AReplayIsMarkedAndAFirstAnswerIsNot) {
  const Headers mark{{"idempotent-replayed", "true"}};
  const Recorded good{{first, got("again", 201, "{}", mark)}, {}, ""};
  const Recorded both{{got("first", 201, "{}", mark), got("again", 201, "{}", mark)}, {}, ""};
  const Recorded denied{
      {first, got("again", 201, "{}", {{"Idempotent-Replayed", "false"}})}, {}, ""};
  EXPECT_EQ(judged("replay-marked", good), Result::passed);
  EXPECT_EQ(judged("replay-marked", both), Result::failed);
  EXPECT_EQ(judged("replay-marked", denied), Result::failed);
}

TEST(Judge, AnotherBodyIsRefusedAsTheProfileSays) {
  const auto other = [](int status) { return Recorded{{first, got("other", status)}, {}, ""}; };
  EXPECT_EQ(judged("body-other-refused", other(422), Profile::ietf), Result::passed);
  EXPECT_EQ(judged("body-other-refused", other(400), Profile::ietf), Result::failed);
  EXPECT_EQ(judged("body-other-refused", other(400), Profile::stripe), Result::passed);
  EXPECT_EQ(judged("body-other-refused", other(422), Profile::stripe), Result::failed);
  for (const int status : {400, 409, 417, 422}) {
    EXPECT_EQ(judged("body-other-refused", other(status)), Result::passed) << status;
  }
  for (const int status : {200, 201, 401, 429, 500}) {
    EXPECT_EQ(judged("body-other-refused", other(status)), Result::failed) << status;
  }
}

TEST(Judge, TwoBodiesThatAreRefusedAlikeProveNothing) {
  const Recorded alike{{got("first", 400, "no"), got("other", 400, "no")}, {}, ""};
  const Recorded apart{{got("first", 400, "no"), got("other", 422, "reused")}, {}, ""};
  EXPECT_EQ(judged("body-exact-numbers", alike), Result::not_run);
  EXPECT_EQ(judged("body-exact-numbers", apart), Result::passed);
}

TEST(Judge, ARefusedKeyHasNoEffect) {
  EXPECT_EQ(judged("key-empty", counted_run({got("sent", 400)}, 0)), Result::passed);
  EXPECT_EQ(judged("key-empty", counted_run({got("sent", 400)}, 1)), Result::failed);
  EXPECT_EQ(judged("key-empty", Recorded{{got("sent", 201)}, {}, ""}), Result::failed);
  EXPECT_EQ(judged("key-empty", Recorded{{got("sent", 500)}, {}, ""}), Result::failed);
  EXPECT_EQ(judged("key-missing", Recorded{{got("sent", 422)}, {}, ""}, Profile::ietf),
            Result::failed);
  EXPECT_EQ(judged("key-missing", Recorded{{got("sent", 422)}, {}, ""}), Result::passed);
}

TEST(Judge, ConcurrentDuplicatesAreCountedOrComparedByTheirAnswers) {
  const Exchange won = got("duplicate", 201, R"({"id":1})");
  const Exchange another = got("duplicate", 201, R"({"id":2})");
  const Exchange conflict = got("duplicate", 409);
  const Exchange last = got("last", 200, R"({"id":1})");
  const char* const name = "concurrent-one-effect";
  EXPECT_EQ(judged(name, counted_run({won, conflict, last}, 1)), Result::passed);
  EXPECT_EQ(judged(name, counted_run({won, conflict, last}, 2)), Result::failed);
  EXPECT_EQ(judged(name, Recorded{{won, conflict, last}, {}, ""}), Result::passed);
  EXPECT_EQ(judged(name, Recorded{{won, another, last}, {}, ""}), Result::failed);
  EXPECT_EQ(judged(name, Recorded{{won, another, last}, {}, ""}, Profile::automatic, false),
            Result::not_run);
  const Recorded broken{{won, got("duplicate", 500), last}, {}, ""};
  EXPECT_EQ(judged("concurrent-consistent", broken), Result::failed);
  EXPECT_EQ(judged("concurrent-consistent", Recorded{{won, conflict, last}, {}, ""}),
            Result::passed);
}

TEST(Judge, UnderWayIsSaidBeforeTheWorkIsDone) {
  const Exchange worked = ending_at(got("one", 201), 500);
  const Exchange told = got("two", 409, "{}", soon);
  EXPECT_EQ(judged("in-flight-at-once", Recorded{{worked, ending_at(told, 10)}, {}, ""}),
            Result::passed);
  EXPECT_EQ(judged("in-flight-at-once", Recorded{{worked, ending_at(told, 501)}, {}, ""}),
            Result::failed);
  const Recorded waited{{worked, ending_at(got("two", 201), 501)}, {}, ""};
  EXPECT_EQ(judged("in-flight-at-once", waited), Result::passed);
  EXPECT_EQ(judged("in-flight-retry-after", waited), Result::not_run);
  for (const auto& [value, result] : {std::pair{"1", Result::passed},
                                      {"3600", Result::passed},
                                      {"3601", Result::failed},
                                      {"soon", Result::failed}}) {
    const Recorded run{{worked, got("two", 409, "{}", {{"Retry-After", value}})}, {}, ""};
    EXPECT_EQ(judged("in-flight-retry-after", run), result) << value;
  }
  const Recorded silent{{worked, got("two", 409)}, {}, ""};
  EXPECT_EQ(judged("in-flight-retry-after", silent), Result::failed);
}

TEST(Judge, AfterAKillItHappenedOnceOrTheClientIsToldThatNobodyKnows) {
  const auto run = [](int status, std::int64_t effects) {
    return counted_run({unanswered("killed"), got("last", status)}, effects);
  };
  for (const char* name : {"killed-at-start", "killed-at-effect"}) {
    EXPECT_EQ(judged(name, run(201, 1)), Result::passed) << name;
    EXPECT_EQ(judged(name, run(409, 1)), Result::passed) << name;
    EXPECT_EQ(judged(name, run(409, 0)), Result::passed) << name;
    EXPECT_EQ(judged(name, run(201, 2)), Result::failed) << name;
    EXPECT_EQ(judged(name, run(409, 2)), Result::failed) << name;
    EXPECT_EQ(judged(name, run(201, 0)), Result::failed) << name;
  }
}

TEST(Judge, AnErrorAfterTheEffectIsNotExecutedAgain) {
  const Exchange failed_first = got("first", 500);
  EXPECT_EQ(judged("error-after-effect", counted_run({failed_first, got("last", 500)}, 1)),
            Result::passed);
  EXPECT_EQ(judged("error-after-effect", counted_run({failed_first, got("last", 409)}, 1)),
            Result::passed);
  EXPECT_EQ(judged("error-after-effect", counted_run({failed_first, got("last", 201)}, 2)),
            Result::failed);
  EXPECT_EQ(judged("error-after-effect", counted_run({first, got("last", 201)}, 1)),
            Result::not_run);
}

TEST(Judge, ARefusalIsNotTheAnswerForGood) {
  const Exchange busy = got("first", 503, "{}", soon);
  EXPECT_EQ(judged("refusal-not-final", counted_run({busy, got("last", 201)}, 1)), Result::passed);
  EXPECT_EQ(judged("refusal-not-final", counted_run({busy, got("last", 503)}, 0)), Result::failed);
  EXPECT_EQ(judged("refusal-not-final", counted_run({busy, got("last", 201)}, 2)), Result::failed);
}

TEST(Judge, ACallerNeverGetsAnothersAnswerNorAnErrorThatTellsOfIt) {
  const Exchange mine = got("first", 201, R"({"id":"pay_123456789"})");
  const Recorded shared{{mine, got("second", 200, R"({"id":"pay_123456789"})")}, {}, ""};
  const Recorded own{{mine, got("second", 201, R"({"id":"pay_987654321"})")}, {}, ""};
  const Recorded told{{mine, got("second", 409, "taken by pay_123456789")}, {}, ""};
  const Recorded discreet{{mine, got("second", 409, "taken")}, {}, ""};
  EXPECT_EQ(judged("callers-apart", shared), Result::failed);
  EXPECT_EQ(judged("callers-apart", own), Result::passed);
  EXPECT_EQ(judged("callers-apart", discreet), Result::passed);
  EXPECT_EQ(judged("callers-no-leak", told), Result::failed);
  EXPECT_EQ(judged("callers-no-leak", discreet), Result::passed);
  const Recorded alike = counted_run({got("first", 201), got("second", 201)}, 2);
  EXPECT_EQ(judged("callers-apart", alike, Profile::automatic, false), Result::passed);
}

TEST(Judge, ErrorsHaveTheShapeThatTheProfileNames) {
  const Headers problem{{"Content-Type", "application/problem+json"}};
  const Recorded ietf{{first, got("other", 422, R"({"title":"no"})", problem)}, {}, ""};
  const Recorded stripe{{first, got("other", 400, R"({"error":{"message":"no"}})")}, {}, ""};
  const Recorded plain{{first, got("other", 422, "no")}, {}, ""};
  EXPECT_EQ(judged("errors-readable", ietf, Profile::ietf), Result::passed);
  EXPECT_EQ(judged("errors-readable", stripe, Profile::ietf), Result::failed);
  EXPECT_EQ(judged("errors-readable", stripe, Profile::stripe), Result::passed);
  EXPECT_EQ(judged("errors-readable", ietf, Profile::stripe), Result::failed);
  EXPECT_EQ(judged("errors-readable", ietf), Result::passed);
  EXPECT_EQ(judged("errors-readable", stripe), Result::passed);
  EXPECT_EQ(judged("errors-readable", plain), Result::failed);
}

}  // namespace
}  // namespace pawl::verify
