// Each side answers for its own slowness only.
#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class Slow : public OnSqlite {
 protected:
  // Blocks until the time that a client has for its head, and then for its body, has passed: it has
  // for a client that began now.
  static void outlast_the_client_timeouts(const ServeProcess& gateway) {
    RawClient half_a_head(gateway.port());
    half_a_head.send("GET / HT");
    EXPECT_EQ(half_a_head.read_answer().status, 408);
    RawClient half_a_body(gateway.port());
    half_a_body.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n12");
    EXPECT_TRUE(half_a_body.closed());
  }

  const Settings impatient{.policy = "",
                           .top = "",
                           .rest =
                               "[limits]\nheader_timeout = \"1s\"\nbody_timeout = \"1s\"\n"
                               "idle_timeout = \"1s\"\n"};
};

TEST_F(Slow, AnExecutionMayTakeLongerThanItsClientHadForTheRequest) {
  ServeProcess& gateway = start(impatient);
  const auto gate = std::make_shared<Gate>();
  upstream.behave([&](const ReceivedRequest& request) {
    const Behaviour answer = Behaviour::answer(201, "in the end");
    return request.target == "/payments" ? answer.after(gate) : answer;
  });
  RawClient guarded(gateway.port());
  guarded.send(to_bytes(payment));
  RawClient passed(gateway.port());
  passed.send("GET /payments HTTP/1.1\r\nHost: a\r\n\r\n");
  upstream.wait_for(2);
  outlast_the_client_timeouts(gateway);
  gate->release();
  EXPECT_EQ(guarded.read_answer().body, "in the end");
  EXPECT_EQ(passed.read_answer().body, "in the end");
}

TEST_F(Slow, ATimeoutOfTheUpstreamIsToldHoweverLongItTook) {
  Settings settings = impatient;
  settings.policy = "upstream_timeout = \"2s\"";
  ServeProcess& gateway = start(settings);
  upstream.behave(Behaviour::hang());
  RawClient passed(gateway.port());
  passed.send("GET /payments HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(post(gateway.port(), payment).status, 504);
  EXPECT_EQ(passed.read_answer().status, 504);
}

TEST_F(Slow, AnUploadMayTakeLongerThanTheUpstreamHasForItsAnswer) {
  ServeProcess& gateway = start({.policy = "upstream_timeout = \"300ms\"", .top = "", .rest = ""});
  upstream.behave([&](const ReceivedRequest& request) {
    return request.target == "/hang" ? Behaviour::hang() : Behaviour::answer(200, request.body);
  });
  for (const bool chunked : {false, true}) {
    RawClient client(gateway.port());
    client.send(std::string("PUT /file HTTP/1.1\r\nHost: a\r\n") +
                (chunked ? "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
                         : "Content-Length: 6\r\n\r\nabc"));
    EXPECT_EQ(get(gateway.port(), "/hang").status, 504);  // that long has passed
    client.send(chunked ? "3\r\ndef\r\n" : "d");
    EXPECT_EQ(get(gateway.port(), "/hang").status, 504);
    client.send(chunked ? "0\r\n\r\n" : "ef");
    const HttpAnswer answer = client.read_answer();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "abcdef");
  }
}

}  // namespace
}  // namespace pawl::e2e
