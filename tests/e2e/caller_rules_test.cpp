// from = "header" and "subrequest", and requests that are too old.
#include "tests/e2e/callers_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TrustedHeaders : public CallersTest {};

TEST_F(TrustedHeaders, NameTheCallerFromTrustedNetworks) {
  ServeProcess& gateway =
      start_with("from = \"header\"\nheader = \"X-Tenant\"\ntrusted = [\"127.0.0.0/8\"]\n");
  EXPECT_EQ(post(gateway.port(), payment_with({{"X-Tenant", "a"}})).status, 201);
  EXPECT_EQ(upstream.requests().at(0).header("X-Tenant"), "a") << "the service gets it too";
  EXPECT_EQ(post(gateway.port(), payment_with({{"X-Tenant", "a"}})).value("Idempotent-Replayed"),
            "true");
  EXPECT_FALSE(
      post(gateway.port(), payment_with({{"X-Tenant", "b"}})).header("Idempotent-Replayed"));
  EXPECT_EQ(post(gateway.port(), payment).status, 401);
  EXPECT_EQ(post(gateway.port(), payment_with({{"X-Tenant", "a"}, {"X-Tenant", "b"}})).status, 400);
  EXPECT_EQ(upstream.effects(payment.key), 2U);
}

TEST_F(TrustedHeaders, FromAnywhereElseAreRemovedAndTheRequestIsRefused) {
  ServeProcess& gateway =
      start_with("from = \"header\"\nheader = \"X-Tenant\"\ntrusted = [\"10.0.0.0/8\"]\n");
  expect_refused(post(gateway.port(), payment_with({{"X-Tenant", "a"}})), 401, "unauthenticated",
                 "not trusted");
  EXPECT_EQ(status_of(gateway, payment.key, {{"X-Tenant", "a"}}), "401");
  EXPECT_EQ(upstream.count(), 0U);
  upstream.behave(Behaviour::answer(200));
  EXPECT_EQ(
      get(gateway.port(), "/balance", {{"x-tenant", "a"}, {"X_Tenant", "b"}, {"X-Other", "c"}})
          .status,
      200);
  const ReceivedRequest passed = upstream.requests().at(0);
  EXPECT_FALSE(passed.header("X-Tenant")) << "nobody has checked it";
  EXPECT_THAT(passed.head, Not(HasSubstr("enant")));
  EXPECT_EQ(passed.header("X-Other"), "c");
}

class Subrequests : public CallersTest {
 protected:
  std::string caller(const std::string& more = {}) {
    return "from = \"subrequest\"\nurl = \"" + auth.url() +
           "/who?x=1\"\nscope_header = \"X-Org\"\n" + more;
  }
  UpstreamServer auth;
};

TEST_F(Subrequests, AskOnceForAWhileWithTheListedHeadersAlone) {
  auth.behave(Behaviour::answer(200, "", {{"X-Org", "acme"}}));
  ServeProcess& gateway = start_with(caller("request_headers = [\"X-Session\"]\n"));
  const Post one = payment_with({{"X-Session", "s1"}, {"Authorization", "Bearer secret"}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(post(gateway.port(), one).status, 201);
  ASSERT_EQ(auth.count(), 1U);
  const ReceivedRequest asked = auth.requests().at(0);
  EXPECT_EQ(asked.method, "GET");
  EXPECT_EQ(asked.target, "/who?x=1");
  EXPECT_EQ(asked.header("X-Session"), "s1");
  EXPECT_THAT(asked.head, Not(HasSubstr("secret")));
  EXPECT_THAT(asked.head, Not(HasSubstr(payment.key)));
  auth.behave(Behaviour::answer(200, "", {{"X-Org", "globex"}}));
  EXPECT_FALSE(
      post(gateway.port(), payment_with({{"X-Session", "s2"}})).header("Idempotent-Replayed"));
  EXPECT_EQ(upstream.effects(payment.key), 2U);
  EXPECT_EQ(status_of(gateway, payment.key, {{"X-Session", "s3"}}), "completed");
  EXPECT_EQ(auth.count(), 3U);
}

TEST_F(Subrequests, RefusalsArePassedOnAndEverythingOddServesNobody) {
  ServeProcess& gateway = start_with(caller("cache_for = \"0s\"\n"));
  const Post one = payment_by("ann");
  auth.behave(Behaviour::answer(401, "", {{"WWW-Authenticate", "DPoP algs=\"ES256\""}}));
  const HttpAnswer refused = post(gateway.port(), one);
  expect_refused(refused, 401, "unauthenticated", "401");
  EXPECT_EQ(refused.value("WWW-Authenticate"), "DPoP algs=\"ES256\"");
  auth.behave(Behaviour::answer(403, ""));
  expect_refused(post(gateway.port(), one), 403, "forbidden", "403");
  for (const Behaviour& odd :
       {Behaviour::answer(200, ""), Behaviour::answer(500, "", {{"X-Org", "acme"}}),
        Behaviour::answer(302, "", {{"X-Org", "acme"}, {"Location", "/"}}),
        Behaviour::answer(200, "", {{"X-Org", "acme"}, {"X-Org", "globex"}}), Behaviour::reset(),
        Behaviour::hang_up(), Behaviour::half_answer(Behaviour::End::close),
        Behaviour::raw("nonsense\r\n\r\n", Behaviour::End::close)}) {
    auth.behave(odd);
    const HttpAnswer answer = post(gateway.port(), one);
    expect_refused(answer, 503, "auth-unavailable", odd.bytes);
    EXPECT_EQ(answer.value("Pawl-Should-Retry"), "true");
  }
  const std::size_t asked = auth.count();
  expect_refused(post(gateway.port(), payment), 401, "unauthenticated", "no credentials");
  EXPECT_EQ(auth.count(), asked) << "nobody was asked";
  auth.behave(Behaviour::answer(200, "", {{"X-Org", "acme"}}));
  EXPECT_EQ(post(gateway.port(), one).status, 201);
}

TEST_F(Subrequests, WithoutAnAnswerInTimeOrAnyoneToAskNobodyIsServed) {
  auth.behave(Behaviour::hang());
  ServeProcess& gateway = start_with(caller("timeout = \"100ms\"\n"));
  expect_refused(post(gateway.port(), payment_by("ann")), 503, "auth-unavailable", "silent");
  auth.stop();
  expect_refused(post(gateway.port(), payment_by("ann")), 503, "auth-unavailable", "down");
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_TRUE(gateway.wait_for_text("callers cannot be checked"));
}

class OldRequests : public CallersTest {};

TEST_F(OldRequests, AreNotExecutedButAReplayIsServed) {
  ServeProcess& gateway = start_with(
      "from = \"single\"\n", "max_request_age = \"5m\"\nrequest_time = \"header:X-Sent-At\"\n");
  const auto sent_at = [&](const std::string& time, const std::string& key = {}) {
    return post(gateway.port(), payment_with({{"X-Sent-At", time}}, key));
  };
  EXPECT_THAT(get(gateway.port(), "/_pawl/v1/policy").body,
              HasSubstr(R"("max_request_age_seconds":300,"request_time":"header:X-Sent-At")"));
  const std::string fresh = std::to_string(now());
  const std::string old = std::to_string(now() - 3600);
  for (const std::string& time : {old, std::to_string(now() + 3600), std::string("yesterday"),
                                  std::string("2020-01-01T00:00:00Z")}) {
    expect_refused(sent_at(time), 400, "stale-request", time);
  }
  const HttpAnswer undated = post(gateway.port(), payment);
  expect_refused(undated, 400, "stale-request", "no date");
  EXPECT_EQ(undated.value("Pawl-Should-Retry"), "false");
  EXPECT_FALSE(undated.header("Retry-After"));
  EXPECT_EQ(status_of(gateway, payment.key), "404") << "nothing was reserved";
  const HttpAnswer first = sent_at(fresh);
  EXPECT_EQ(first.status, 201);
  const HttpAnswer replay = sent_at(old);
  EXPECT_EQ(replay.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(replay.body, first.body);
  Post other = payment_with({{"X-Sent-At", old}});
  other.body = R"({"amount":7})";
  EXPECT_EQ(problem_of(post(gateway.port(), other)), "key-reused");
  ServeProcess& from_store =
      start({.policy = "max_request_age = \"5m\"\nrequest_time = \"header:X-Sent-At\"\n",
             .top = "replay_cache = 0",
             .rest = "[caller]\nfrom = \"single\"\n"});
  EXPECT_EQ(post(from_store.port(), payment_with({{"X-Sent-At", old}})).body, first.body);
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

// Its key may have been made, and have expired, while keys lived for ten minutes.
TEST_F(OldRequests, OfATimeWhenLessWasAllowedAreHeldToThat) {
  const auto settings = [](const std::string& lines) {
    return Settings{.policy = lines + "request_time = \"header:X-Sent-At\"\n",
                    .top = "",
                    .rest = "[caller]\nfrom = \"single\"\n"};
  };
  const Settings longer = settings("max_request_age = \"24h\"\n");
  const Post captured = payment_with({{"X-Sent-At", std::to_string(now() - 3600)}});
  ServeProcess& gateway = start(settings("max_request_age = \"5m\"\nretention = \"10m\"\n"));
  expect_refused(post(gateway.port(), captured), 400, "stale-request", "before");
  gateway.rewrite_config(config_of(longer));
  gateway.ask_to_reload();
  ASSERT_TRUE(gateway.wait_for_text("the configuration was reloaded"));
  expect_refused(post(gateway.port(), captured), 400, "stale-request", "after a reload");
  expect_refused(post(start(longer).port(), captured), 400, "stale-request", "after a start");
  const Post fresh = payment_with({{"X-Sent-At", std::to_string(now())}}, "a-fresh-key-0123456789");
  EXPECT_EQ(post(gateway.port(), fresh).status, 201);
}

TEST_F(OldRequests, ByTheTokensOwnTime) {
  const SigningKey key = SigningKey::shared(std::string(32, 's'));
  const std::string file = write("secret", std::string(32, 's'));
  ServeProcess& gateway = start_with("from = \"jwt\"\nsecret_file = \"" + file + "\"\n",
                                     "max_request_age = \"5m\"\nrequest_time = \"jwt:iat\"\n");
  const auto issued = [&](std::int64_t at) {
    return payment_by(key.token("HS256", claims(R"(,"iat":)" + std::to_string(at))));
  };
  expect_refused(post(gateway.port(), issued(now() - 3600)), 400, "stale-request", "old");
  expect_refused(post(gateway.port(), payment_by(key.token("HS256", claims()))), 400,
                 "stale-request", "no iat");
  EXPECT_EQ(post(gateway.port(), issued(now())).status, 201);
  EXPECT_EQ(post(gateway.port(), issued(now() - 3600)).value("Idempotent-Replayed"), "true");
}

}  // namespace
}  // namespace pawl::e2e
