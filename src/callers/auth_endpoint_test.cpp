#include "src/callers/auth_endpoint.hpp"

#include <gmock/gmock.h>

#include <array>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/callers/world_for_tests.hpp"

namespace pawl::callers {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

config::Caller settings(Duration cache_for = 10s) {
  config::Caller config;
  config.from = config::CallerFrom::subrequest;
  config.url = "http://auth:4000/who";
  config.scope_header = "X-Org";
  config.cache_for = cache_for;
  return config;
}

class AuthEndpointTest : public ::testing::Test {
 protected:
  std::string told_of(http::Fields fields) {
    return told(identified(rule, SentRequest(std::move(fields)), endpoints));
  }
  void answer(int status, Headers headers) {
    endpoints.answer = Response{status, std::move(headers), ""};
  }
  QuietLog log;
  ScriptedEndpoints endpoints;
  AuthEndpoint rule{settings(), std::make_shared<AllowedCallers>(10s), log};
  const http::Fields ann{{"Authorization", "Bearer ann"}};
};

TEST_F(AuthEndpointTest, NamesTheCallerAndIsSentWhatIsListed) {
  answer(204, {{"x-org", " acme "}});
  EXPECT_EQ(told_of({{"Cookie", "s=1"}, {"authorization", "Bearer ann"}, {"X-Other", "no"}}),
            "acme");
  ASSERT_EQ(endpoints.asked.size(), 1U);
  EXPECT_EQ(endpoints.asked.at(0), "http://auth:4000/who");
  ASSERT_EQ(endpoints.sent.size(), 2U);
  EXPECT_EQ(endpoints.sent.at(0).name, "Authorization");
  EXPECT_EQ(endpoints.sent.at(1).value, "s=1");
}

TEST_F(AuthEndpointTest, IsNotAskedAgainForAWhileAboutWhatItAllowed) {
  answer(200, {{"X-Org", "acme"}});
  for (int i = 0; i < 5; ++i) EXPECT_EQ(told_of(ann), "acme");
  EXPECT_EQ(endpoints.asked.size(), 1U);
  answer(200, {{"X-Org", "globex"}});
  EXPECT_EQ(told_of({{"Authorization", "Bearer bob"}}), "globex");
  EXPECT_EQ(told_of({{"Cookie", "Bearer ann"}}), "globex")
      << "another header is another credential";
  EXPECT_EQ(told_of(ann), "acme");
  endpoints.time.advance(10s);
  EXPECT_EQ(told_of(ann), "globex");
  EXPECT_EQ(endpoints.asked.size(), 4U);
}

// Answers when it is told to. Who sleeps lets others run.
class SlowEndpoints final : public Endpoints {
 public:
  Task<Expected<Response, std::string>> get(config::Endpoint, Headers, Duration,
                                            AnswerEnd) override {
    ++asked;
    while (!answer) co_await time.sleep_until({});
    co_return *answer;
  }
  Clock& clock() override { return time; }

  int asked = 0;
  std::optional<Response> answer;

 private:
  class LettingOthersRun final : public Clock {
   public:
    [[nodiscard]] BootTime now() const override { return BootTime{1h}; }
    Task<void> sleep_until(BootTime) override {
      const auto executor = co_await boost::asio::this_coro::executor;
      co_await boost::asio::post(executor, boost::asio::use_awaitable);
    }
  };
  LettingOthersRun time;
};

// A busy client whose caller has just been forgotten must not ask as often as it sends.
TEST_F(AuthEndpointTest, IsAskedOnceAtATimeAboutTheSameCredentials) {
  SlowEndpoints slow;
  boost::asio::io_context context;
  const SentRequest same(ann);
  const SentRequest another(http::Fields{{"Authorization", "Bearer bob"}});
  std::array<std::optional<Identified>, 3> callers;
  const auto begin = [&](std::size_t place, const SentRequest& request) {
    auto task = rule.ask(request.view(), slow);
    boost::asio::co_spawn(context, testing::keep_result(std::move(task), callers[place]),
                          boost::asio::detached);
    for (int i = 0; i < 20; ++i) context.poll_one();
  };
  begin(0, same);
  begin(1, same);
  begin(2, another);
  EXPECT_EQ(slow.asked, 2) << "about each of them once";
  slow.answer = Response{401, {}, ""};
  context.run();
  for (const std::optional<Identified>& caller : callers) EXPECT_EQ(told(caller.value()), "401");
  EXPECT_EQ(slow.asked, 2);
  context.restart();
  begin(0, same);
  context.run();
  EXPECT_EQ(slow.asked, 3) << "what it refused is asked again";
}

// Only its head counts, and that was read.
TEST_F(AuthEndpointTest, MayEndItsAnswerWithTheConnection) {
  answer(200, {{"X-Org", "acme"}});
  EXPECT_EQ(told_of(ann), "acme");
  EXPECT_EQ(endpoints.may_end, AnswerEnd::by_closing);
}

TEST_F(AuthEndpointTest, WhatItRefusedIsAskedAgain) {
  answer(401, {});
  EXPECT_EQ(told_of(ann), "401");
  answer(200, {{"X-Org", "acme"}});
  EXPECT_EQ(told_of(ann), "acme");
}

TEST_F(AuthEndpointTest, ItsRefusalsArePassedOn) {
  answer(401, {{"WWW-Authenticate", "DPoP algs=\"ES256\""}});
  const Identified refused = identified(rule, SentRequest(ann), endpoints);
  EXPECT_EQ(told(refused), "401");
  EXPECT_EQ(refused.error().challenge, "DPoP algs=\"ES256\"");
  answer(403, {});
  EXPECT_EQ(told_of(ann), "403");
  EXPECT_TRUE(log.lines.empty());
}

TEST_F(AuthEndpointTest, AnythingElseServesNobody) {
  struct Row {
    int status;
    Headers headers;
  };
  const std::string long_name(name_bytes_max + 1, 'a');
  for (const Row& row :
       {Row{200, {}}, Row{200, {{"X-Org", ""}}}, Row{200, {{"X-Org", "a"}, {"X-Org", "b"}}},
        Row{200, {{"X-Org", long_name}}}, Row{302, {{"X-Org", "acme"}}},
        Row{404, {{"X-Org", "acme"}}}, Row{429, {{"X-Org", "acme"}}},
        Row{500, {{"X-Org", "acme"}}}}) {
    answer(row.status, row.headers);
    EXPECT_THAT(told_of(ann), StartsWith("503")) << row.status;
  }
  endpoints.answer.reset();
  EXPECT_THAT(told_of(ann), StartsWith("503"));
  ASSERT_EQ(log.lines.size(), 1U) << "said once";
  EXPECT_THAT(log.lines.at(0), HasSubstr("callers cannot be checked: answered 200 without one"));
  answer(200, {{"X-Org", "acme"}});
  EXPECT_EQ(told_of(ann), "acme");
  EXPECT_THAT(log.lines.back(), HasSubstr("can be checked again"));
}

TEST_F(AuthEndpointTest, IsNotAskedAboutNothingOrAboutWhatIsAmbiguous) {
  EXPECT_EQ(told_of({{"X-Other", "x"}}), "401");
  EXPECT_THAT(told_of({{"Cookie", "a"}, {"Cookie", "b"}}), StartsWith("400"));
  EXPECT_TRUE(endpoints.asked.empty());
}

TEST(AllowedCallers, AreBoundedAndForgotten) {
  AllowedCallers allowed(10s);
  const auto nth = [](int n) { return sha256(std::to_string(n)); };
  for (int n = 0; n < 20'000; ++n) allowed.keep(nth(n), "acme", BootTime{1s});
  EXPECT_FALSE(allowed.find(nth(0), BootTime{2s})) << "the oldest made room";
  EXPECT_TRUE(allowed.find(nth(19'999), BootTime{2s}));
  EXPECT_FALSE(allowed.find(nth(19'999), BootTime{11s}));
  AllowedCallers none(0s);
  none.keep(nth(1), "acme", BootTime{1s});
  EXPECT_FALSE(none.find(nth(1), BootTime{1s}));
}

}  // namespace
}  // namespace pawl::callers
