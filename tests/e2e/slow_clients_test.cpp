// Clients that take their time, or more than their share.
#include <stop_token>
#include <thread>

#include "tests/e2e/wire_fixture.hpp"

namespace pawl::e2e {
namespace {

const std::string short_times =
    "[limits]\nheader_timeout = \"1s\"\nbody_timeout = \"1s\"\nidle_timeout = \"1s\"\n";

const std::string key = "slow-client-0123456789";

std::string head_of(std::size_t length) {
  return "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + key +
         "\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

// Never pauses for as long as any timeout, and never gets anywhere.
void drip(RawClient& client, const std::string& drop, const std::stop_token& stop) {
  while (!stop.stop_requested() && client.send(drop)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

class SlowClients : public OwnGateway {};

TEST_F(SlowClients, AreToldThatTheirHeaderTookTooLong) {  // B19
  start(short_times);
  RawClient client(gateway().port());
  client.send("POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + key + "\r\n");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 408);
  expect_closing(answer, client);
  EXPECT_EQ(state_of(gateway(), key), "404");
}

TEST_F(SlowClients, CannotBuyTimeForAHeaderByteByByte) {
  start(short_times);
  RawClient client(gateway().port());
  client.send("POST /pay HTTP/1.1\r\nHost: a\r\n");
  const std::jthread dripping(
      [&](const std::stop_token& stop) { drip(client, "X-Drip: 1\r\n", stop); });
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 408);
}

TEST_F(SlowClients, AreToldThatTheirBodyTookTooLong) {
  start(short_times);
  RawClient client(gateway().port());
  client.send(head_of(5) + "hel");
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 408);
  expect_closing(answer, client);
  EXPECT_EQ(upstream.count(), 0U);
  EXPECT_EQ(state_of(gateway(), key), "404");
}

TEST_F(SlowClients, CannotHoldAStreamedBodyOpenByteByByte) {
  start(short_times);
  RawClient client(gateway().port());
  client.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
  const std::jthread dripping([&](const std::stop_token& stop) { drip(client, "x", stop); });
  const HttpAnswer answer = client.read_answer();
  EXPECT_EQ(answer.status, 408);
  EXPECT_EQ(upstream.count(), 0U);
}

TEST_F(SlowClients, AreLetGoWithoutAWordIfTheyNeverBegan) {
  start(short_times);
  RawClient client(gateway().port());
  EXPECT_EQ(client.read_to_end(), "");
}

// The time a client has for its request is not the time the upstream has for its answer.
TEST_F(SlowClients, AreNotThoseWhoWaitForASlowUpstream) {
  start(short_times);
  const auto gate = std::make_shared<testing::Gate>();
  upstream.behave(Behaviour::answer(201, "at last").after(gate));
  RawClient guarded(gateway().port());
  guarded.send(head_of(5) + "hello");
  RawClient passed(gateway().port());
  passed.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  RawClient streamed(gateway().port());
  streamed.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
  upstream.wait_for(3);
  // When their time is up, one after the other, so is that of those before them.
  for (int i = 0; i < 2; ++i) {
    RawClient slow(gateway().port());
    slow.send(head_of(5) + "hel");
    EXPECT_EQ(slow.read_answer().status, 408);
  }
  gate->release();
  EXPECT_EQ(guarded.read_answer().body, "at last");
  EXPECT_EQ(passed.read_answer().body, "at last");
  EXPECT_EQ(streamed.read_answer().body, "at last");
}

TEST_F(SlowClients, MayPauseBetweenPiecesForLongerThanTheUpstreamMay) {
  start("[limits]\nbody_timeout = \"30s\"\n[policy]\nupstream_timeout = \"1s\"\nlease = \"5s\"\n");
  RawClient client(gateway().port());
  client.send("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
  upstream.wait_for_connections(1);
  // When the upstream's time for others is up, one after the other, so it would be for ours.
  upstream.behave([](const testing::ReceivedRequest& request) {
    return request.method == "GET" ? Behaviour::hang() : Behaviour::answer(201, request.body);
  });
  EXPECT_EQ(testing::get(gateway().port(), "/hangs").status, 504);
  EXPECT_EQ(testing::get(gateway().port(), "/hangs").status, 504);
  client.send("world");
  EXPECT_EQ(client.read_answer().body, "helloworld");
}

TEST_F(SlowClients, AreCounted) {
  start("connections_per_address = 2\n");
  RawClient first(gateway().port());
  RawClient second(gateway().port());
  for (RawClient* client : {&first, &second}) {
    client->send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client->read_answer().status, 201);
  }
  RawClient third(gateway().port());
  EXPECT_EQ(third.read_answer().status, 503);
  EXPECT_TRUE(third.closed());
  first.hang_up();
  HttpAnswer answer;
  do {  // until the gateway has noticed
    RawClient fourth(gateway().port());
    fourth.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    answer = fourth.read_answer();
  } while (answer.status == 503);
  EXPECT_EQ(answer.status, 201);
}

// An operator's connection that nobody closes, still open when everything it uses is taken down.
TEST_F(SlowClients, OfTheOperatorDoNotOutliveTheNode) {
  for (int round = 0; round < 3; ++round) {
    start();
    RawClient scraper(gateway().admin_port());
    scraper.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(scraper.read_answer().status, 200);
    RawClient stuck(gateway().admin_port());
    stuck.send("GET /metrics HTTP/1.1\r\n");
    RawClient silent(gateway().admin_port());
    EXPECT_EQ(gateway().terminate(), 0) << gateway().err();
  }
}

}  // namespace
}  // namespace pawl::e2e
