// Each switch, one by one: what the client sees, whether money moved, and what a retry gets.
#include <algorithm>
#include <thread>

#include "tests/provider/provider_fixture.hpp"

namespace pawl::testing {
namespace {

using ::testing::HasSubstr;

struct Switch {
  std::string name;
  int status = 0;  // 0: the provider hangs up
  int charges = 0;
  int retried = 201;
};

class FaultSwitch : public ProviderTest, public ::testing::WithParamInterface<Switch> {};

TEST_P(FaultSwitch, StrikesTheNextPostAndNoOther) {
  start();
  faults(R"({"next":[")" + GetParam().name + "\"]}");
  const auto struck = charge("key-1");
  EXPECT_EQ(struck ? struck->status : 0, GetParam().status);
  EXPECT_EQ(ledger("/charges"), std::to_string(GetParam().charges));
  EXPECT_EQ(at(read("/_faults"), "/struck/" + GetParam().name), "1");
  const auto retried = charge("key-1");
  EXPECT_EQ(retried->status, GetParam().retried);
  EXPECT_EQ(ledger("/charges"), GetParam().retried == 201 ? "1" : "0");
  EXPECT_EQ(charge("key-2")->status, 201);
}

TEST_P(FaultSwitch, IsAProbabilityToo) {
  std::string flag = "--" + GetParam().name;
  std::ranges::replace(flag, '_', '-');
  start({flag, "1"});
  for (int i = 0; i < 3; ++i) {
    const auto struck = charge("key-1");
    EXPECT_EQ(struck ? struck->status : 0, GetParam().status);
  }
  EXPECT_EQ(ledger("/charges"), std::to_string(GetParam().charges));
}

INSTANTIATE_TEST_SUITE_P(All, FaultSwitch,
                         ::testing::Values(Switch{"rate_limit", 429}, Switch{"error_before", 503},
                                           Switch{"drop_before", 0}, Switch{"decline", 402, 0, 402},
                                           Switch{"error_after", 500, 1},
                                           Switch{"drop_after", 0, 1}),
                         [](const auto& one) { return one.param.name; });

class FaultTest : public ProviderTest {
 protected:
  FaultTest() { start(); }
};

TEST_F(FaultTest, ARateLimitSaysWhenToComeBack) {
  faults(R"({"next":["rate_limit"]})");
  EXPECT_EQ(charge("key-1")->value("Retry-After"), "1");
}

TEST_F(FaultTest, ADeclineIsAnAnswerAndIsRemembered) {
  faults(R"({"next":["decline"]})");
  const std::string declined = charge("key-1")->body;
  EXPECT_EQ(at(declined, "/status"), "failed");
  EXPECT_EQ(at(declined, "/failure_code"), "card_declined");
  EXPECT_EQ(charge("key-1")->body, declined);
  EXPECT_EQ(read("/v1/charges?idempotency_key=key-1"), declined);
  EXPECT_EQ(ledger("/declined"), "1");
}

// Ten minutes: nobody here waits for the answer.
TEST_F(FaultTest, ADelayAfterChargingHoldsTheAnswerOnly) {
  faults(R"({"delay_ms":600000,"next":["delay_after"]})");
  RawClient waiting(provider_->port());
  Post request;
  request.key = "key-1";
  request.path = "/v1/charges";
  request.body = R"({"amount":1000,"currency":"EUR"})";
  waiting.send(to_bytes(request));
  EXPECT_TRUE(until([&] { return ledger("/charges") == "1"; }));
  EXPECT_EQ(post(provider_->port(), request).status, 201) << "a retry is told at once";
  EXPECT_EQ(ledger("/charges"), "1");
}

TEST_F(FaultTest, ADelayBeforeChargingHoldsTheCharge) {
  faults(R"({"delay_ms":600000,"next":["delay_before"]})");
  RawClient waiting(provider_->port());
  Post request;
  request.key = "key-1";
  request.path = "/v1/charges";
  request.body = R"({"amount":1000,"currency":"EUR"})";
  waiting.send(to_bytes(request));
  EXPECT_TRUE(until([&] { return at(read("/_faults"), "/struck/delay_before") == "1"; }));
  EXPECT_EQ(ledger("/charges"), "0");
}

TEST_F(FaultTest, ADelayedChargeDoesNotDoubleTheRetryThatOvertookIt) {
  faults(R"({"delay_ms":300,"next":["delay_before"]})");
  std::optional<HttpAnswer> late;
  std::thread slow([&] { late = charge("key-1"); });
  EXPECT_TRUE(until([&] { return at(read("/_faults"), "/struck/delay_before") == "1"; }));
  const auto quick = charge("key-1");
  slow.join();
  EXPECT_EQ(late->body, quick->body);
  EXPECT_EQ(ledger("/charges"), "1");
}

TEST_F(FaultTest, AChargeIsNotFoundForAWhile) {
  faults(R"({"visibility_delay_ms":3600000})");
  const std::string made = charge("key-1")->body;
  const std::string by_id = "/v1/charges/" + at(made, "/id");
  EXPECT_EQ(status("/v1/charges?idempotency_key=key-1"), 404);
  EXPECT_EQ(status(by_id), 404);
  EXPECT_EQ(at(read("/v1/charges"), "/data"), "0 items");
  EXPECT_EQ(ledger("/charges"), "1") << "the witness sees everything";
  EXPECT_EQ(charge("key-1")->body, made) << "keys are honoured all the same";
  faults(R"({"visibility_delay_ms":0})");
  EXPECT_EQ(read("/v1/charges?idempotency_key=key-1"), made);
  EXPECT_EQ(read(by_id), made);
}

TEST_F(FaultTest, AskingMayFailToo) {
  charge("key-1");
  faults(R"({"lookup_error":1})");
  EXPECT_EQ(status("/v1/charges?idempotency_key=key-1"), 503);
  EXPECT_EQ(status("/v1/ledger"), 200);
  faults(R"({"lookup_error":0})");
  EXPECT_EQ(status("/v1/charges?idempotency_key=key-1"), 200);
}

TEST_F(FaultTest, ChanceIsRepeatedByTheSameSeedInAnyOrder) {
  constexpr int keys = 60;
  const std::string chance = R"({"rate_limit":0.2,"error_after":0.2,"drop_before":0.2,"seed":)";
  const auto run = [&](int seed, bool backwards) {
    std::filesystem::remove(folder_.path() / "provider.db");
    start();
    faults(chance + std::to_string(seed) + "}");
    std::vector<int> statuses(keys);
    for (int i = 0; i < keys; ++i) {
      const int which = backwards ? keys - 1 - i : i;
      const auto answer = charge("key-" + std::to_string(which));
      statuses[static_cast<std::size_t>(which)] = answer ? answer->status : 0;
    }
    return statuses;
  };
  const std::vector<int> first = run(7, false);
  EXPECT_EQ(run(7, true), first);
  EXPECT_NE(run(8, false), first);
  for (const int status : {0, 201, 429, 500}) {
    EXPECT_THAT(first, ::testing::Contains(status)) << "chance never struck";
  }
}

TEST_F(FaultTest, BadSwitchesAreExplainedAndChangeNothing) {
  const std::string before = read("/_faults");
  const std::vector<std::pair<std::string, std::string>> bad{
      {R"({"drop_aftr":1})", "drop_after"},
      {R"({"drop_after":1.5})", "0 to 1"},
      {R"({"drop_after":"often"})", "0 to 1"},
      {R"({"drop_after":0.6,"decline":0.6})", "over 1 together"},
      {R"({"delay_ms":-1})", "not negative"},
      {R"({"delay_ms":1.5})", "whole number"},
      {R"({"seed":5,"next":["explode"]})", "crash_inside"},
      {R"({"next":"decline"})", "a list"},
      {"[]", "a JSON object"},
      {"{", "no JSON"},
  };
  for (const auto& [document, words] : bad) {
    const auto answer = send("/_faults", "", document);
    EXPECT_EQ(answer->status, 400) << document;
    EXPECT_THAT(answer->body, HasSubstr(words)) << document;
  }
  EXPECT_EQ(read("/_faults"), before);
  EXPECT_THROW(start({"--decline", "2"}), std::runtime_error);
}

TEST_F(FaultTest, AllAreOffAgainAfterADelete) {
  faults(R"({"decline":1,"next":["drop_before","drop_before"]})");
  RawClient client(provider_->port());
  client.send("DELETE /_faults HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_EQ(charge("key-1")->status, 201);
}

}  // namespace
}  // namespace pawl::testing
