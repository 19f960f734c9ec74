// Floods that want the gateway's memory: bodies that never end, answers that nobody reads.
//
// Each holds several times the budget unless it is stopped; beside each an honest client pays.
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <fstream>

#include "src/core/sha256.hpp"
#include "tests/e2e/gateway_fixture.hpp"
#include "tests/e2e/wire_fixture.hpp"

namespace pawl::e2e {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t budget = 32 * mib;
// Beside the budget: sessions, buffers, the store, and what the allocator has not given back yet.
constexpr std::size_t process_itself = 64 * mib;
constexpr int flood_size = 300;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool own_allocator = false;  // a sanitizer's keeps what was freed, and never fails
#else
constexpr bool own_allocator = true;
#endif
const std::string top = "memory_budget = \"32MiB\"\nreplay_cache = \"8MiB\"\n";
const std::string large(900 << 10, 'x');
const WireHeaders json = {{"Content-Type", "application/json"}};

// A client of the flood: its receive buffer is small, so that what it does not read stays there.
Wire stingy_client(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int bytes = 4096;
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  if (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw testing::WireError("connect");
  }
  return Wire(descriptor);
}

// All but the last byte of a body of 1 MiB.
std::string unfinished(const std::string& key) {
  return "POST /payments HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + key +
         "\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(mib) + "\r\n\r\n" +
         std::string(mib - 1, 'b');
}

std::string numbered(int number) { return "flood-key-0123456789-" + std::to_string(number); }

class Memory : public OwnGateway {
 protected:
  ServeProcess& begin(const std::string& config) {
    ServeProcess& process = start(config);
    EXPECT_EQ(post(process.port(), {.key = "warm-up-0123456789", .headers = honest}).status, 201);
    before_ = status_bytes("VmRSS");
    return process;
  }

  // "VmRSS", "VmHWM", "VmSize" of the gateway.
  std::size_t status_bytes(const std::string& name) {
    std::ifstream in("/proc/" + std::to_string(gateway().pid()) + "/status");
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1)) << 10;
    }
    return 0;
  }
  // The most that was ever resident, beyond what it was before the flood.
  std::size_t growth() {
    const std::size_t most = status_bytes("VmHWM");
    return most > before_ ? most - before_ : 0;
  }

  // One connection each, all held open.
  void flood(const std::function<std::string(int)>& bytes, int size = flood_size) {
    for (int i = 0; i < size; ++i) {
      flood_.push_back(stingy_client(gateway().port()));
      flood_.back().send(bytes(i));
    }
  }
  void end_flood() { flood_.clear(); }

  double count(const std::string& series) { return metric(gateway(), series); }
  double used() { return count("pawl_memory_used_bytes"); }
  double overloaded() { return count("pawl_refused_total{problem=\"overloaded\"}"); }

  // Served, or told in order to come back; and served when the flood is over. Executed once.
  void expect_honest_payment(const std::string& key) {
    const Post payment{.key = key, .headers = honest};
    const HttpAnswer now = post(gateway().port(), payment);
    if (now.status != 201) {
      EXPECT_EQ(now.status, 503);
      EXPECT_EQ(problem_of(now), "overloaded");
      EXPECT_EQ(now.value("Retry-After"), "1");
      EXPECT_EQ(now.value("Pawl-Should-Retry"), "true");
      EXPECT_EQ(upstream.effects(key), 0U);
    }
    end_flood();
    EXPECT_TRUE(until([&] { return used() == 0; })) << used();
    EXPECT_EQ(post(gateway().port(), payment).status, 201);
    EXPECT_EQ(upstream.effects(key), 1U);
  }

  void expect_within(std::size_t bytes) {
    RecordProperty("growth_mib", std::to_string(growth() / mib));
    if (!own_allocator) return;
    EXPECT_LE(growth() / mib, (bytes + process_itself) / mib) << "MiB";
  }

  WireHeaders honest = json;

 private:
  std::size_t before_ = 0;
  std::vector<Wire> flood_;
};

TEST_F(Memory, BodiesOfUnauthenticatedClientsAreNotKept) {
  honest.emplace_back("Authorization", "Bearer honest-secret");
  begin(top + "[caller]\nfrom = \"api-key\"\n[[caller.api_key]]\nscope = \"a\"\nsha256 = \"" +
        hex(sha256("honest-secret")) + "\"\n");
  RawClient told(gateway().port());
  told.send(unfinished(numbered(0)).substr(0, 1000));
  EXPECT_EQ(told.read_answer().status, 401) << "by its head alone";
  flood([](int i) { return unfinished(numbered(i)); });
  EXPECT_EQ(post(gateway().port(), {.key = "honest-0123456789", .headers = honest}).status, 201)
      << "the flood takes nothing of the budget";
  EXPECT_EQ(used(), 0);
  expect_within(0);
  expect_honest_payment("honest-0123456789");
}

TEST_F(Memory, BodiesThatNeverEndAreHeldWithinTheBudget) {
  begin(top);
  flood([](int i) { return unfinished(numbered(i)); });
  EXPECT_TRUE(until([&] { return overloaded() > flood_size / 2; })) << overloaded();
  EXPECT_LE(used(), budget);
  expect_within(budget);
  expect_honest_payment("honest-0123456789");
  EXPECT_EQ(upstream.count(), 2U) << "nothing of the flood was sent on";
}

TEST_F(Memory, LargeHeadsThatNeverEndAreHeldWithinTheBudget) {
  begin(top + "[limits]\nheader_bytes = \"1MiB\"\n");
  flood([](int) {
    std::string head = "GET /payments HTTP/1.1\r\nHost: a\r\n";
    while (head.size() < mib - 20'000) head += "X-Flood: " + std::string(8000, 'h') + "\r\n";
    return head;
  });
  EXPECT_TRUE(until([&] { return overloaded() > flood_size / 2; })) << overloaded();
  EXPECT_LE(used(), budget);
  expect_within(budget);
  expect_honest_payment("honest-0123456789");
}

TEST_F(Memory, BodiesOfObservedRoutesAreHeldWithinTheBudget) {
  begin(top + "[[route]]\nmatch = \"POST /payments\"\nmode = \"observe\"\n");
  flood([](int i) { return unfinished(numbered(i)); });
  upstream.wait_for_connections(flood_size);
  EXPECT_TRUE(until([&] { return used() > budget / 2; })) << used();
  EXPECT_LE(used(), budget);
  expect_within(budget);
  end_flood();
  EXPECT_TRUE(until([&] { return used() == 0; })) << used();
}

TEST_F(Memory, AReplayThatNobodyReadsIsHeldOnceForAll) {
  begin("memory_budget = \"32MiB\"\n[policy]\nresponse_limit = \"4MiB\"\n");
  constexpr int size = 100;
  const std::string larger(3 * mib, 'y');  // more than the kernel takes off our hands
  upstream.behave(Behaviour::answer(201, larger));
  const Post payment{.key = "replayed-0123456789", .headers = json};
  EXPECT_EQ(post(gateway().port(), payment).body, larger);
  flood([&](int) { return to_bytes(payment); }, size);
  EXPECT_TRUE(until([&] { return count("pawl_replays_total{from=\"memory\"}") >= size; }));
  EXPECT_LE(used(), 2.0 * static_cast<double>(larger.size()));
  expect_within(4 * larger.size());
  EXPECT_EQ(post(gateway().port(), payment).body, larger) << "a replay is served meanwhile";
  expect_honest_payment("honest-0123456789");
}

TEST_F(Memory, ReplaysFromTheStoreThatNobodyReadsAreHeldWithinTheBudget) {
  begin("memory_budget = \"32MiB\"\nreplay_cache = 0\n");
  upstream.behave(Behaviour::answer(201, large));
  constexpr int keys = 20;
  for (int i = 0; i < keys; ++i) {
    EXPECT_EQ(post(gateway().port(), {.key = numbered(i), .headers = json}).status, 201);
  }
  flood([&](int i) { return to_bytes(Post{.key = numbered(i % keys), .headers = json}); });
  EXPECT_TRUE(until(
      [&] { return count("pawl_replays_total{from=\"store\"}") + overloaded() >= flood_size; }));
  EXPECT_LE(used(), budget);
  expect_within(budget);
  expect_honest_payment("honest-0123456789");
  EXPECT_EQ(post(gateway().port(), {.key = numbered(1), .headers = json}).body, large);
}

TEST_F(Memory, DocumentsOfKeysThatNobodyReadsAreHeldWithinTheBudget) {
  begin(top);
  upstream.behave(Behaviour::answer(201, large));
  EXPECT_EQ(post(gateway().port(), {.key = numbered(0), .headers = json}).status, 201);
  flood([&](int) { return "GET /_pawl/v1/keys/" + numbered(0) + " HTTP/1.1\r\nHost: a\r\n\r\n"; });
  // How much the kernel takes off our hands is its own affair: where it is all, nothing is held.
  EXPECT_TRUE(until([&] {
    return overloaded() > 0 ||
           count(R"(pawl_requests_total{route="pawl",status="2xx"})") >= flood_size;
  }));
  EXPECT_LE(used(), budget);
  expect_within(budget);
  expect_honest_payment("honest-0123456789");
}

// They were executed, so each of them is recorded and given to whoever reads it at last.
TEST_F(Memory, AnswersThatNobodyReadsAreHeldWithinTheBudgetAndAllRecorded) {
  constexpr int size = 200;
  begin(top);
  const auto gate = std::make_shared<testing::Gate>();
  upstream.behave(Behaviour::answer(201, large).after(gate));
  for (int i = 0; i < size; ++i) {  // one after the other, so that each gets as far as that
    flood([&](int) { return to_bytes(Post{.key = numbered(i), .headers = json}); }, 1);
    upstream.wait_for(static_cast<std::size_t>(i) + 2);
  }
  gate->release();
  EXPECT_TRUE(until([&] { return count("pawl_settled_total{how=\"complete\"}") > size; }));
  EXPECT_LE(used(), budget);
  expect_within(budget);
  expect_honest_payment("honest-0123456789");
  for (int i = 0; i < size; ++i) {
    EXPECT_EQ(state_of(gateway(), numbered(i)), "completed");
    EXPECT_EQ(upstream.effects(numbered(i)), 1U);
  }
  const HttpAnswer replay = post(gateway().port(), {.key = numbered(1), .headers = json});
  EXPECT_EQ(replay.status, 201);
  EXPECT_EQ(replay.value("Idempotent-Replayed"), "true");
}

TEST_F(Memory, AnswersTooLargeToStoreAreNotHeld) {
  begin(top);
  const std::string huge(20 * mib, 'h');
  upstream.behave(Behaviour::answer(201, huge));
  std::vector<Wire> unread;
  for (int i = 0; i < 12; ++i) {
    unread.push_back(stingy_client(gateway().port()));
    unread.back().send(to_bytes(Post{.key = numbered(i), .headers = json}));
  }
  EXPECT_TRUE(until([&] { return count("pawl_settled_total{how=\"complete\"}") > 12; }));
  expect_within(12 * mib);
  unread.clear();
  EXPECT_TRUE(until([&] { return used() == 0; })) << used();
  EXPECT_EQ(post(gateway().port(), {.key = "honest-0123456789", .headers = json}).body, huge);
}

// There is no memory at all: a request ends, nothing else does.
TEST_F(Memory, AnAllocationThatFailsEndsItsConnectionAloneAndTheProcessStillEnds) {
  if (!own_allocator) GTEST_SKIP();
  begin("memory_budget = \"4GiB\"\n[policy]\nbody_limit = \"1GiB\"\n");
  const rlim_t room = status_bytes("VmSize") + 128 * mib;
  const rlimit limit{room, room};
  ASSERT_EQ(::prlimit(gateway().pid(), RLIMIT_AS, &limit, nullptr), 0);
  for (int i = 0; i < 50; ++i) {
    RawClient client(gateway().port());
    client.send("POST /payments HTTP/1.1\r\nHost: a\r\nIdempotency-Key: " + numbered(i) +
                "\r\nContent-Length: " + std::to_string(1000 * mib) + "\r\n\r\n");
    EXPECT_TRUE(client.closed());
  }
  EXPECT_TRUE(until([&] { return count("pawl_connections") == 0; })) << count("pawl_connections");
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(post(gateway().port(), {.key = "honest-0123456789", .headers = json}).status, 201);
  EXPECT_EQ(gateway().terminate(), 0) << gateway().err();
  EXPECT_NE(gateway().err().find("bad_alloc"), std::string::npos);
}

}  // namespace
}  // namespace pawl::e2e
