// Upstreams in several places, and behind a Unix socket.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class SeveralUpstreams : public OnSqlite {
 protected:
  ServeProcess& start_before(const std::string& one, const std::string& other) {
    Settings settings;
    settings.upstream = "[\"" + one + "\", \"" + other + "\"]";
    return start(settings);
  }

  static Post numbered(Post request, int number) {
    request.key = "a-key-of-several-" + std::to_string(number);
    return request;
  }

  static std::size_t seen(const UpstreamServer& server, const std::string& key) {
    const std::vector<ReceivedRequest> all = server.requests();
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const ReceivedRequest& each) { return each.header("Idempotency-Key") == key; }));
  }
};

// Whatever becomes of it there, it is not for the other to do again.
TEST_F(SeveralUpstreams, ARequestOfWhichAByteWasSentGoesToNoOther) {
  UpstreamServer other;
  upstream.behave([](const ReceivedRequest&) { return Behaviour::reset(); });
  ServeProcess& gateway = start_before(upstream.url(), other.url());
  std::size_t lost = 0;
  for (int i = 0; i < 20; ++i) {
    const Post request = numbered(payment, i);
    const int status = post(gateway.port(), request).status;
    const std::size_t here = seen(upstream, request.key);
    EXPECT_EQ(here + seen(other, request.key), 1U) << i;
    EXPECT_EQ(status == 201, here == 0) << i;
    if (here == 0) continue;
    ++lost;
    EXPECT_EQ(status_of(gateway, request.key), "unknown");
    EXPECT_EQ(post(gateway.port(), request).status, 409) << "nor by its retry";
    EXPECT_EQ(seen(upstream, request.key) + seen(other, request.key), 1U) << i;
  }
  EXPECT_GT(lost, 0U);
  EXPECT_LT(lost, 20U) << "one that keeps failing is left out";
}

TEST_F(SeveralUpstreams, OneThatCannotBeReachedIsPassedOver) {
  const std::uint16_t nowhere = UpstreamServer().port();
  ServeProcess& gateway =
      start_before("http://127.0.0.1:" + std::to_string(nowhere), upstream.url());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(post(gateway.port(), numbered(payment, i)).status, 201);
    EXPECT_EQ(get(gateway.port(), "/any").status, 201);
  }
}

TEST_F(SeveralUpstreams, BothAreUsed) {
  UpstreamServer other;
  ServeProcess& gateway = start_before(upstream.url(), other.url());
  const auto both = [&] { return !upstream.requests().empty() && !other.requests().empty(); };
  for (int i = 0; i < 100 && !both(); ++i) {
    Post request = numbered(payment, i);
    // Of another sender each time: connections that have carried a body are its sender's.
    request.headers.emplace_back("X-Api-Key", std::to_string(i));
    EXPECT_EQ(post(gateway.port(), request).status, 201);
  }
  EXPECT_TRUE(both());
}

TEST_F(SeveralUpstreams, OneMayBeAUnixSocket) {
  const std::string path = folder() / "api.sock";
  const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  ASSERT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listening, 8), 0);
  std::string head;
  std::thread server([&] {
    testing::Wire wire(::accept(listening, nullptr, nullptr));
    head = wire.read_head().value_or("");
    wire.read_exactly(payment.body.size());
    wire.send("HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\npaid");
  });
  Settings settings;
  settings.upstream = "unix:" + path;
  ServeProcess& gateway = start(settings);
  const HttpAnswer answer = post(gateway.port(), payment);
  server.join();
  ::close(listening);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "paid");
  EXPECT_THAT(head, ::testing::HasSubstr("POST /payments HTTP/1.1\r\n"));
  Post next = numbered(payment, 1);
  EXPECT_EQ(post(gateway.port(), next).status, 502) << "nobody is there any more";
  EXPECT_TRUE(gateway.wait_for_text("cannot connect to " + path));
}

}  // namespace
}  // namespace pawl::e2e
