// examples/queue-consumer on a real queue: killed wherever it hurts, it has every payout sent once,
// or held as unknown after it was sent at most once.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/e2e/key_api_fixture.hpp"
#include "tests/e2e/node_example.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/process.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

const std::string example = PAWL_SOURCE_DIR "/examples/queue-consumer";

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

int free_port() {
  const testing::Listening listening = testing::listen_on_loopback(0, 1);
  ::close(listening.descriptor);
  return listening.port;
}

// Redis and what npm has installed, for all the tests of this program.
struct Surroundings {
  Surroundings()
      : port(std::to_string(free_port())),
        redis({PAWL_REDIS_SERVER, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir",
               folder.path()},
              folder.path() / "redis.log") {
    installed = install_node_example(folder.path(), "queue-consumer", "consumer.js");
    if (!until([&] { return cli({"PING"}) == "PONG\n"; })) throw std::runtime_error(redis.said());
  }
  std::string cli(const std::vector<std::string>& words) const {
    std::vector<std::string> command{PAWL_REDIS_CLI, "-p", port};
    command.insert(command.end(), words.begin(), words.end());
    return testing::run_program(command).out;
  }

  testing::TemporaryFolder folder;
  std::filesystem::path installed;
  std::string port;
  testing::ChildProcess redis;
};

class QueueConsumer : public OnEveryStore {
 protected:
  static void SetUpTestSuite() { around = new Surroundings; }
  static void TearDownTestSuite() {
    delete around;
    around = nullptr;
  }

  QueueConsumer()
      : gateway(start({.policy = "",
                       .top = "sweep_interval = \"50ms\"\n",
                       .rest = key_api("lease = \"1s\"\n")})) {
    around->cli({"FLUSHALL"});
  }
  ~QueueConsumer() override {
    for (testing::ChildProcess& consumer : consumers) consumer.kill_hard();
  }

  testing::ChildProcess& consume() { return consume(gateway.url()); }
  testing::ChildProcess& consume(const std::string& pawl_url) {
    return consumers.emplace_back(
        std::vector<std::string>{PAWL_NODE, around->installed / "consumer.js"},
        folder() / "consumers.log",
        std::vector<std::string>{"PAWL_URL=" + pawl_url, "BANK_URL=" + upstream.url() + "/payouts",
                                 "REDIS_URL=redis://127.0.0.1:" + around->port,
                                 "REDELIVER_AFTER_MS=50", "ASK_FOR_MS=2000"});
  }
  static void enqueue(const std::string& id) {
    around->cli({"XADD", "payouts", "*", "id", id, "account", "DE00", "amount", "100"});
  }
  // Delivered, and not acknowledged.
  static std::size_t unacknowledged() {
    const std::string text = around->cli({"XPENDING", "payouts", "senders"});
    return text.empty() || text[0] < '0' || text[0] > '9' ? 0 : std::stoul(text);
  }
  std::string payout_status(const std::string& id) {
    return member_of(look(gateway, "payout:" + id).body, "status");
  }
  std::size_t sent(const std::string& id) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(upstream.requests(), [&](const ReceivedRequest& request) {
          return request.body.find("\"id\":\"" + id + "\"") != std::string::npos;
        }));
  }
  bool is_done(const std::string& id) { return payout_status(id) == "completed"; }
  bool is_held(const std::string& id) { return payout_status(id) == "unknown"; }
  std::string log() const { return text_of(folder() / "consumers.log"); }

  // A consumer with this payout in its hands, at the bank's counter.
  testing::ChildProcess& at_the_bank(const std::string& id, std::shared_ptr<Gate> gate) {
    upstream.behave(Behaviour::answer(201, R"({"paid":true})").after(std::move(gate)));
    testing::ChildProcess& consumer = consume();
    enqueue(id);
    upstream.wait_for(1);
    return consumer;
  }

  static Surroundings* around;
  const std::string one = "2024-06-01-0001";
  ServeProcess& gateway;
  std::list<testing::ChildProcess> consumers;
};

Surroundings* QueueConsumer::around = nullptr;

TEST_P(QueueConsumer, SendsEveryPayoutOnceAndAcknowledgesIt) {
  consume();
  consume();
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) ids.push_back("2024-06-01-000" + std::to_string(i));
  for (const std::string& id : ids) enqueue(id);
  enqueue(ids.front());  // the producer has put it in twice
  for (const std::string& id : ids) EXPECT_TRUE(until([&] { return is_done(id); })) << log();
  EXPECT_TRUE(until([] { return unacknowledged() == 0; }));
  for (const std::string& id : ids) EXPECT_EQ(sent(id), 1U) << id;
}

TEST_P(QueueConsumer, RedeliveredWhileItRunsItIsNotSentAgain) {
  const auto gate = std::make_shared<Gate>();
  at_the_bank(one, gate);
  consume();
  EXPECT_TRUE(until([&] { return log().find("in-flight") != std::string::npos; })) << log();
  gate->release();
  EXPECT_TRUE(until([] { return unacknowledged() == 0; })) << log();
  EXPECT_EQ(sent(one), 1U);
  EXPECT_TRUE(is_done(one));
}

TEST_P(QueueConsumer, KilledWhileItReservesItIsSentOnceOrHeld) {
  gateway.stop();
  testing::ChildProcess& consumer = consume();
  enqueue(one);
  ASSERT_TRUE(until([] { return unacknowledged() == 1; })) << log();
  consumer.kill_hard();
  gateway.resume();  // it may find the call in its buffers, of a caller that is dead
  consume();
  ASSERT_TRUE(until([&] { return is_held(one) || (is_done(one) && unacknowledged() == 0); }));
  EXPECT_EQ(sent(one), is_done(one) ? 1U : 0U);
}

TEST_P(QueueConsumer, KilledAtTheBankItIsHeldAndNeverSentAgain) {
  const auto gate = std::make_shared<Gate>();
  at_the_bank(one, gate).kill_hard();
  gate->release();
  consume();
  ASSERT_TRUE(until([&] { return log().find("outcome-unknown") != std::string::npos; })) << log();
  EXPECT_TRUE(is_held(one));
  EXPECT_EQ(unacknowledged(), 1U) << "it stays on the queue for whoever finds out";
  EXPECT_EQ(sent(one), 1U);
}

TEST_P(QueueConsumer, KilledBeforeItCompletesItIsNotSentAgain) {
  const auto gate = std::make_shared<Gate>();
  testing::ChildProcess& consumer = at_the_bank(one, gate);
  gateway.stop();
  gate->release();
  enqueue("2024-06-01-0002");
  consumer.kill_hard();
  gateway.resume();
  consume();
  ASSERT_TRUE(until([&] { return is_held(one) || (is_done(one) && unacknowledged() == 0); }));
  ASSERT_TRUE(until([&] { return is_done("2024-06-01-0002"); })) << "others are not held up";
  EXPECT_EQ(sent(one), 1U);
}

TEST_P(QueueConsumer, KilledBeforeItAcknowledgesItIsReplayedAndAcknowledged) {
  const auto gate = std::make_shared<Gate>();
  testing::ChildProcess& consumer = at_the_bank(one, gate);
  around->cli({"CLIENT", "PAUSE", "600000", "WRITE"});
  gate->release();
  ASSERT_TRUE(until([&] { return is_done(one); })) << log();
  consumer.kill_hard();
  ASSERT_TRUE(until([] {  // Redis has noticed: nothing of it is left to be carried out
    const std::string clients = around->cli({"CLIENT", "LIST"});
    return std::ranges::count(clients, '\n') == 1;
  }));
  around->cli({"CLIENT", "UNPAUSE"});
  EXPECT_EQ(unacknowledged(), 1U);
  consume();
  EXPECT_TRUE(until([] { return unacknowledged() == 0; })) << log();
  EXPECT_THAT(log(), HasSubstr("replay"));
  EXPECT_EQ(sent(one), 1U);
}

TEST_P(QueueConsumer, WhereNobodyListensAtTheBankItIsReleasedAndSentLater) {
  const std::uint16_t port = upstream.port();
  upstream.stop();
  consume();
  enqueue(one);
  ASSERT_TRUE(until([&] { return log().find("ECONNREFUSED") != std::string::npos; })) << log();
  UpstreamServer bank({}, port);
  EXPECT_TRUE(until([] { return unacknowledged() == 0; })) << log();
  EXPECT_TRUE(is_done(one));
  EXPECT_EQ(bank.count(), 1U);
}

// The bank has had it in its hands, whatever becomes of the place it refers to.
TEST_P(QueueConsumer, ReferredToAnotherPlaceItIsHeldAndNeverSentAgain) {
  const std::string nowhere = "http://127.0.0.1:" + std::to_string(free_port()) + "/payouts";
  upstream.behave(Behaviour::answer(307, "", {{"Location", nowhere}}));
  consume();
  enqueue(one);
  ASSERT_TRUE(until([&] { return log().find("outcome-unknown") != std::string::npos; })) << log();
  EXPECT_TRUE(is_held(one));
  EXPECT_EQ(sent(one), 1U);
}

TEST_P(QueueConsumer, WhatTheBankRefusesToTakeIsReleasedAndSentLater) {
  const WireHeaders later{{"Retry-After", "1"}};
  for (const Behaviour& refusal :
       {Behaviour::answer(429, "slow down"), Behaviour::answer(503, "closed", later)}) {
    const std::string id = "2024-06-01-010" + std::to_string(upstream.count());
    const std::size_t before = upstream.count();
    upstream.behave(refusal);
    testing::ChildProcess& consumer = consume();
    enqueue(id);
    upstream.wait_for(before + 2);
    upstream.behave(Behaviour::answer(201, "paid"));
    EXPECT_TRUE(until([] { return unacknowledged() == 0; })) << log();
    EXPECT_TRUE(is_done(id));
    EXPECT_THAT(look(gateway, "payout:" + id).body, HasSubstr("\"body\":\"paid\""));
    consumer.kill_hard();
  }
}

TEST_P(QueueConsumer, AnErrorOfTheBankIsNoAnswerAndNobodyKnowsWhatItMeans) {
  for (const int status : {500, 502, 503}) {
    const std::string id = "2024-06-01-0" + std::to_string(status);
    upstream.behave(Behaviour::answer(status, "oops"));
    testing::ChildProcess& consumer = consume();
    enqueue(id);
    EXPECT_TRUE(until([&] { return is_held(id); })) << log();
    EXPECT_EQ(sent(id), 1U);
    consumer.kill_hard();
  }
}

// In place of Pawl: one that cannot serve the first payout's key, and has done the second.
TEST_P(QueueConsumer, AKeyThatIsNeverAnsweredDoesNotHoldUpTheOthers) {
  UpstreamServer pawl([&](const ReceivedRequest& request) {
    if (request.target.find(one) != std::string::npos) return Behaviour::answer(503, "{}");
    return Behaviour::answer(200,
                             R"({"decision":"replay","response":{"status":201,"body":"paid"}})");
  });
  consume(pawl.url());
  enqueue(one);
  enqueue("2024-06-01-0002");
  EXPECT_TRUE(until([&] { return log().find("0002: replay") != std::string::npos; })) << log();
  EXPECT_TRUE(until([] { return unacknowledged() == 1; }));
  EXPECT_EQ(upstream.count(), 0U);
}

// Whoever brings a payout to the bank is killed now and then.
TEST_P(QueueConsumer, KilledAgainAndAgainNothingIsSentTwice) {
  std::vector<std::string> ids;
  for (int i = 10; i < 34; ++i) ids.push_back("2024-06-01-00" + std::to_string(i));
  for (const std::string& id : ids) enqueue(id);
  const auto settled = [&](const std::string& id) { return is_done(id) || is_held(id); };
  for (std::size_t seen = 2; seen < ids.size(); seen += 3) {
    testing::ChildProcess& first = consume();
    testing::ChildProcess& second = consume();
    ASSERT_TRUE(until([&] {
      return upstream.count() >= seen || std::ranges::all_of(ids, settled);
    })) << log();
    (seen % 2 == 0 ? first : second).kill_hard();
    ASSERT_TRUE(until([&] { return upstream.count() > seen || std::ranges::all_of(ids, settled); }))
        << log();
    (seen % 2 == 0 ? second : first).kill_hard();
  }
  consume();
  ASSERT_TRUE(until([&] { return std::ranges::all_of(ids, settled); })) << log();
  const auto held = static_cast<std::size_t>(
      std::ranges::count_if(ids, [&](const std::string& id) { return is_held(id); }));
  EXPECT_TRUE(until([&] { return unacknowledged() == held; })) << log();
  for (const std::string& id : ids) {
    EXPECT_LE(sent(id), 1U) << id;
    if (is_done(id)) {
      EXPECT_EQ(sent(id), 1U) << id;
    }
  }
  EXPECT_LT(held, ids.size()) << "somebody must have come through";
  RecordProperty("held", static_cast<int>(held));
}

TEST_P(QueueConsumer, IsAsShortAsItSaysAndItsConfigurationIsRight) {
  const testing::Finished checked =
      testing::run_program({PAWL_BINARY, "config", "check", example + "/pawl.toml"});
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  const auto lines = std::ranges::count(text_of(example + "/consumer.js"), '\n');
  EXPECT_LT(lines, 100);
  EXPECT_THAT(text_of(example + "/README.md"), HasSubstr(std::to_string(lines) + " lines"));
}

PAWL_ON_EVERY_STORE(QueueConsumer);

}  // namespace
}  // namespace pawl::e2e
