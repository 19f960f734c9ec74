// What a service says of its own answer (Pawl-Outcome), and what an answer means where it says
// nothing. The header is for Pawl alone: no client sees it, and it is not kept.
#include "tests/e2e/gateway_fixture.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Said {
  int status;
  std::vector<std::string> outcome;  // the values of Pawl-Outcome, in order
  std::string policy;                // of its route
  std::string becomes;
};

class PawlOutcome : public OnEveryStore {
 protected:
  static Behaviour answer(const Said& said) {
    WireHeaders headers{{"Content-Type", "text/plain"}};
    for (const std::string& value : said.outcome) headers.emplace_back("Pawl-Outcome", value);
    return Behaviour::answer(said.status, "as it is", headers);
  }

  static void expect_hidden(const HttpAnswer& told) {
    EXPECT_FALSE(told.header("Pawl-Outcome")) << told.head;
    // A problem of ours may name the header; it is not what the service said.
    if (!problem_of(told).empty()) return;
    EXPECT_THAT(told.body, Not(HasSubstr("Pawl-Outcome")));
  }
};

TEST_P(PawlOutcome, TheServiceKnowsBest) {
  const std::vector<Said> rows{
      {500, {"not-executed"}, "", "failed_retryable"},
      {502, {"not-executed"}, "", "failed_retryable"},
      {201, {"not-executed"}, "", "failed_retryable"},
      {409, {"not-executed"}, "profile = \"strict\"", "failed_retryable"},
      {500, {"not-executed"}, "on_server_error = \"store\"", "failed_retryable"},
      {500, {"executed"}, "", "completed"},
      {429, {"executed"}, "", "completed"},
      {500, {"executed"}, "on_server_error = \"retry\"", "completed"},
      {201, {"unknown"}, "", "unknown"},
      {404, {"unknown"}, "", "unknown"},
      {500, {"unknown"}, "on_server_error = \"retry\"", "unknown"},
      {500, {"unknown"}, "profile = \"stripe\"", "unknown"},
      // Nobody is sure what these mean.
      {500, {"NOT EXECUTED"}, "on_server_error = \"retry\"", "unknown"},
      {201, {"maybe"}, "", "unknown"},
      {201, {""}, "", "unknown"},
      {500, {"not-executed", "executed"}, "", "unknown"},
      {500, {"not-executed, executed"}, "", "unknown"},
  };
  std::string routes;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    routes +=
        "[[route]]\nmatch = \"POST /row/" + std::to_string(i) + "\"\n" + rows[i].policy + "\n";
  }
  ServeProcess& gateway = start({.policy = "", .top = "", .rest = routes});
  ServeProcess& other = start({.policy = "", .top = "replay_cache = 0", .rest = routes});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Said& row = rows[i];
    SCOPED_TRACE("row " + std::to_string(i));
    upstream.behave(answer(row));
    Post each = payment;
    each.path = "/row/" + std::to_string(i);
    each.key = "the-key-of-row-" + std::to_string(i);
    each.body = R"({"amount":)" + std::to_string(i + 1) + "}";
    const HttpAnswer told = post(gateway.port(), each);
    EXPECT_EQ(told.status, row.status);  // delivered as it is, whatever the record becomes
    EXPECT_EQ(told.body, "as it is");
    expect_hidden(told);
    EXPECT_EQ(status_of(gateway, each.key), row.becomes);
    expect_hidden(get(gateway.port(), "/_pawl/v1/keys/" + each.key));

    upstream.behave(Behaviour::answer(201, "executed again"));
    for (const ServeProcess* node : {&other, &gateway}) {
      const HttpAnswer again = post(node->port(), each);
      expect_hidden(again);
      EXPECT_EQ(problem_of(again), row.becomes == "unknown" ? "outcome-unknown" : "");
      if (row.becomes != "completed") continue;
      EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
    }
    EXPECT_EQ(upstream.effects(each.key), row.becomes == "failed_retryable" ? 2U : 1U);
  }
}

TEST_P(PawlOutcome, WhatItSaidIsExplained) {
  ServeProcess& gateway = start();
  const auto explained = [&](const std::string& key) {
    return testing::run_program(
               {PAWL_BINARY, "explain", key, "--scope", "caller:default", "--store", store_url()})
        .out;
  };
  Post each = payment;
  each.key = "it-was-not-executed";
  upstream.behave(answer({500, {"not-executed"}, "", ""}));
  post(gateway.port(), each);
  EXPECT_THAT(explained(each.key), HasSubstr("said that it had not executed it"));
  each.key = "it-does-not-know-that";
  each.body = R"({"amount":2})";
  upstream.behave(answer({500, {"unknown"}, "", ""}));
  post(gateway.port(), each);
  EXPECT_THAT(explained(each.key), HasSubstr("does not know whether it has executed it"));
  each.key = "nobody-understands-it";
  each.body = R"({"amount":3})";
  upstream.behave(answer({201, {"maybe"}, "", ""}));
  post(gateway.port(), each);
  EXPECT_THAT(explained(each.key), HasSubstr("Pawl-Outcome"));
}

// Where nothing is guarded, nobody is told either.
TEST_P(PawlOutcome, NoClientSeesItOnUnguardedRoutesEither) {
  ServeProcess& gateway = start(
      {.policy = "", .top = "", .rest = "[[route]]\nmatch = \"POST /free/*\"\nkey = \"off\"\n"});
  upstream.behave(answer({200, {"executed"}, "", ""}));
  Post free = payment;
  free.key = "";
  free.path = "/free/1";
  expect_hidden(post(gateway.port(), free));
  expect_hidden(get(gateway.port(), "/reports/1"));
}

TEST_P(PawlOutcome, WithoutItA5xxIsHeldAndARefusalIsFree) {
  const std::vector<Said> rows{{500, {}, "", "unknown"},          {501, {}, "", "unknown"},
                               {503, {}, "", "unknown"},          {401, {}, "", "failed_retryable"},
                               {408, {}, "", "failed_retryable"}, {421, {}, "", "failed_retryable"},
                               {425, {}, "", "failed_retryable"}, {429, {}, "", "failed_retryable"},
                               {403, {}, "", "completed"},        {402, {}, "", "completed"}};
  ServeProcess& gateway = start();
  for (const Said& row : rows) {
    SCOPED_TRACE(row.status);
    upstream.behave(answer(row));
    Post each = payment;
    each.key = "an-answer-with-" + std::to_string(row.status);
    each.body = R"({"amount":)" + std::to_string(row.status) + "}";
    EXPECT_EQ(post(gateway.port(), each).status, row.status);
    EXPECT_EQ(status_of(gateway, each.key), row.becomes);
  }
}

PAWL_ON_EVERY_STORE(PawlOutcome);

}  // namespace
}  // namespace pawl::e2e
