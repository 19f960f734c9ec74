#include "src/verify/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "src/verify/render.hpp"
#include "src/verify/scripted_world_for_tests.hpp"

namespace pawl::verify {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

Target target() {
  Target made;
  made.at = *config::parse_endpoint("http://127.0.0.1:80/pay");
  made.url = "http://127.0.0.1:80/pay";
  made.body = R"({"amount":1200})";
  made.other_body = R"({"amount":1201})";
  made.headers = {{"Authorization", "Bearer very-secret"}};
  made.seed = "7";
  made.concurrency = 4;
  return made;
}

const Progress quiet = [](std::size_t, std::size_t, const Outcome&) {};

// An endpoint that replays by key and knows nothing else.
struct Replaying {
  std::map<std::string, Response> stored;
  int effects = 0;

  Response operator()(const Request& request) {
    if (request.to.target == "/count") return {200, {}, std::to_string(effects)};
    const std::string key(find_header(request.headers, "Idempotency-Key").value_or(""));
    const auto [at, fresh] = stored.try_emplace(key);
    if (fresh) at->second = {201, {}, R"({"id":"pay_)" + std::to_string(++effects) + "\"}"};
    return at->second;
  }
};

const Outcome& outcome_of(const Report& report, std::string_view name) {
  for (const Outcome& outcome : report.outcomes) {
    if (outcome.check->name == name) return outcome;
  }
  throw std::runtime_error("no such outcome: " + std::string(name));
}

Report report_on(const Target& at, const std::vector<std::string>& only) {
  Replaying endpoint;
  ScriptedWorld world([&](const Request& request) { return endpoint(request); });
  return verify(at, *select({only, {}}), world, quiet);
}

TEST(Checks, HaveNamesOfTheirOwnAndASentenceEach) {
  std::set<std::string_view> names;
  for (const Check& check : checks()) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_TRUE(check.promise.ends_with('.')) << check.promise;
    EXPECT_FALSE(check.source.empty()) << check.name;
    EXPECT_NE(check.plan, nullptr);
    EXPECT_NE(check.judge, nullptr);
  }
  EXPECT_GE(names.size(), 35U);
}

TEST(Checks, AreTheTableOfThePage) {
  std::ifstream file(PAWL_SOURCE_DIR "/docs/verify.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(page, HasSubstr(checks_as_markdown()));
}

TEST(Select, TakesNamesAndTheirBeginnings) {
  EXPECT_THAT(*select({{"replay-body"}, {}}), SizeIs(1));
  EXPECT_THAT(*select({{"callers"}, {}}), SizeIs(2));
  EXPECT_THAT(*select({{"callers"}, {"callers-apart"}}), SizeIs(1));
  EXPECT_THAT(*select({{}, {}}), SizeIs(checks().size()));
  EXPECT_THAT(select({{"replay-bdy"}, {}}).error(), HasSubstr("did you mean replay-body?"));
}

TEST(Verify, JudgesWhatCanBeRunAndSaysWhatIsMissingForTheRest) {
  const Report report = report_on(target(), {"replay", "body-other", "killed"});
  EXPECT_EQ(outcome_of(report, "replay-body").verdict.result, Result::passed);
  EXPECT_EQ(outcome_of(report, "replay-marked").verdict.result, Result::failed);
  EXPECT_EQ(outcome_of(report, "body-other-refused").verdict.result, Result::failed);
  EXPECT_EQ(outcome_of(report, "body-other-unharmed").verdict.result, Result::passed);
  const Verdict& killed = outcome_of(report, "killed-after-answer").verdict;
  EXPECT_EQ(killed.result, Result::not_run);
  EXPECT_EQ(killed.reason, "give --kill and --restart");
  EXPECT_EQ(grade(report), "F");
}

TEST(Verify, DoesNotBeginWhereTheEndpointRefusesTheRequest) {
  ScriptedWorld world([](const Request&) { return Response{401, {}, "who?"}; });
  const Report report = verify(target(), *select({{}, {}}), world, quiet);
  EXPECT_THAT(report.outcomes, SizeIs(0));
  EXPECT_THAT(report.trouble, HasSubstr("401 who?"));
  EXPECT_EQ(grade(report), "-");
}

TEST(Verify, DoesNotTrustACounterThatDoesNotCount) {
  Target counting = target();
  counting.counter = Counter{"GET", *config::parse_endpoint("http://127.0.0.1:80/other"), {}};
  ScriptedWorld world([](const Request& request) {
    return request.method == "GET" ? Response{200, {}, "5"} : Response{201, {}, "{}"};
  });
  const Report report = verify(counting, *select({{}, {}}), world, quiet);
  EXPECT_THAT(report.trouble, HasSubstr("counted as 0 effects"));
}

TEST(Verify, StopsWhereTheServiceDoesNotComeBack) {
  Target killable = target();
  killable.kill = "kill";
  killable.restart = "start";
  Replaying endpoint;
  ScriptedWorld world([&](const Request& request) { return endpoint(request); });
  world.accepts = [] { return false; };
  const Report report = verify(killable, *select({{"killed"}, {}}), world, quiet);
  EXPECT_THAT(report.outcomes, SizeIs(1));
  EXPECT_EQ(report.outcomes[0].verdict.result, Result::not_run);
  EXPECT_THAT(report.trouble, HasSubstr("accepts no connections"));
}

// A process that was killed may accept one more connection before it is gone.
TEST(Verify, RestartsAServiceOnlyWhenTheKilledOneIsGone) {
  Target killable = target();
  killable.kill = "kill";
  killable.restart = "start";
  Replaying endpoint;
  ScriptedWorld world([&](const Request& request) { return endpoint(request); });
  int asked_of_old = 0;
  world.accepts = [&] { return world.commands.size() == 2 || ++asked_of_old < 3; };
  verify(killable, *select({{"killed-after-answer"}, {}}), world, quiet);
  EXPECT_EQ(asked_of_old, 3);
  EXPECT_THAT(world.commands, ::testing::ElementsAre("kill", "start"));
}

TEST(Verify, ComesBackWhenItIsAskedTo) {
  int asked = 0;
  ScriptedWorld world([&](const Request&) {
    return ++asked % 3 == 0 ? Response{201, {}, "{}"} : Response{409, {{"Retry-After", "1"}}, ""};
  });
  const Report report = verify(target(), {}, world, quiet);
  EXPECT_EQ(report.trouble, "");
  EXPECT_EQ(asked, 6);
  EXPECT_EQ(world.now(), Moment(4000));
}

TEST(Verify, SendsTheSameRequestsForTheSameSeed) {
  EXPECT_EQ(key_of(target(), "replay"), key_of(target(), "replay"));
  EXPECT_NE(key_of(target(), "replay"), key_of(target(), "other"));
  Target other = target();
  other.seed = "8";
  EXPECT_NE(key_of(target(), "replay"), key_of(other, "replay"));
  EXPECT_THAT(key_of(target(), "replay"), SizeIs(36));
}

TEST(Verify, ADryRunNamesEveryRequestThatIsSent) {
  Replaying endpoint;
  ScriptedWorld world([&](const Request& request) { return endpoint(request); });
  const auto chosen = *select({{"replay", "concurrent"}, {}});
  verify(target(), chosen, world, quiet);
  const std::string plans = render_plans(target(), chosen);
  EXPECT_THAT(plans, HasSubstr(std::to_string(world.sent.size()) + " requests;"));
  EXPECT_THAT(plans, HasSubstr("not run: give --large-body"));
}

TEST(Render, NoFormatShowsASecret) {
  const Report report = report_on(target(), {"body-other"});
  for (const Format format : {Format::table, Format::json, Format::junit, Format::html}) {
    const std::string text = render(report, format);
    EXPECT_THAT(text, HasSubstr("body-other-refused"));
    EXPECT_THAT(text, Not(HasSubstr("very-secret")));
  }
  EXPECT_THAT(render_html(report), HasSubstr("(hidden)"));
}

TEST(Render, JsonIsJsonAndHoldsTheEvidence) {
  const auto document = json::read(render_json(report_on(target(), {"body-other", "killed"})));
  ASSERT_TRUE(document);
  EXPECT_EQ(document->find("grade")->text, "F");
  EXPECT_EQ(document->find("failed")->text, "1");
  const json::Value& first = document->find("checks")->items.at(0);
  EXPECT_EQ(first.find("result")->text, "failed");
  EXPECT_THAT(first.find("exchanges")->items, SizeIs(4));
}

TEST(Render, WhatAnEndpointSaysCannotBecomeMarkup) {
  ScriptedWorld world([count = 0](const Request&) mutable {
    return Response{201, {}, "<script>" + std::to_string(++count) + "</script>"};
  });
  const Report report = verify(target(), *select({{"replay-body"}, {}}), world, quiet);
  EXPECT_EQ(count_of(report, Result::failed), 1U);
  for (const Format format : {Format::junit, Format::html}) {
    EXPECT_THAT(render(report, format), Not(HasSubstr("<script>")));
  }
}

TEST(Render, JunitCountsWhatWasNotRunAsSkipped) {
  const std::string text = render_junit(report_on(target(), {"body-other", "killed"}));
  EXPECT_THAT(text, HasSubstr("tests=\"5\" failures=\"1\" errors=\"0\" skipped=\"3\""));
}

}  // namespace
}  // namespace pawl::verify
