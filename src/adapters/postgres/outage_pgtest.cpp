// Servers that restart, crash or stay away, and connections that are cut.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "src/adapters/postgres/pg_fixture.hpp"

namespace pawl::postgres {
namespace {

using testing::run;

// Where the server's absence is the point.
Options impatient() {
  Options options = patient();
  options.operation_timeout = std::chrono::milliseconds(300);
  return options;
}

// What a caller saw of its keys, for comparison with what is there.
struct Story {
  std::vector<Record> acknowledged;  // completions
  int refused = 0;                   // not written, and known not to be
  int doubted = 0;                   // asked again until it was known
};

// Asks again as the engine does: with the same owner, until the store says what is true.
Task<StoreResult<Written>> insist(Store& store, Record row, std::optional<Guard> guard,
                                  Story& story) {
  bool doubted = false;
  for (;;) {
    std::optional<StoreResult<Written>> written;
    if (guard) {
      const Replacement change{row, *guard, {}};
      written.emplace(co_await store.replace_one(change));
    } else {
      written.emplace(co_await store.insert_or_read_one(row));
    }
    if (*written || (!doubted && written->error() != StoreError::in_doubt)) {
      co_return std::move(*written);
    }
    if (written->error() == StoreError::in_doubt) ++story.doubted;
    doubted = true;
  }
}

Task<void> work(Store& store, std::string name, const std::atomic<bool>& stop, Story& story) {
  for (int i = 0; !stop; ++i) {
    const Record row = held(name + "-" + std::to_string(i), name);
    const StoreResult<Written> reserved = co_await insist(store, row, {}, story);
    if (!reserved) {
      ++story.refused;
      continue;
    }
    EXPECT_TRUE(reserved->mine) << "nobody else uses this key";
    const Record done = completed(row);
    for (;;) {
      const StoreResult<Written> settled = co_await insist(store, done, guard_of(row), story);
      if (!settled) continue;
      EXPECT_TRUE(settled->mine);
      story.acknowledged.push_back(done);
      break;
    }
  }
}

// Runs callers on a thread of their own while `disturb` does its worst.
std::vector<Story> under_load(Store& store, const std::function<void()>& disturb) {
  constexpr std::size_t callers = 16;
  std::vector<Story> stories(callers);
  std::atomic<bool> stop = false;
  std::jthread thread([&] {
    boost::asio::io_context context(1);
    for (std::size_t i = 0; i < callers; ++i) {
      boost::asio::co_spawn(context, work(store, "caller-" + std::to_string(i), stop, stories[i]),
                            [](std::exception_ptr failure) {
                              if (failure) std::rethrow_exception(failure);
                            });
    }
    context.run();
  });
  disturb();
  stop = true;
  thread.join();
  return stories;
}

void expect_all_there(const std::string& url, const std::vector<Story>& stories) {
  const auto fresh = open_store(url);
  for (const Story& story : stories) {
    for (const Record& done : story.acknowledged) {
      const auto found = run(fresh->find(done.scope, done.key));
      ASSERT_TRUE(found.has_value() && found->has_value());
      EXPECT_EQ(**found, done);
    }
  }
}

std::size_t count_of(const std::string& url, const char* status) {
  return std::stoul(
      Sql{url}(std::string("SELECT count(*) FROM pawl.keys WHERE status = '") + status + "'"));
}

TEST(Outage, ARestartFailsClosedAndThenGoesOnByItself) {
  testing::PostgresServer server;  // durable: what was acknowledged must survive
  const std::string url = migrated_url(server);
  for (const bool crash : {false, true}) {
    const auto store = open_store(url, impatient());
    const std::vector<Story> stories = under_load(*store, [&] {
      const std::size_t before = count_of(url, "completed");
      wait_until([&] { return count_of(url, "completed") > before + 50; });
      crash ? server.kill_hard() : server.stop();
      wait_until([&] { return store->trouble().has_value(); });
      server.start();
      const std::size_t after = count_of(url, "completed");
      wait_until([&] { return count_of(url, "completed") > after + 50; });
      EXPECT_FALSE(store->trouble().has_value());
    });
    expect_all_there(url, stories);
    Sql{url}("TRUNCATE pawl.keys");
  }
}

TEST(Outage, WhatWasInDoubtIsToldWhenAskedAgain) {
  const std::string url = migrated_url(shared_server());
  const auto store = open_store(url);
  const std::vector<Story> stories = under_load(*store, [&] {
    Sql sql(url);
    for (int i = 0; i < 30; ++i) {
      const std::size_t before = count_of(url, "completed");
      wait_until([&] { return count_of(url, "completed") > before; });
      sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
          " WHERE application_name = 'pawl' AND datname = current_database()");
    }
  });
  int doubted = 0;
  std::size_t acknowledged = 0;
  for (const Story& story : stories) {
    doubted += story.doubted;
    acknowledged += story.acknowledged.size();
  }
  EXPECT_GT(doubted, 0) << "the connections were not cut in the middle of anything";
  EXPECT_EQ(count_of(url, "completed"), acknowledged);
  EXPECT_EQ(count_of(url, "in_progress"), 0u);
  expect_all_there(url, stories);
}

TEST(Outage, AServerThatIsAwayMakesCallsUnavailableAndNothingIsWrittenLater) {
  testing::PostgresServer server({.fsync = false, .configuration = {}});
  const std::string url = migrated_url(server);
  const auto store = open_store(url, impatient());
  server.stop();
  const Record row = held("refused-key-0001");
  EXPECT_EQ(run(store->insert_or_read_one(row)).error(), StoreError::unavailable);
  EXPECT_EQ(run(store->find(row.scope, row.key)).error(), StoreError::unavailable);
  EXPECT_FALSE(run(store->time()).has_value());
  EXPECT_FALSE(run(store->erase({{row.scope, row.key, guard_of(row)}})).has_value());
  EXPECT_TRUE(store->trouble().has_value());
  server.start();
  wait_until([&] { return run(store->insert_or_read_one(held("accepted-key-001"))).has_value(); });
  EXPECT_FALSE(run(store->find(row.scope, row.key))->has_value());
}

}  // namespace
}  // namespace pawl::postgres
