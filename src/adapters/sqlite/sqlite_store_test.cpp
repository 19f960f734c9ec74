// How callers share the writer: commits in common, bounds, lanes, threads, processes.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/detached.hpp>
#include <thread>

#include "src/adapters/sqlite/test_support.hpp"

namespace pawl::sqlite {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Holds the write lock while a test fills the queue behind it: no luck with timing is needed.
class Holding {
 public:
  explicit Holding(const std::string& path)
      : connection_(std::move(*Connection::open(path, WhenMissing::fail, {}))) {
    EXPECT_EQ(connection_.run("BEGIN IMMEDIATE"), SQLITE_OK);
  }
  void let_go() { EXPECT_EQ(connection_.run("ROLLBACK"), SQLITE_OK); }

 private:
  Connection connection_;
};

Options patient() {
  Options options;
  options.busy_timeout = std::chrono::minutes(10);
  return options;
}

Record numbered(int number, const std::string& owner = "owner-1") {
  return testing::an_in_progress_record("numbered-key-" + std::to_string(number), owner);
}

Task<void> insert_into(Store& store, Record record, std::vector<std::string>& log) {
  const StoreResult<Written> written = co_await store.insert_or_read_one(std::move(record));
  log.push_back(told(written));
}

TEST(SqliteStore, ConcurrentWritesShareCommits) {
  const TempDir directory;
  const auto store = opened(directory.file(), patient());
  Holding lock(directory.file());
  boost::asio::io_context context(1);
  std::vector<std::string> log;
  for (int number = 0; number < 64; ++number) {
    boost::asio::co_spawn(context, insert_into(*store, numbered(number), log),
                          boost::asio::detached);
  }
  context.poll();
  lock.let_go();
  context.run();
  EXPECT_EQ(log.size(), 64U);
  EXPECT_THAT(log, Each(std::string("mine")));
  EXPECT_EQ(store->counts().writes, 64U);
  EXPECT_LE(store->counts().commits, 2U) << "those that waited behind the first one go together";
}

TEST(SqliteStore, ATransactionIsBoundedInBytesAndInRows) {
  const TempDir directory;
  Options options = patient();
  options.transaction_writes_max = 10;
  const auto store = opened(directory.file(), options);
  std::vector<Record> many;
  for (int number = 0; number < 35; ++number) many.push_back(numbered(number));
  EXPECT_EQ(wait_for(store->insert_or_read(many)).size(), 35U);
  EXPECT_EQ(store->counts().commits, 4U);
  std::vector<Record> large;
  for (int number = 100; number < 106; ++number) {
    large.push_back(completed(numbered(number), std::string((1 << 20) + 1, 'x')));
  }
  EXPECT_EQ(wait_for(store->insert_or_read(large)).size(), 6U);
  EXPECT_EQ(store->counts().commits, 6U) << "three of them exceed 3 MiB, four would exceed 4 MiB";
}

Task<void> erase_all(Store& store, std::vector<Erasure> batch, std::vector<std::string>& log) {
  const auto erased = co_await store.erase(std::move(batch));
  log.push_back(erased && erased->size() == 640 ? "erased" : "not erased");
}

TEST(SqliteStore, RequestsOvertakeTheReaper) {
  const TempDir directory;
  const auto store = opened(directory.file(), patient());
  std::vector<Record> old;
  std::vector<Erasure> batch;
  for (int number = 0; number < 640; ++number) {
    old.push_back(numbered(number));
    batch.push_back({old.back().scope, old.back().key, guard_of(old.back())});
  }
  wait_for(store->insert_or_read(old));
  Holding lock(directory.file());
  boost::asio::io_context context(1);
  std::vector<std::string> log;
  boost::asio::co_spawn(context, erase_all(*store, batch, log), boost::asio::detached);
  boost::asio::co_spawn(context, insert_into(*store, numbered(1000), log), boost::asio::detached);
  context.poll();
  lock.let_go();
  context.run();
  EXPECT_THAT(log, ElementsAre("mine", "erased"));
}

TEST(SqliteStore, AFullQueueIsContention) {
  const TempDir directory;
  Options options = patient();
  options.queue_bytes_max = 1;
  const auto store = opened(directory.file(), options);
  Holding lock(directory.file());
  boost::asio::io_context context(1);
  std::vector<std::string> log;
  for (int number = 0; number < 3; ++number) {  // one with the writer, one waiting, one too many
    boost::asio::co_spawn(context, insert_into(*store, numbered(number), log),
                          boost::asio::detached);
  }
  context.poll();
  lock.let_go();
  context.run();
  EXPECT_EQ(std::ranges::count(log, "mine") + std::ranges::count(log, "contended"), 3);
  EXPECT_GE(std::ranges::count(log, "contended"), 1);
  EXPECT_GE(std::ranges::count(log, "mine"), 1);
}

Task<void> insert_and_look_where(Store& store, int first, boost::asio::io_context& own,
                                 int& resumed_elsewhere) {
  for (int number = first; number < first + 50; ++number) {
    const Record record = numbered(number);
    const auto written = co_await store.insert_or_read_one(record);
    const bool here = own.get_executor().running_in_this_thread();
    const auto found = co_await store.find(record.scope, record.key);
    const bool still_here = own.get_executor().running_in_this_thread();
    if (!written || !found || !here || !still_here) ++resumed_elsewhere;
  }
}

TEST(SqliteStore, EveryCallerIsResumedOnItsOwnExecutor) {
  const TempDir directory;
  const auto store = opened(directory.file());
  constexpr int loops = 4;
  std::vector<int> elsewhere(loops, 0);
  {
    std::vector<std::jthread> threads;
    for (int loop = 0; loop < loops; ++loop) {
      threads.emplace_back([&, loop] {
        boost::asio::io_context context(1);
        for (int caller = 0; caller < 4; ++caller) {
          boost::asio::co_spawn(context,
                                insert_and_look_where(*store, (loop * 4 + caller) * 50, context,
                                                      elsewhere[std::size_t(loop)]),
                                boost::asio::detached);
        }
        context.run();
      });
    }
  }
  EXPECT_THAT(elsewhere, Each(0));
}

TEST(SqliteStore, ClosingFinishesWhatWasAsked) {
  const TempDir directory;
  auto store = opened(directory.file());
  boost::asio::io_context context(1);
  std::vector<std::string> log;
  for (int number = 0; number < 100; ++number) {
    boost::asio::co_spawn(context, insert_into(*store, numbered(number), log),
                          boost::asio::detached);
  }
  context.poll();
  store.reset();
  context.run();
  EXPECT_EQ(log.size(), 100U);
  EXPECT_THAT(log, Each(std::string("mine")));
}

// Which of `keys` keys this owner wins. Asks again where the other process held the lock too long.
std::vector<int> wins(const std::string& path, int keys, const std::string& owner) {
  const auto store = opened(path);
  std::vector<int> won;
  for (int number = 0; number < keys; ++number) {
    std::string answer;
    do {
      answer = told(insert(*store, numbered(number, owner)));
    } while (answer == "contended");
    if (answer == "mine") won.push_back(number);
  }
  return won;
}

TEST(SqliteStore, TwoProcessesOnOneFileNeverBothWin) {
  const TempDir directory;
  constexpr int keys = 200;
  int pipe[2] = {};
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const std::vector<int> won = wins(directory.file(), keys, "child");
    const auto bytes = won.size() * sizeof(int);
    ::_exit(::write(pipe[1], won.data(), bytes) == static_cast<ssize_t>(bytes) ? 0 : 1);
  }
  ::close(pipe[1]);
  std::vector<int> all = wins(directory.file(), keys, "parent");
  int number = 0;
  while (::read(pipe[0], &number, sizeof number) == sizeof number) all.push_back(number);
  ::close(pipe[0]);
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::ranges::sort(all);
  std::vector<int> each_once(keys);
  for (int key = 0; key < keys; ++key) each_once[std::size_t(key)] = key;
  EXPECT_EQ(all, each_once);
}

}  // namespace
}  // namespace pawl::sqlite
