// What goes wrong below us: the operation fails closed, the process lives, and it goes on by itself
// once the trouble has gone.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "src/adapters/sqlite/fault_vfs.hpp"
#include "src/adapters/sqlite/test_support.hpp"

namespace pawl::sqlite {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SqliteFault : public ::testing::Test {
 protected:
  SqliteFault() { faults().none(); }
  ~SqliteFault() override { faults().none(); }

  static Options faulty() {
    Options options;
    options.vfs = fault_vfs();
    return options;
  }
  // What a write is told during a fault, and what readiness says then.
  struct Seen {
    std::string told;
    std::string trouble;
  };
  static Seen write_while(SqliteStore& store, const Record& record, std::atomic<int>& fault,
                          int code) {
    fault = code;
    const StoreResult<Written> result = insert(store, record);
    Seen seen{told(result), store.trouble().value_or("")};
    faults().none();
    return seen;
  }

  TempDir directory_;
  const Record record_ = testing::an_in_progress_record();
};

TEST_F(SqliteFault, AFullDiskWritesNothingAndSaysSo) {
  const auto store = opened(directory_.file(), faulty());
  const Seen seen = write_while(*store, record_, faults().on_write, SQLITE_FULL);
  EXPECT_EQ(seen.told, "unavailable");
  EXPECT_THAT(seen.trouble, AllOf(HasSubstr(directory_.file()), HasSubstr("Make room")));
  const auto found = find(*store, record_);
  ASSERT_TRUE(found);
  EXPECT_FALSE(*found);
  EXPECT_EQ(told(insert(*store, record_)), "mine");
  EXPECT_EQ(store->trouble(), std::nullopt);
}

TEST_F(SqliteFault, ADiskThatTakesNoWritesFailsClosedUntilItDoes) {
  const auto store = opened(directory_.file(), faulty());
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_READONLY}) {
    const Seen seen = write_while(*store, record_, faults().on_write, code);
    EXPECT_EQ(seen.told, "unavailable") << code;
    EXPECT_THAT(seen.trouble, HasSubstr(std::to_string(code)));
  }
  EXPECT_EQ(told(insert(*store, record_)), "mine");
}

TEST_F(SqliteFault, ASyncThatFailsIsDoubtAndAskingAgainEndsIt) {
  const auto store = opened(directory_.file(), faulty());
  const Seen seen = write_while(*store, record_, faults().on_sync, SQLITE_IOERR_FSYNC);
  EXPECT_EQ(seen.told, "in_doubt");
  EXPECT_EQ(told(insert(*store, record_)), "mine");
  const Record rival = testing::an_in_progress_record(record_.key.text, "owner-2");
  EXPECT_EQ(told(insert(*store, rival)), "theirs");
}

TEST_F(SqliteFault, TroubleGoesAwayWithoutTraffic) {
  Options options = faulty();
  options.probe_interval = std::chrono::milliseconds(1);
  const auto store = opened(directory_.file(), options);
  faults().on_write = SQLITE_FULL;
  EXPECT_EQ(told(insert(*store, record_)), "unavailable");
  EXPECT_TRUE(store->trouble());
  faults().none();
  while (store->trouble()) std::this_thread::yield();  // ends, or the test's time limit does
}

TEST_F(SqliteFault, ReadsFailClosedToo) {
  Options options = faulty();
  options.cache_bytes = 0;
  const auto store = opened(directory_.file(), options);
  EXPECT_EQ(told(insert(*store, record_)), "mine");
  faults().on_read = SQLITE_IOERR_READ;
  faults().on_open = SQLITE_CANTOPEN;
  const auto found = find(*store, record_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), StoreError::unavailable);
  EXPECT_TRUE(store->trouble());
  faults().none();
  const auto again = find(*store, record_);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, record_);
}

std::vector<std::string> all_told(const std::vector<StoreResult<Written>>& results) {
  std::vector<std::string> words;
  for (const auto& result : results) words.push_back(told(result));
  return words;
}

std::vector<Record> rows(std::initializer_list<const char*> keys) {
  std::vector<Record> all;
  for (const char* key : keys) all.push_back(testing::an_in_progress_record(key));
  return all;
}

TEST_F(SqliteFault, OneBadRowNeverFailsItsNeighbours) {
  const auto store = opened(directory_.file());
  execute(directory_.file(),
          "CREATE TRIGGER bad BEFORE INSERT ON keys WHEN NEW.idempotency_key LIKE 'bad%' "
          "BEGIN SELECT RAISE(ABORT, 'bad'); END");
  EXPECT_THAT(all_told(wait_for(store->insert_or_read(rows({"a", "bad-1", "b", "c", "bad-2"})))),
              ElementsAre("mine", "unavailable", "mine", "mine", "unavailable"));
  EXPECT_EQ(store->trouble(), std::nullopt);
}

TEST_F(SqliteFault, ARowWithoutRoomNeverFailsItsNeighbours) {
  const auto store = opened(directory_.file(), faulty());
  std::vector<Record> all = rows({"a", "b", "large", "c"});
  all[2] = completed(all[2], std::string(std::size_t{3} << 20, 'x'));
  faults().file_bytes_max = 2 << 20;
  EXPECT_THAT(all_told(wait_for(store->insert_or_read(all))),
              ElementsAre("mine", "mine", "unavailable", "mine"));
}

TEST_F(SqliteFault, ALockHeldElsewhereIsContention) {
  Options options;
  options.busy_timeout = std::chrono::milliseconds(1);
  const auto store = opened(directory_.file(), options);
  auto other = Connection::open(directory_.file(), WhenMissing::fail, {});
  ASSERT_TRUE(other);
  ASSERT_EQ(other->run("BEGIN IMMEDIATE"), SQLITE_OK);
  EXPECT_EQ(told(insert(*store, record_)), "contended");
  EXPECT_TRUE(find(*store, record_)) << "readers never wait for a writer";
  ASSERT_EQ(other->run("ROLLBACK"), SQLITE_OK);
  EXPECT_EQ(told(insert(*store, record_)), "mine");
}

// In another process: closing a file drops all locks that this process holds on it.
void overwrite(const std::string& path, std::streamoff at, const std::string& bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file << bytes;
    file.close();
    ::_exit(file ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
}

TEST_F(SqliteFault, ACorruptFileFailsClosedUntilItIsRestored) {
  std::vector<Record> all;
  for (int number = 0; number < 400; ++number) {
    all.push_back(testing::an_in_progress_record("corrupt-key-" + std::to_string(number)));
  }
  { EXPECT_EQ(wait_for(opened(directory_.file())->insert_or_read(all)).size(), all.size()); }
  std::ifstream file(directory_.file(), std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(file), {});
  file.close();
  constexpr std::streamoff behind_schema = 40 * 4096;  // tables and indexes have a page each
  overwrite(directory_.file(), behind_schema,
            std::string(good.size() - std::size_t(behind_schema), '\xa5'));

  auto store = opened(directory_.file());
  int failed = 0;
  for (const Record& record : all) {
    const auto found = find(*store, record);
    if (found) continue;
    ++failed;
    EXPECT_EQ(found.error(), StoreError::unavailable);
  }
  EXPECT_GT(failed, 0);
  const std::vector<Record> rivals = [&] {
    std::vector<Record> others = all;
    for (Record& other : others) other.owner.text = "owner-2";
    return others;
  }();
  int granted = 0;
  for (const auto& result : wait_for(store->insert_or_read(rivals))) {
    if (told(result) == "mine") ++granted;
  }
  EXPECT_EQ(granted, 0) << "a key that cannot be found is not a new key";
  EXPECT_THAT(store->trouble().value_or(""), HasSubstr("malformed"));

  store.reset();  // what is written over while it runs would be an error until restart
  overwrite(directory_.file(), 0, good);
  store = opened(directory_.file());
  for (const Record& record : all) {
    const auto found = find(*store, record);
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, record);
  }
  EXPECT_EQ(told(insert(*store, record_)), "mine");
  EXPECT_EQ(store->trouble(), std::nullopt);
}

TEST_F(SqliteFault, AFileThatWasTakenAwayIsMissedAndNeverMadeAnew) {
  const auto store = opened(directory_.file());
  EXPECT_EQ(told(insert(*store, record_)), "mine");
  for (const char* part : {"", "-wal", "-shm"}) {
    std::filesystem::rename(directory_.file() + part, directory_.file("away") + part);
  }
  EXPECT_EQ(told(insert(*store, record_)), "unavailable");
  EXPECT_THAT(store->trouble().value_or(""), HasSubstr("is gone"));
  EXPECT_FALSE(std::filesystem::exists(directory_.file()));
  // Somebody else's, and empty: to take it would make every key new.
  { opened(directory_.file("empty")); }
  std::filesystem::rename(directory_.file("empty"), directory_.file());
  EXPECT_EQ(told(insert(*store, record_)), "unavailable");
  EXPECT_THAT(store->trouble().value_or(""), HasSubstr("is gone"));
}

// Inserts rows until the log was copied so often, or until one is refused.
int insert_until(SqliteStore& store, std::uint64_t checkpoints) {
  int inserted = 0;
  while (store.counts().checkpoints < checkpoints) {
    const Record next = testing::an_in_progress_record("row-" + std::to_string(inserted));
    if (told(insert(store, next)) != "mine") break;
    ++inserted;
  }
  return inserted;
}

int rows_in(const std::string& path) {
  auto connection = Connection::open(path, WhenMissing::fail, {});
  return connection ? static_cast<int>(connection->number("SELECT count(*) FROM keys").value_or(-1))
                    : -1;
}

Options with_small_log(Options options) {
  options.checkpoint_pages = 64;
  return options;
}

TEST_F(SqliteFault, AYoungLogIsMadeLongerAheadOfNeed) {
  const auto store = opened(directory_.file(), faulty());
  const std::string log = directory_.file() + "-wal";
  ASSERT_EQ(told(insert(*store, record_)), "mine");  // SQLite makes it
  ASSERT_EQ(told(insert(*store, record_)), "mine");
  const auto made = std::filesystem::file_size(log);
  EXPECT_GE(made, std::uintmax_t{1} << 20);
  for (int i = 0; i < 10; ++i) {
    const Record next = testing::an_in_progress_record("row-" + std::to_string(i));
    ASSERT_EQ(told(insert(*store, next)), "mine");
  }
  EXPECT_EQ(std::filesystem::file_size(log), made);
}

TEST_F(SqliteFault, TheLogIsCopiedBesideTheWriterAndStartsOver) {
  const auto store = opened(directory_.file(), with_small_log(faulty()));
  const int inserted = insert_until(*store, 20);
  EXPECT_EQ(store->trouble(), std::nullopt);
  EXPECT_EQ(rows_in(directory_.file()), inserted);
  // A fresh log is made longer ahead of need by 1 MiB; one that never started over would be longer.
  EXPECT_LE(std::filesystem::file_size(directory_.file() + "-wal"), std::uintmax_t{3} << 20);
}

// SQLite believes that the pages are in the database, and they may not be: only the log has them.
TEST_F(SqliteFault, PagesThatMayNeverHaveReachedTheDiskAreCopiedAgainByTheNextProcess) {
  int inserted = 0;
  {
    const auto store = opened(directory_.file(), with_small_log(faulty()));
    std::filesystem::copy_file(directory_.file(), directory_.file("before"));
    faults().on_sync_between = SQLITE_IOERR_FSYNC;
    inserted = insert_until(*store, 1000);
    ASSERT_TRUE(store->trouble());
    EXPECT_THAT(*store->trouble(), AllOf(HasSubstr(directory_.file()), HasSubstr("restart Pawl")));
    faults().none();
    EXPECT_EQ(told(insert(*store, record_)), "unavailable") << "a second sync proves nothing";
  }
  ASSERT_TRUE(std::filesystem::exists(directory_.file() + "-wal")) << "closing must not end it";
  // The disk has taken none of it. Written in place: another file would be another store.
  std::filesystem::copy_file(directory_.file("before"), directory_.file(),
                             std::filesystem::copy_options::overwrite_existing);
  const auto again = opened(directory_.file());
  EXPECT_EQ(rows_in(directory_.file()), inserted);
  EXPECT_EQ(told(insert(*again, record_)), "mine");
}

TEST_F(SqliteFault, AnAnswerOfALaterVersionIsNotReplayed) {
  const auto store = opened(directory_.file());
  const Record row = testing::in_state(record_, Status::completed, testing::some_time());
  EXPECT_EQ(told(insert(*store, row)), "mine");
  execute(directory_.file(), "UPDATE keys SET response_schema_version = 2");
  EXPECT_EQ(told(insert(*store, row)), "unreadable");
  const auto found = find(*store, row);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error(), StoreError::unreadable);
}

TEST_F(SqliteFault, ARowThatCannotBeUnderstoodConcernsItsKeyAlone) {
  const auto store = opened(directory_.file());
  const std::vector<Record> all = rows({"a", "strange", "b"});
  wait_for(store->insert_or_read(all));
  for (const char* damage : {R"(policy = '{"v":99}')", "policy = 'no JSON'", "attempt = 1 << 40",
                             "locked_until = locked_at - 1", "request = x'00'"}) {
    execute(directory_.file(),
            std::string("UPDATE keys SET ") + damage + " WHERE idempotency_key = 'strange'");
    EXPECT_THAT(all_told(wait_for(store->insert_or_read(all))),
                ElementsAre("mine", "unreadable", "mine"));
    const auto found = find(*store, all[1]);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error(), StoreError::unreadable);
    const Guard stale{.fence = Fence{1}, .status = Status::pending, .locked_until = {}};
    EXPECT_EQ(told(replace(*store, all[1], stale)), "unreadable");
    const auto lapsed = wait_for(store->lapsed({testing::some_time() + std::chrono::hours(1), 2}));
    ASSERT_TRUE(lapsed);
    EXPECT_THAT(*lapsed, ElementsAre(all[0], all[2])) << "stepped over, without taking a place";
    EXPECT_EQ(store->trouble(), std::nullopt);
  }
}

}  // namespace
}  // namespace pawl::sqlite
