// When an answer is whole, and what happens to one that is too large to hold.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;
using End = Behaviour::End;

class WholeAnswers : public OnEveryStore {
 protected:
  static Behaviour ends_by_closing(const std::string& body, const std::string& type) {
    return Behaviour::raw(
        "HTTP/1.1 201 Created\r\nContent-Type: " + type + "\r\nConnection: close\r\n\r\n" + body,
        End::close);
  }
  // What becomes of the key, and that it was executed once whatever that is.
  std::string state_after(const ServeProcess& gateway, const Behaviour& behaviour,
                          const std::string& path = "/payments") {
    Post one = payment;
    one.key = "whole-answer-" + std::to_string(++count_) + "-0123";
    one.path = path;
    upstream.behave(behaviour);
    const HttpAnswer first = post(gateway.port(), one);
    const std::string state = status_of(gateway, one.key);
    EXPECT_EQ(first.status, state == "completed" ? 201 : 502) << first.body;
    EXPECT_EQ(post(gateway.port(), one).status, state == "completed" ? 201 : 409);
    EXPECT_EQ(upstream.effects(one.key), 1U);
    return state;
  }

 private:
  int count_ = 0;
};

TEST_P(WholeAnswers, ThatEndWithTheConnectionAreWholeOnlyIfTheySaySo) {
  ServeProcess& gateway = start();
  const std::string json = "application/json; charset=utf-8";
  EXPECT_EQ(state_after(gateway, ends_by_closing(R"({"id":"pay_1","amount":100})", json)),
            "completed");
  EXPECT_EQ(state_after(gateway, ends_by_closing("[1,2]\n", "application/vnd.api+json")),
            "completed");
  EXPECT_EQ(state_after(gateway, ends_by_closing(R"({"id":"pay_1","amount":1)", json)), "unknown");
  EXPECT_EQ(state_after(gateway, ends_by_closing("", json)), "unknown");
  // A number has no end of its own, and neither has a list of documents or plain text.
  EXPECT_EQ(state_after(gateway, ends_by_closing("100", json)), "unknown");
  EXPECT_EQ(state_after(gateway, ends_by_closing("{\"id\":1}\n", "application/x-ndjson")),
            "unknown");
  EXPECT_EQ(state_after(gateway, ends_by_closing("paid", "text/plain")), "unknown");
}

TEST_P(WholeAnswers, ThatEndWithTheConnectionAreTakenWhereTheRouteSaysSo) {
  ServeProcess& gateway =
      start({.policy = "",
             .top = "",
             .rest = "[[route]]\nmatch = \"POST /old\"\nuntil_close = \"accept\"\n"});
  EXPECT_EQ(state_after(gateway, ends_by_closing("paid", "text/plain"), "/old"), "completed");
  EXPECT_EQ(state_after(gateway, ends_by_closing("paid", "text/plain"), "/new"), "unknown");
  Behaviour reset = ends_by_closing("pai", "text/plain");
  reset.end = End::reset;
  EXPECT_EQ(state_after(gateway, reset, "/old"), "unknown");
}

PAWL_ON_EVERY_STORE(WholeAnswers);

class LargeAnswers : public OnSqlite {
 protected:
  static std::string large() {
    std::string body(std::size_t{70} << 20, 'x');
    for (std::size_t i = 0; i < body.size(); i += 4096) body[i] = static_cast<char>(i >> 12);
    return body;
  }
};

TEST_F(LargeAnswers, AreDeliveredWholeAndTheirBodyIsWithheldFromReplays) {
  ServeProcess& gateway = start();
  const std::string body = large();
  upstream.behave(Behaviour::answer(201, body));
  const HttpAnswer first = post(gateway.port(), payment);
  EXPECT_EQ(first.status, 201);
  EXPECT_TRUE(first.body == body) << first.body.size();
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
  const HttpAnswer again = post(gateway.port(), payment);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  EXPECT_THAT(again.body, HasSubstr("body-withheld"));
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_F(LargeAnswers, ThatAreCutOffAreNotCompleted) {
  ServeProcess& gateway = start();
  const std::string body = large();
  upstream.behave(Behaviour::raw("HTTP/1.1 201 Created\r\nContent-Length: " +
                                     std::to_string(body.size() + 1) + "\r\n\r\n" + body,
                                 End::close));
  EXPECT_EQ(post(gateway.port(), payment).status, 502);
  EXPECT_EQ(status_of(gateway, payment.key), "unknown");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
}

TEST_F(LargeAnswers, ComeInChunksToo) {
  ServeProcess& gateway = start();
  const std::string body = large();
  char size[20];
  std::snprintf(size, sizeof size, "%zx", body.size());
  upstream.behave(Behaviour::raw("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n" +
                                 std::string(size) + "\r\n" + body + "\r\n0\r\n\r\n"));
  const HttpAnswer first = post(gateway.port(), payment);
  EXPECT_TRUE(first.body == body) << first.body.size();
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
}

// Where there is no room for it on the disk its client is told what a replay is told.
TEST_F(LargeAnswers, FreeNoKeyWhereTheyCannotBePutDown) {
  const std::filesystem::path there = folder() / "there";
  const std::filesystem::path elsewhere = folder() / "elsewhere";
  std::filesystem::create_directory(there);
  ::setenv("TMPDIR", there.c_str(), 1);
  ServeProcess& gateway = start();
  ::unsetenv("TMPDIR");
  std::filesystem::rename(there, elsewhere);
  upstream.behave(Behaviour::answer(201, large()));
  const HttpAnswer first = post(gateway.port(), payment);
  EXPECT_EQ(first.status, 201);
  EXPECT_THAT(first.body, HasSubstr("body-withheld"));
  EXPECT_EQ(status_of(gateway, payment.key), "completed");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  std::filesystem::rename(elsewhere, there);  // the gateway's own folder is in it
}

}  // namespace
}  // namespace pawl::e2e
