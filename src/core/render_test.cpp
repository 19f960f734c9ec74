// Design section 10: what a client reads.
#include "src/core/render.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pawl/types/json.hpp"
#include "testing/builders.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::a_stored_response;
using testing::an_in_progress_record;
using testing::some_time;

struct Row {
  Problem problem;
  const char* slug;
  int status;
  bool should_retry;
  const char* error_type;
};

const std::vector<Row>& problem_table() {
  using enum Problem;
  static const std::vector<Row> table{
      {key_missing, "key-missing", 400, false, "invalid_request_error"},
      {key_invalid, "key-invalid", 400, false, "invalid_request_error"},
      {body_invalid, "body-invalid", 400, false, "invalid_request_error"},
      {unauthenticated, "unauthenticated", 401, false, "authentication_error"},
      {body_too_large, "body-too-large", 413, false, "invalid_request_error"},
      {key_reused, "key-reused", 422, false, "idempotency_error"},
      {in_flight, "in-flight", 409, true, "idempotency_error"},
      {outcome_unknown, "outcome-unknown", 409, true, "idempotency_error"},
      {abandoned, "abandoned", 408, false, "api_error"},
      {key_expired, "key-expired", 410, false, "idempotency_error"},
      {rate_limited, "rate-limited", 429, true, "rate_limit_error"},
      {too_many_keys, "too-many-keys", 429, true, "rate_limit_error"},
      {stale_request, "stale-request", 400, false, "invalid_request_error"},
      {store_unavailable, "store-unavailable", 503, true, "api_error"},
      {upstream_unreachable, "upstream-unreachable", 502, true, "api_error"},
      {bad_upstream_response, "bad-upstream-response", 502, true, "api_error"},
      {draining, "draining", 503, true, "api_error"},
      {bad_request, "bad-request", 400, false, "invalid_request_error"},
      {uri_too_long, "uri-too-long", 414, false, "invalid_request_error"},
      {expectation_failed, "expectation-failed", 417, false, "invalid_request_error"},
      {headers_too_large, "headers-too-large", 431, false, "invalid_request_error"},
      {not_implemented, "not-implemented", 501, false, "invalid_request_error"},
      {version_not_supported, "version-not-supported", 505, false, "invalid_request_error"},
      {near_duplicate, "near-duplicate", 409, false, "idempotency_error"},
      {stale_fence, "stale-fence", 409, false, "idempotency_error"},
      {overloaded, "overloaded", 503, true, "api_error"},
      {caller_unproven, "caller-unproven", 409, false, "idempotency_error"},
      {store_restored, "store-restored", 409, false, "idempotency_error"},
      {forbidden, "forbidden", 403, false, "invalid_request_error"},
      {auth_unavailable, "auth-unavailable", 503, true, "api_error"},
  };
  return table;
}

Dialect a_dialect(Profile profile = Profile::ietf) {
  return Dialect{.profile = profile,
                 .in_flight = WhenInFlight::conflict,
                 .key_as_sent = "\"test-key-00000001\";a=1",
                 .request_id = "0123abcd",
                 .status_url = "/_pawl/v1/keys/test-key-00000001"};
}

std::string field(const Response& response, std::string_view name) {
  return std::string(find_header(response.headers, name).value_or("(none)"));
}

long count_of(const Response& response, std::string_view name) {
  return std::ranges::count_if(response.headers,
                               [&](const Header& h) { return same_field_name(h.name, name); });
}

json::Value document_of(const Response& response) {
  const auto document = json::read(response.body);
  EXPECT_TRUE(document) << response.body;
  return document ? *document : json::Value{};
}

std::string member(const json::Value& document, std::string_view name) {
  const json::Value* value = document.find(name);
  return value == nullptr ? "(none)" : value->text;
}

void expect_error_fields(const Response& response, bool should_retry) {
  EXPECT_EQ(field(response, "Link"), R"(</_pawl/v1/policy>; rel="describedby")");
  EXPECT_EQ(field(response, "Pawl-Should-Retry"), should_retry ? "true" : "false");
  EXPECT_EQ(field(response, "Idempotency-Key"), "\"test-key-00000001\";a=1");
  EXPECT_EQ(field(response, "Pawl-Request-Id"), "0123abcd");
  EXPECT_EQ(field(response, "Idempotent-Replayed"), "(none)");
}

// What SDKs look for that do not look at the status.
void expect_error_member(const json::Value& document, const Row& row) {
  const json::Value* error = document.find("error");
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(error->members.size(), 3U);
  EXPECT_EQ(member(*error, "type"), row.error_type);
  EXPECT_EQ(member(*error, "code"), row.slug);
  EXPECT_EQ(member(*error, "message"), member(document, "detail"));
}

TEST(RenderProblem, IsAProblemDocumentForEveryTypeInEveryProfile) {
  for (const auto& [profile, name] : Names<Profile>::table) {
    for (const Row& row : problem_table()) {
      SCOPED_TRACE(row.slug);
      const bool stripe = profile == Profile::stripe;
      const bool is_reuse = row.problem == Problem::key_reused;
      const Response response = render_problem({row.problem, "", {}, {}}, a_dialect(profile));
      EXPECT_EQ(response.status, stripe && is_reuse ? 400 : row.status);
      EXPECT_EQ(slug_of(row.problem), row.slug);
      EXPECT_EQ(field(response, "Content-Type"),
                stripe ? "application/json" : "application/problem+json");
      EXPECT_EQ(field(response, "Retry-After"), "(none)");
      expect_error_fields(response, row.should_retry);
      const json::Value document = document_of(response);
      EXPECT_EQ(member(document, "type"), std::string("urn:pawl:problem:") + row.slug);
      EXPECT_EQ(member(document, "status"), std::to_string(response.status));
      EXPECT_EQ(member(document, "code"), row.slug);
      EXPECT_GT(member(document, "title").size(), 10U);
      EXPECT_GT(member(document, "detail").size(), 10U);
      expect_error_member(document, row);
    }
  }
}

TEST(RenderProblem, HasStripesFieldsInItsProfileAlone) {
  for (const Row& row : problem_table()) {
    SCOPED_TRACE(row.slug);
    const Response told = render_problem({row.problem, "", {}, {}}, a_dialect(Profile::stripe));
    EXPECT_EQ(field(told, "Stripe-Should-Retry"), row.should_retry ? "true" : "false");
    EXPECT_EQ(field(told, "Request-Id"), field(told, "Pawl-Request-Id"));
    const Response ietf = render_problem({row.problem, "", {}, {}}, a_dialect());
    EXPECT_EQ(count_of(ietf, "Stripe-Should-Retry"), 0);
    EXPECT_EQ(count_of(ietf, "Request-Id"), 0);
  }
}

TEST(RenderProblem, AnUnknownOutcomeIsAConflictOrAFailureByItsStatus) {
  for (const auto& [status, type] :
       std::vector<std::pair<int, std::string>>{{409, "idempotency_error"},
                                                {502, "api_error"},
                                                {503, "api_error"},
                                                {504, "api_error"}}) {
    const ProblemDetails problem{Problem::outcome_unknown, "", status, {}};
    const json::Value document = document_of(render_problem(problem, a_dialect(Profile::stripe)));
    ASSERT_NE(document.find("error"), nullptr);
    EXPECT_EQ(member(*document.find("error"), "type"), type) << status;
  }
}

TEST(RenderPlain, IsAProblemDocumentInHttpsOwnWords) {
  for (const int status : {401, 403, 404, 405, 422}) {
    for (const Profile profile : {Profile::ietf, Profile::stripe}) {
      const Response told = render_plain({status, "No such key"}, a_dialect(profile));
      EXPECT_EQ(told.status, status);
      expect_error_fields(told, /*should_retry=*/false);
      const json::Value document = document_of(told);
      EXPECT_EQ(member(document, "type"), "about:blank");
      EXPECT_EQ(member(document, "title"), "No such key");
      const json::Value* error = document.find("error");
      ASSERT_NE(error, nullptr);
      EXPECT_EQ(member(*error, "type"),
                status == 401 ? "authentication_error" : "invalid_request_error");
      EXPECT_GT(member(*error, "code").size(), 5U);
      EXPECT_EQ(member(*error, "message"), "No such key");
    }
  }
  const json::Value document =
      document_of(render_plain({404, "Not Found", "The key API is off."}, a_dialect()));
  EXPECT_EQ(member(document, "detail"), "The key API is off.");
  EXPECT_EQ(member(*document.find("error"), "message"), "The key API is off.");
}

TEST(RenderProblem, TellsInItsOwnWordsWhereItIsGivenAny) {
  const std::string detail = "line\n\"quoted\" \\ \x01 \xC3\xA4";
  for (const Profile profile : {Profile::ietf, Profile::stripe}) {
    const ProblemDetails problem{Problem::body_invalid, detail, {}, {}};
    const json::Value document = document_of(render_problem(problem, a_dialect(profile)));
    EXPECT_EQ(member(document, "detail"), detail);
    EXPECT_EQ(member(*document.find("error"), "message"), detail);
  }
}

TEST(RenderProblem, StatusMemberIsTheRealStatusWhereATypeHasSeveral) {
  for (const int status : {409, 502, 503, 504}) {
    const ProblemDetails problem{Problem::outcome_unknown, "", status, {}};
    const Response response = render_problem(problem, a_dialect());
    EXPECT_EQ(response.status, status);
    EXPECT_EQ(member(document_of(response), "status"), std::to_string(status));
  }
}

struct Wait {
  Duration duration;
  const char* seconds;
};

TEST(RenderProblem, RetryAfterIsWholeSecondsRoundedUpFromOneToSixty) {
  const Wait table[]{{-5s, "1"}, {0s, "1"}, {1us, "1"}, {1s, "1"}, {1s + 1us, "2"}, {1h, "60"}};
  for (const Wait& row : table) {
    const ProblemDetails problem{Problem::store_unavailable, "", {}, row.duration};
    EXPECT_EQ(field(render_problem(problem, a_dialect()), "Retry-After"), row.seconds);
  }
}

TEST(RenderProblem, WhatHasNoKeyIsToldOfNone) {
  Dialect dialect = a_dialect();
  dialect.keyless = true;
  for (const Row& row : problem_table()) {
    if (!row.should_retry || row.problem == Problem::in_flight) continue;
    for (const bool keyless : {true, false}) {
      dialect.keyless = keyless;
      const Response told = render_problem({row.problem, "", {}, {}}, dialect);
      const std::string detail = member(document_of(told), "detail");
      EXPECT_EQ(detail.find("same key") == std::string::npos, keyless) << detail;
      EXPECT_EQ(detail.ends_with("Retry later."), keyless) << detail;
    }
  }
}

TEST(Render, InFlightSaysWhatRequestsLikeItUsuallyStillTake) {
  const Wait table[]{{0s, "1"}, {300ms, "1"}, {1100ms, "2"}, {4s, "4"}, {10min, "5"}};
  for (const WhenInFlight in_flight : {WhenInFlight::conflict, WhenInFlight::accepted}) {
    Dialect dialect = a_dialect();
    dialect.in_flight = in_flight;
    for (const Wait& row : table) {
      dialect.usually_left = row.duration;
      const Response told = render(InFlight{30s, false}, an_in_progress_record(), dialect);
      EXPECT_EQ(field(told, "Retry-After"), row.seconds);
    }
    dialect.usually_left = 5s;  // the lease may be over before
    EXPECT_EQ(field(render(InFlight{2s, false}, an_in_progress_record(), dialect), "Retry-After"),
              "2");
  }
}

TEST(RenderProblem, EchoesNothingThatIsNotThere) {
  const Response response = render_problem({Problem::key_missing, "", {}, {}}, Dialect{});
  EXPECT_EQ(field(response, "Idempotency-Key"), "(none)");
  EXPECT_EQ(field(response, "Pawl-Request-Id"), "(none)");
}

struct Answer {
  Decision decision;
  int status;
  const char* slug;
  const char* retry_after;
};

TEST(Render, DecisionsAreTheAnswersOfTheDesign) {
  const std::vector<Answer> table{
      {Misuse{}, 422, "key-reused", "(none)"},
      {Gone{}, 410, "key-expired", "(none)"},
      {Spent{}, 409, "stale-fence", "(none)"},
      {InFlight{0s, false}, 409, "in-flight", "1"},
      {InFlight{1500ms, false}, 409, "in-flight", "2"},
      {InFlight{30s, false}, 409, "in-flight", "5"},  // asking again costs one read
      {Undetermined{0s}, 409, "outcome-unknown", "5"},
      {Undetermined{30s}, 409, "outcome-unknown", "30"},
      {Undetermined{100h}, 409, "outcome-unknown", "60"},
  };
  for (const Answer& row : table) {
    SCOPED_TRACE(row.slug);
    for (const WhenInFlight in_flight : {WhenInFlight::conflict, WhenInFlight::wait}) {
      Dialect dialect = a_dialect();
      dialect.in_flight = in_flight;
      dialect.source_is_asked = true;
      const Response response = render(row.decision, an_in_progress_record(), dialect);
      EXPECT_EQ(response.status, row.status);
      EXPECT_EQ(member(document_of(response), "code"), row.slug);
      EXPECT_EQ(field(response, "Retry-After"), row.retry_after);
    }
  }
}

void expect_accepted(const Response& response, std::string_view status) {
  EXPECT_EQ(response.status, 202);
  EXPECT_EQ(field(response, "Retry-After"), status == "pending" ? "1" : "5");
  EXPECT_EQ(field(response, "Location"), "/_pawl/v1/keys/test-key-00000001");
  EXPECT_EQ(field(response, "Idempotency-Key"), "\"test-key-00000001\";a=1");
  EXPECT_EQ(member(document_of(response), "status"), status);
}

TEST(Render, PendingAndAcceptedAre202WithThePlaceToAsk) {
  Dialect dialect = a_dialect();
  const Record record = an_in_progress_record();
  expect_accepted(render(InFlight{0s, true}, record, dialect), "pending");
  dialect.in_flight = WhenInFlight::accepted;
  expect_accepted(render(InFlight{20s, false}, record, dialect), "in_progress");
  dialect.status_url.clear();
  EXPECT_EQ(count_of(render(InFlight{20s, false}, record, dialect), "Location"), 0);
}

TEST(Render, AsyncRouteAnswers202AlsoWhileAWorkerIsAtIt) {
  Record record = an_in_progress_record();
  record.policy.mode = Mode::async;
  expect_accepted(render(InFlight{20s, false}, record, a_dialect()), "in_progress");
}

TEST(Render, ReplayIsTheStoredAnswerByteForByte) {
  const std::string bytes("{\"b\": 1.0,\0\xFF\n\"a\":2}", 19);
  const StoredResponse stored{402, {{"X-A", "1"}, {"X-A", "2"}, {"content-type", "x/y"}}, bytes, 1};
  Record record = an_in_progress_record();
  record.expires_at = some_time();
  for (const auto& [profile, name] : Names<Profile>::table) {
    const Response response = render(Replay{stored}, record, a_dialect(profile));
    EXPECT_EQ(response.status, 402);
    EXPECT_EQ(response.body, bytes);
    const Headers expected{{"X-A", "1"},
                           {"X-A", "2"},
                           {"content-type", "x/y"},
                           {"Idempotency-Expires", "Thu, 01 Jan 2026 00:00:00 GMT"},
                           {"Idempotent-Replayed", "true"},
                           {"Idempotency-Key", "\"test-key-00000001\";a=1"},
                           {"Pawl-Request-Id", "0123abcd"}};
    EXPECT_EQ(response.headers, expected) << name;
  }
}

TEST(Render, StoredAnswerToItsOwnClientIsNoReplay) {
  const Response response =
      render_stored(a_stored_response("x"), some_time(), Delivery::original, a_dialect());
  EXPECT_EQ(count_of(response, "Idempotent-Replayed"), 0);
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.body, "x");
}

TEST(Render, WithheldBodySaysSoUnderTheOriginalStatusAndFields) {
  const StoredResponse stored{201,
                              {{"Location", "/p/1"},
                               {"Content-Type", "text/csv"},
                               {"Content-Encoding", "gzip"},
                               {"etag", "\"1\""},
                               {"Content-Digest", "sha-256=:x:"}},
                              std::nullopt,
                              1};
  const Response response = render_stored(stored, some_time(), Delivery::replay, a_dialect());
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(field(response, "Pawl-Body-Withheld"), "true");
  const json::Value document = document_of(response);
  EXPECT_EQ(member(document, "pawl"), "body-withheld");
  const json::Value* error = document.find("error");  // else it looks like a result
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(member(*error, "code"), "body-withheld");
  EXPECT_EQ(member(*error, "message"), member(document, "detail"));
  EXPECT_EQ(field(response, "Location"), "/p/1");
  EXPECT_EQ(field(response, "Content-Type"), "application/json");
  EXPECT_EQ(field(response, "Idempotent-Replayed"), "true");
  for (const char* name : {"Content-Encoding", "ETag", "Content-Digest"}) {
    EXPECT_EQ(count_of(response, name), 0) << name;
  }
}

TEST(Render, OurFieldsStandInPlaceOfTheUpstreams) {
  const char* const ours[]{"Idempotency-Key", "Idempotency-Expires", "Idempotent-Replayed",
                           "Pawl-Request-Id"};
  StoredResponse stored = a_stored_response();
  for (const char* name : ours) stored.headers.push_back({name, "theirs"});
  const Response replay = render_stored(stored, some_time(), Delivery::replay, a_dialect());
  for (const char* name : ours) {
    EXPECT_EQ(count_of(replay, name), 1) << name;
    EXPECT_NE(field(replay, name), "theirs") << name;
  }
}

TEST(RenderOutcome, UpstreamsOwnAnswerIsDeliveredAsItIs) {
  const Response upstream{500, {{"X-A", "1"}, {"Set-Cookie", "a=b"}}, "boom"};
  for (const auto& [status, name] : Names<Status>::table) {
    const Record record = testing::in_state(an_in_progress_record(), status, some_time());
    const Response response = render_outcome(Answered{upstream}, record, a_dialect());
    EXPECT_EQ(response.status, 500);
    EXPECT_EQ(response.body, "boom");
    EXPECT_EQ(field(response, "Set-Cookie"), "a=b");
    EXPECT_EQ(field(response, "Pawl-Request-Id"), "0123abcd");
    EXPECT_EQ(count_of(response, "Idempotent-Replayed"), 0);
    EXPECT_EQ(count_of(response, "Idempotency-Expires"), status == Status::completed ? 1 : 0)
        << name;
  }
}

struct Trouble {
  Outcome outcome;
  int status;
  const char* slug;
};

TEST(RenderOutcome, TroubleIsToldByHowFarTheRequestGot) {
  using How = Lost::How;
  const std::vector<Trouble> table{
      {NotSent{"dns"}, 502, "upstream-unreachable"},
      {Lost{How::timeout, ""}, 504, "outcome-unknown"},
      {Lost{How::reset, ""}, 502, "outcome-unknown"},
      {Lost{How::bad_response, ""}, 502, "outcome-unknown"},
  };
  for (const Trouble& row : table) {
    const Response response = render_outcome(row.outcome, an_in_progress_record(), a_dialect());
    EXPECT_EQ(response.status, row.status) << row.slug;
    EXPECT_EQ(member(document_of(response), "code"), row.slug);
    EXPECT_NE(field(response, "Retry-After"), "(none)");
    expect_error_fields(response, true);
  }
}

TEST(Render, WhatIsInDoubtSaysWhoDecides) {
  Record record = an_in_progress_record();
  record.state = Unknown{};
  Dialect nobody = a_dialect();
  Dialect asked = a_dialect();
  asked.source_is_asked = true;
  const Outcome lost = Lost{Lost::How::timeout, ""};
  const auto text = [](const Response& response) {
    return member(document_of(response), "detail");
  };
  for (const Response& told :
       {render(Undetermined{3s}, record, nobody), render_outcome(lost, record, nobody)}) {
    EXPECT_EQ(field(told, "Pawl-Should-Retry"), "false");
    EXPECT_EQ(field(told, "Retry-After"), "(none)");
    EXPECT_NE(text(told).find("an operator must decide"), std::string::npos);
  }
  Dialect stripe = nobody;
  stripe.profile = Profile::stripe;
  EXPECT_EQ(field(render(Undetermined{3s}, record, stripe), "Stripe-Should-Retry"), "false");
  for (const Response& told :
       {render(Undetermined{3s}, record, asked), render_outcome(lost, record, asked)}) {
    EXPECT_EQ(field(told, "Pawl-Should-Retry"), "true");
    EXPECT_EQ(field(told, "Retry-After"), "5");
    EXPECT_NE(text(told).find("being asked of the provider"), std::string::npos);
  }
  // It was asked about in vain, and is not any more.
  record.last_error = "answered: 500";
  std::get<Unknown>(record.state).dead_lettered = true;
  const Response dead = render(Undetermined{3s}, record, asked);
  EXPECT_EQ(field(dead, "Pawl-Should-Retry"), "false");
  EXPECT_EQ(field(dead, "Retry-After"), "(none)");
  EXPECT_NE(text(dead).find("an operator must decide"), std::string::npos);
  EXPECT_NE(text(dead).find("the service answered 500, which"), std::string::npos);
  std::get<Unknown>(record.state).dead_lettered = false;
  const std::string held = text(render(Undetermined{3s}, record, nobody));
  EXPECT_NE(held.find("the service answered 500"), std::string::npos);
  EXPECT_NE(held.find("Pawl-Outcome"), std::string::npos);
  // On a transactional route nothing can have been committed.
  record.state = FailedRetryable{};
  EXPECT_EQ(field(render_outcome(lost, record, nobody), "Pawl-Should-Retry"), "true");
}

struct Held {
  const char* last_error;
  OnServerError on_server_error;
  OnRefusal on_refusal;
  const char* setting;  // that is suggested; empty: none
};

TEST(Render, AHeldKeySuggestsOnlyWhatWouldHaveFreedIt) {
  constexpr const char* by_error = "on_server_error = \"retry\"";
  constexpr const char* by_refusal = "on_refusal = \"release\"";
  constexpr auto hold = OnServerError::hold;
  const std::vector<Held> table{
      {"answered: 500", hold, OnRefusal::hold, by_error},
      {"answered: 429", hold, OnRefusal::hold, by_refusal},
      {"answered: 401", hold, OnRefusal::hold, by_refusal},
      {"answered: 503", hold, OnRefusal::release, by_error},
      {"answered: 503", OnServerError::retry, OnRefusal::hold, by_refusal},
      {"answered: 502", hold, OnRefusal::hold, ""},
      {"answered: 504", OnServerError::retry, OnRefusal::release, ""},
      {"answered: 500, Pawl-Outcome: unknown", hold, OnRefusal::hold, ""},
      {"answered: 429, Pawl-Outcome: unknown", hold, OnRefusal::hold, ""},
      {"lease-expired", hold, OnRefusal::hold, ""},
  };
  for (const Held& row : table) {
    Record record = an_in_progress_record();
    record.state = Unknown{};
    record.last_error = row.last_error;
    record.policy.on_server_error = row.on_server_error;
    record.policy.on_refusal = row.on_refusal;
    const Response told = render(Undetermined{3s}, record, a_dialect());
    const std::string text = member(document_of(told), "detail");
    for (const std::string setting : {by_error, by_refusal}) {
      EXPECT_EQ(text.find(setting) != std::string::npos, setting == row.setting)
          << row.last_error << ": " << text;
    }
  }
}

TEST(Render, TooManyKeysDoesNotPromiseThatWaitingHelps) {
  const Response told = render_problem({Problem::too_many_keys, "", {}, {}}, a_dialect());
  const std::string text = member(document_of(told), "detail");
  EXPECT_NE(text.find("not known and must be settled"), std::string::npos) << text;
}

TEST(RenderDeathTest, ExecutionHasNoAnswerYet) {
  EXPECT_DEATH(std::ignore = render(Execute{}, an_in_progress_record(), {}), "no answer yet");
}

}  // namespace
}  // namespace pawl
