#include "src/adapters/http/body.hpp"

#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include "src/adapters/os/system_clock.hpp"
#include "testing/run.hpp"

namespace pawl::http {
namespace {

namespace net = boost::asio;
using net::ip::tcp;

// Two ends of one connection: what is written into `far` arrives in `near`.
class BodyReaderTest : public ::testing::Test {
 protected:
  BodyReaderTest() {
    tcp::acceptor acceptor(context_, tcp::endpoint(net::ip::address_v4::loopback(), 0));
    far_.connect(acceptor.local_endpoint());
    near_.emplace(acceptor.accept(), deadlines_);
  }

  Stream& near() { return *near_; }
  void send(std::string_view bytes) { net::write(far_, net::buffer(bytes)); }
  void hang_up() { far_.close(); }

  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    auto done = net::co_spawn(context_, pawl::testing::keep_result(std::move(task), result),
                              net::use_future);
    context_.restart();
    context_.run();
    done.get();
    return std::move(*result);
  }

 private:
  net::io_context context_;
  os::SystemClock clock_;
  Deadlines deadlines_{clock_};
  tcp::socket far_{context_};
  std::optional<Stream> near_;
};

// Whoever asks whether a connection may serve another request asks this.
TEST_F(BodyReaderTest, IsNotDoneWhileItsLastPieceIsStillInTheStream) {
  send("hello");
  BodyReader reader(near(), Framing::length, 5);
  const auto piece = run(reader.next());
  ASSERT_TRUE(piece);
  EXPECT_EQ(*piece, "hello");
  EXPECT_FALSE(reader.done());
  const auto end = run(reader.next());
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, "");
  EXPECT_TRUE(reader.done());
  EXPECT_EQ(near().arrived(), "");
}

TEST_F(BodyReaderTest, LeavesTheNextMessageInTheStream) {
  for (const auto& [framing, bytes] :
       {std::pair(Framing::length, "helloGET /"),
        std::pair(Framing::chunked, "5\r\nhello\r\n0\r\n\r\nGET /")}) {
    send(bytes);
    BodyReader reader(near(), framing, 5);
    const auto body = run(reader.read_whole(100));
    ASSERT_TRUE(body);
    EXPECT_EQ(*body, "hello");
    EXPECT_TRUE(reader.done());
    EXPECT_EQ(near().arrived(), "GET /");
    near().consume(near().arrived().size());
  }
}

TEST_F(BodyReaderTest, HoldsToTheLimit) {
  send("5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n");
  BodyReader reader(near(), Framing::chunked, 0);
  const auto body = run(reader.read_whole(5));
  ASSERT_FALSE(body);
  ASSERT_TRUE(body.error().refusal);
  EXPECT_EQ(body.error().refusal->problem, Problem::body_too_large);
  EXPECT_FALSE(reader.done());
}

TEST_F(BodyReaderTest, TellsACutFromAnEnd) {
  send("hel");
  hang_up();
  BodyReader cut(near(), Framing::length, 5);
  const auto body = run(cut.read_whole(100));
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().io, Io::closed);
  EXPECT_FALSE(refusal_of(body.error()));
}

TEST_F(BodyReaderTest, EndsWithTheConnectionWhereThatIsTheEnd) {
  send("hello");
  hang_up();
  BodyReader reader(near(), Framing::until_close, 0);
  const auto body = run(reader.read_whole(100));
  ASSERT_TRUE(body);
  EXPECT_EQ(*body, "hello");
}

TEST_F(BodyReaderTest, ChargesWhatHasArrivedAndRefusesWhatThereIsNoRoomFor) {
  MemoryBudget budget(1000);
  const std::string chunked = "5\r\nhello\r\n0\r\n\r\n";
  for (const auto& [framing, bytes] :
       {std::pair(Framing::length, std::string("hello")), std::pair(Framing::chunked, chunked)}) {
    Charge memory(&budget);
    send(bytes);
    BodyReader reader(near(), framing, 5);
    EXPECT_EQ(run(reader.read_whole(100, &memory)).value(), "hello");
    EXPECT_EQ(budget.used(), framing == Framing::length ? 5U : 100U);
  }
  Charge others(&budget);
  ASSERT_TRUE(others.resize(746, MemoryUse::admitted));
  for (const auto& [framing, bytes] :
       {std::pair(Framing::length, std::string("hello")), std::pair(Framing::chunked, chunked)}) {
    Charge memory(&budget);
    send(bytes);
    BodyReader reader(near(), framing, 5);
    const auto body = run(reader.read_whole(100, &memory));
    ASSERT_FALSE(body);
    EXPECT_EQ(body.error().refusal->problem, Problem::overloaded);
    near().consume(near().arrived().size());
  }
  EXPECT_EQ(budget.used(), 746U);
}

}  // namespace
}  // namespace pawl::http
