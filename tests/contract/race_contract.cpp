// Many threads, each with a connection of its own, and one row: exactly one of them gets it.
#include <atomic>
#include <chrono>

#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

constexpr int threads = 8;
constexpr int keys = 12;

// What each thread was told, per key. Each thread writes its own slots only.
using Told = std::vector<std::vector<std::optional<Written>>>;

Told nothing_told(int thread_count = threads) {
  return Told(keys, std::vector<std::optional<Written>>(std::size_t(thread_count)));
}

std::string key_name(int key) { return "contract-key-" + std::to_string(key); }
std::string owner_name(int thread) { return "owner-" + std::to_string(thread); }

// Of everyone who was told about a row, one had written it and the others were shown that row.
// The winner's thread, or nothing after a failure.
std::optional<int> only_winner(const std::vector<std::optional<Written>>& told) {
  std::optional<int> winner;
  for (int thread = 0; thread < int(told.size()); ++thread) {
    if (!told[std::size_t(thread)]->mine) continue;
    EXPECT_FALSE(winner.has_value()) << "threads " << *winner << " and " << thread << " both won";
    winner = thread;
  }
  EXPECT_TRUE(winner.has_value()) << "nobody won";
  return winner;
}

TEST_P(StoreContract, RacingInsertsHaveOneWinnerAndTheLosersSeeIt) {
  Told told = nothing_told();
  race(threads, [&](Client& client, int thread) {
    for (int key = 0; key < keys; ++key) {
      const Record fresh = held(key_name(key), owner_name(thread));
      told[std::size_t(key)][std::size_t(thread)] = client.insist_insert(fresh);
    }
  });
  for (int key = 0; key < keys; ++key) {
    const std::optional<int> winner = only_winner(told[std::size_t(key)]);
    ASSERT_TRUE(winner.has_value());
    const Record row = held(key_name(key), owner_name(*winner));
    EXPECT_TRUE(same(client_.find(row), row));
    for (const auto& written : told[std::size_t(key)]) EXPECT_TRUE(same(written->current, row));
  }
}

// Batches in opposite orders: the classical way to a deadlock.
TEST_P(StoreContract, RacingBatchesInAnyOrderHaveOneWinnerPerKey) {
  Told told = nothing_told();
  race(threads, [&](Client& client, int thread) {
    std::vector<Record> batch;
    for (int i = 0; i < keys; ++i) {
      const int key = thread % 2 == 0 ? i : keys - 1 - i;
      batch.push_back(held(key_name(key), owner_name(thread)));
    }
    const std::vector<StoreResult<Written>> results =
        testing::run(client.store().insert_or_read(batch));
    for (int i = 0; i < keys; ++i) {
      const int key = thread % 2 == 0 ? i : keys - 1 - i;
      const StoreResult<Written>& result = results.at(std::size_t(i));
      told[std::size_t(key)][std::size_t(thread)] =
          result ? *result : client.insist_insert(batch[std::size_t(i)]);
    }
  });
  for (int key = 0; key < keys; ++key) {
    const std::optional<int> winner = only_winner(told[std::size_t(key)]);
    ASSERT_TRUE(winner.has_value());
    const Record row = held(key_name(key), owner_name(*winner));
    for (const auto& written : told[std::size_t(key)]) EXPECT_TRUE(same(written->current, row));
  }
}

TEST_P(StoreContract, RacingTakeoversHaveOneWinnerAndTheLosersSeeIt) {
  std::vector<Record> rows;
  for (int key = 0; key < keys; ++key) {
    rows.push_back(in_state(held(key_name(key), "first"), Status::failed_retryable));
  }
  client_.insert(rows);
  Told told = nothing_told();
  race(threads, [&](Client& client, int thread) {
    for (std::size_t key = 0; key < keys; ++key) {
      const Record next = taken_over(rows[key], owner_name(thread));
      told[key][std::size_t(thread)] = client.insist_replace(next, guard_of(rows[key]));
    }
  });
  for (std::size_t key = 0; key < keys; ++key) {
    const std::optional<int> winner = only_winner(told[key]);
    ASSERT_TRUE(winner.has_value());
    const Record row = taken_over(rows[key], owner_name(*winner));
    EXPECT_TRUE(same(client_.find(row), row));
    for (const auto& written : told[key]) EXPECT_TRUE(same(written->current, row));
  }
}

// The owner comes back with its answer at the very moment its lease is swept.
TEST_P(StoreContract, CompletionAndSweepOneWinsAndTheOtherSeesIt) {
  std::vector<Record> rows;
  for (int key = 0; key < keys; ++key) {
    rows.push_back(held(key_name(key)));
    rows.back().state = InProgress{now_ - std::chrono::seconds(30), now_};
  }
  client_.insert(rows);
  const auto next = [&](std::size_t key, int thread) {
    return thread == 0 ? in_state(rows[key], Status::completed) : *swept(rows[key], now_);
  };
  Told told = nothing_told(2);
  race(2, [&](Client& client, int thread) {
    for (std::size_t key = 0; key < keys; ++key) {
      told[key][std::size_t(thread)] =
          client.insist_replace(next(key, thread), guard_of(rows[key]));
    }
  });
  for (std::size_t key = 0; key < keys; ++key) {
    const std::optional<int> winner = only_winner(told[key]);
    ASSERT_TRUE(winner.has_value());
    EXPECT_TRUE(same(client_.find(rows[key]), next(key, *winner)));
    for (const auto& written : told[key]) EXPECT_TRUE(same(written->current, next(key, *winner)));
    EXPECT_TRUE(same(client_.lapsed(now_), {}));
  }
}

// The owner renews at the very moment the sweeper finds its lease over.
TEST_P(StoreContract, RenewalAndTakeoverOneWinsAndTheOtherSeesIt) {
  std::vector<Record> rows;
  for (int key = 0; key < keys; ++key) rows.push_back(held(key_name(key)));
  client_.insert(rows);
  const auto next = [&](std::size_t key, int thread) {
    if (thread > 0) return taken_over(rows[key], owner_name(thread));
    Record renewed = rows[key];
    renewed.state = InProgress{now_, now_ + std::chrono::minutes(1)};
    return renewed;
  };
  Told told = nothing_told(3);
  race(3, [&](Client& client, int thread) {
    for (std::size_t key = 0; key < keys; ++key) {
      told[key][std::size_t(thread)] =
          client.insist_replace(next(key, thread), guard_of(rows[key]));
    }
  });
  for (std::size_t key = 0; key < keys; ++key) {
    const std::optional<int> winner = only_winner(told[key]);
    ASSERT_TRUE(winner.has_value());
    EXPECT_TRUE(same(client_.find(rows[key]), next(key, *winner)));
    for (const auto& written : told[key]) EXPECT_TRUE(same(written->current, next(key, *winner)));
  }
}

// A reaper deletes what a client just began to use again: never the row in use.
TEST_P(StoreContract, EraseAndTakeoverNeverDeleteTheRowInUse) {
  std::vector<Record> rows;
  for (int key = 0; key < keys; ++key) {
    rows.push_back(in_state(held(key_name(key)), Status::failed_retryable));
  }
  client_.insert(rows);
  std::vector<std::optional<Written>> taken(keys);
  std::vector<std::atomic<int>> erased(keys);
  race(3, [&](Client& client, int thread) {
    for (std::size_t key = 0; key < keys; ++key) {
      if (thread == 0) {
        taken[key] = client.insist_replace(taken_over(rows[key]), guard_of(rows[key]));
      } else {
        erased[key] += client.insist_erase(rows[key]) ? 1 : 0;
      }
    }
  });
  for (std::size_t key = 0; key < keys; ++key) {
    EXPECT_LE(erased[key], 1) << "two reapers deleted one row";
    if (taken[key]->mine) {
      EXPECT_EQ(erased[key], 0);
      EXPECT_TRUE(same(client_.find(rows[key]), taken_over(rows[key])));
    } else {
      EXPECT_EQ(taken[key]->current, nullptr);
      EXPECT_FALSE(client_.find(rows[key]).has_value());
    }
  }
}

// Passes read while rows come and go; what they show was true of a row at some moment.
TEST_P(StoreContract, PassesRunBesideWriters) {
  race(4, [&](Client& client, int thread) {
    for (int i = 0; i < 30; ++i) {
      if (thread == 0) {
        for (const Record& row : client.lapsed(now_)) {
          EXPECT_EQ(status_of(row), Status::in_progress);
          EXPECT_EQ(row.owner.text, "owner of " + row.key.text);
          client.insist_replace(*swept(row, now_), guard_of(row));
        }
        for (const Record& row : client.undetermined(now_)) {
          EXPECT_EQ(status_of(row), Status::unknown);
          client.insist_erase(row);
        }
        continue;
      }
      const std::string key = key_name(thread * 1000 + i);
      Record fresh = held(key, "owner of " + key);
      fresh.state = InProgress{now_ - std::chrono::seconds(30), now_};
      EXPECT_TRUE(client.insist_insert(fresh).mine);
      if (i % 3 == 0) client.insist_replace(in_state(fresh, Status::completed), guard_of(fresh));
    }
  });
  for (const Record& row : client_.lapsed(now_)) {
    EXPECT_TRUE(client_.replace(*swept(row, now_), guard_of(row)).mine);
  }
  EXPECT_TRUE(same(client_.lapsed(now_), {}));
}

}  // namespace
}  // namespace pawl
