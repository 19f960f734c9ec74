// kill -9 in the middle of batches, fifty times on each store: what was acknowledged is there, byte
// for byte, and no key was ever granted twice. On PostgreSQL the server is killed now and then too.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <sstream>

#include "src/adapters/postgres/pg_fixture.hpp"
#include "src/adapters/sqlite/sqlite_store.hpp"
#include "testing/builders.hpp"
#include "testing/run.hpp"

namespace pawl {
namespace {

// How often it is killed. PAWL_CRASH_KILLS=500 for a long run.
int kill_count() {
  const char* const wanted = std::getenv("PAWL_CRASH_KILLS");
  return wanted == nullptr ? 50 : std::max(std::atoi(wanted), 1);
}
constexpr int callers = 16;

// Bytes of every kind, some of them in overflow pages, from a key and its owner.
std::string body_of(const std::string& key, const std::string& owner) {
  std::seed_seq seed(key.begin(), key.end());
  std::mt19937 random(seed);
  std::string body = owner + '\0';
  const std::size_t size = random() % 10 == 0 ? 9000 : 200;
  while (body.size() < size) body += static_cast<char>(random());
  return body;
}

using Open = std::function<std::unique_ptr<Store>()>;

Record completed(const Record& record, std::string body) {
  Record next = testing::in_state(record, Status::completed, record.created_at);
  std::get<Completed>(next.state).response.body = std::move(body);
  return next;
}

void say(int pipe, const std::string& line) {
  if (::write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(1);
}

// Each key is wanted by two callers. Whoever wins says so, completes it, and says that.
Task<void> pay(Store& store, int pipe, int round, int caller, int first_key) {
  const std::string owner = "owner-" + std::to_string(round) + "-" + std::to_string(caller);
  for (int number = first_key + caller / 2;; number += callers / 2) {
    const std::string key = "crash-key-" + std::to_string(number);
    const Record held = testing::an_in_progress_record(key, owner);
    const StoreResult<Written> reserved = co_await store.insert_or_read_one(held);
    if (!reserved || !reserved->mine) continue;
    say(pipe, "won " + std::to_string(number) + " " + owner + "\n");
    Replacement change{completed(held, body_of(key, owner)), guard_of(held), {}};
    const StoreResult<Written> settled = co_await store.replace_one(std::move(change));
    if (settled && settled->mine) say(pipe, "done " + std::to_string(number) + " " + owner + "\n");
  }
}

[[noreturn]] void run_payments(const Open& open, int pipe, int round, int first_key) {
  const std::unique_ptr<Store> store = open();
  boost::asio::io_context context(1);
  for (int caller = 0; caller < callers; ++caller) {
    boost::asio::co_spawn(context, pay(*store, pipe, round, caller, first_key),
                          boost::asio::detached);
  }
  context.run();
  ::_exit(1);  // it never ends by itself
}

struct Acknowledged {
  std::map<int, std::string> won;
  std::map<int, std::string> done;
  int lines = 0;
  int last_key = 0;

  void take(const std::string& line) {
    std::istringstream words(line);
    std::string what;
    int number = 0;
    std::string owner;
    words >> what >> number >> owner;
    ++lines;
    last_key = std::max(last_key, number);
    if (what == "done") {
      done[number] = owner;
      return;
    }
    const auto [winner, first] = won.emplace(number, owner);
    EXPECT_TRUE(first) << "key " << number << " won by " << winner->second << " and " << owner;
  }
};

// Lets the child live until it has acknowledged so much, then kills it and reads what it had said.
void kill_after(int lines_max, pid_t child, int pipe, Acknowledged& acknowledged) {
  std::string line;
  int lines = 0;
  char byte = 0;
  while (::read(pipe, &byte, 1) == 1) {
    if (byte != '\n') {
      line += byte;
      continue;
    }
    acknowledged.take(line);
    line.clear();
    if (++lines == lines_max) ::kill(child, SIGKILL);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child ended by itself";
}

void check(Store& store, const Acknowledged& acknowledged) {
  for (const auto& [number, owner] : acknowledged.won) {
    const std::string key = "crash-key-" + std::to_string(number);
    const Record held = testing::an_in_progress_record(key, owner);
    const auto found = testing::run(store.find(held.scope, held.key));
    ASSERT_TRUE(found);
    ASSERT_TRUE(*found) << "acknowledged and gone: " << key;
    EXPECT_EQ((*found)->owner.text, owner);
    if (!acknowledged.done.contains(number)) continue;
    EXPECT_TRUE(**found == completed(held, body_of(key, owner))) << "not as acknowledged: " << key;
  }
}

// `between`: what else befalls the store after each round.
void kill_again_and_again(const Open& open, const std::function<void(int)>& between) {
  std::mt19937 random(20260101);
  Acknowledged acknowledged;
  const int kills = kill_count();
  for (int round = 0; round < kills; ++round) {
    int pipe[2] = {};
    ASSERT_EQ(::pipe(pipe), 0);
    const int first_key = std::max(0, acknowledged.last_key - callers);  // some of the last round's
    const pid_t child = ::fork();  // no thread is running: stores are opened after it
    if (child == 0) run_payments(open, pipe[1], round, first_key);
    ::close(pipe[1]);
    kill_after(1 + static_cast<int>(random() % 150), child, pipe[0], acknowledged);
    ::close(pipe[0]);
    between(round);
    const std::unique_ptr<Store> store = open();
    check(*store, acknowledged);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(acknowledged.done.size(), static_cast<std::size_t>(kills));
}

TEST(Crash, EveryAcknowledgedWriteSurvivesKillNineOnSqlite) {
  std::string folder = (std::filesystem::temp_directory_path() / "pawl-crash-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const auto open = [&]() -> std::unique_ptr<Store> {
    auto store = sqlite::SqliteStore::open(folder + "/pawl.db");
    if (!store) throw std::runtime_error(store.error());
    return std::move(*store);
  };
  kill_again_and_again(open, [](int) {});
  std::filesystem::remove_all(folder);
}

TEST(Crash, EveryAcknowledgedWriteSurvivesKillNineOnPostgres) {
  testing::PostgresServer server;
  ASSERT_TRUE(postgres::migrate(server.url()));
  const auto open = [&]() -> std::unique_ptr<Store> { return postgres::open_store(server.url()); };
  kill_again_and_again(open, [&](int round) {
    if (round % 10 != 9) return;
    server.kill_hard();
    server.start();
  });
}

}  // namespace
}  // namespace pawl
