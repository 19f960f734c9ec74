// Many threads on few keys, doing at random what nodes do. Every grant is written down with the
// time it was asked for and the time it was given; afterwards the log must make sense.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <random>
#include <set>

#include "tests/contract/store_contract.hpp"

namespace pawl {
namespace {

constexpr int threads = 8;
constexpr int rounds = 200;
constexpr int keys = 20;
constexpr unsigned seed = 20260101;

// Fences of one life of a key (from insert to erase) lie between two multiples of this.
constexpr std::int64_t fences_per_life = 1'000'000;

using Steady = std::chrono::steady_clock::time_point;

struct Grant {
  int key = 0;
  std::int64_t fence = 0;
  Steady asked;
  Steady given;
};

struct Log {
  std::vector<Grant> grants;
  std::vector<std::pair<int, std::int64_t>> completed;  // key and fence
  std::vector<int> erased;                              // keys
};

std::string key_name(int key) { return "contract-key-" + std::to_string(key); }

std::int64_t life_of(std::int64_t fence) { return fence / fences_per_life; }

// One node: looks at a key as reserve would, then settles, forgets, sweeps or reaps.
class Node {
 public:
  Node(Client& client, int number, Instant now, std::atomic<std::int64_t>& lives)
      : client_(client),
        name_("node-" + std::to_string(number)),
        now_(now),
        lives_(lives),
        chance_(seed + unsigned(number)) {}

  Log run() {
    for (int round = 0; round < rounds; ++round) visit(int(below(keys)), round);
    return std::move(log_);
  }

 private:
  void visit(int key, int round) {
    const Owner owner{name_ + "-" + std::to_string(round)};
    Record fresh = testing::an_in_progress_record(key_name(key), owner.text, now_);
    fresh.fence.number = ++lives_ * fences_per_life;
    const Steady asked = std::chrono::steady_clock::now();
    const Written written = client_.insist_insert(fresh);
    if (written.mine) {
      granted(key, fresh, asked);
      return;
    }
    const Record& row = *written.current;
    switch (status_of(row)) {
      case Status::in_progress: sweep(row); return;
      case Status::failed_retryable: take_over(key, row, owner); return;
      case Status::completed:
        if (below(2) == 0) erase(key, row);
        return;
      case Status::pending:
      case Status::unknown:
      case Status::expired: ADD_FAILURE() << "nobody wrote " << to_text(status_of(row)); return;
    }
  }

  void sweep(const Record& row) {
    Record released = row;
    released.state = FailedRetryable{};
    client_.insist_replace(released, guard_of(row));
  }

  void take_over(int key, const Record& row, const Owner& owner) {
    if (below(4) == 0) {
      erase(key, row);
      return;
    }
    Record next = row;
    next.state = InProgress{now_, now_ + row.policy.lease};
    next.owner = owner;
    next.fence.number += 1;
    const Steady asked = std::chrono::steady_clock::now();
    if (client_.insist_replace(next, guard_of(row)).mine) granted(key, next, asked);
  }

  void erase(int key, const Record& row) {
    if (client_.insist_erase(row)) log_.erased.push_back(key);
  }

  void granted(int key, const Record& held, Steady asked) {
    log_.grants.push_back({key, held.fence.number, asked, std::chrono::steady_clock::now()});
    switch (below(4)) {
      case 0: return;  // dies: somebody will sweep it
      case 1: {
        const Record done = testing::in_state(held, Status::completed, now_);
        if (client_.insist_replace(done, guard_of(held)).mine) {
          log_.completed.emplace_back(key, held.fence.number);
        }
        return;
      }
      default: sweep(held);  // releases it
    }
  }

  std::uint64_t below(std::uint64_t bound) { return chance_() % bound; }

  Client& client_;
  std::string name_;
  Instant now_;
  std::atomic<std::int64_t>& lives_;
  std::mt19937 chance_;
  Log log_;
};

void check_fences(const std::vector<Grant>& grants) {
  for (const Grant& one : grants) {
    for (const Grant& other : grants) {
      if (&one == &other) continue;
      EXPECT_NE(one.fence, other.fence) << "two owners under one fence of key " << one.key;
      const bool one_life = life_of(one.fence) == life_of(other.fence);
      if (one_life && one.given < other.asked) {
        EXPECT_LT(one.fence, other.fence) << "key " << one.key << " went back to an old owner";
      }
    }
  }
}

// A life that ended does not come back: no other life was granted between two grants of it.
void check_lives(const std::vector<Grant>& grants) {
  std::map<std::int64_t, std::pair<Steady, Steady>> lives;  // first given, last asked
  for (const Grant& grant : grants) {
    auto [life, fresh] = lives.try_emplace(life_of(grant.fence), grant.given, grant.asked);
    life->second.first = std::min(life->second.first, grant.given);
    life->second.second = std::max(life->second.second, grant.asked);
  }
  for (const auto& [life, span] : lives) {
    for (const Grant& other : grants) {
      if (life_of(other.fence) == life) continue;
      EXPECT_FALSE(span.first < other.asked && other.given < span.second)
          << "key " << other.key << " was deleted and came back";
    }
  }
}

TEST_P(StoreContract, UnderStressNoFenceIsGrantedTwiceAndNoneGoesBack) {
  std::atomic<std::int64_t> lives = 0;
  std::vector<Log> logs(threads);
  race(threads, [&](Client& client, int thread) {
    Node node(client, thread, now_, lives);
    logs[std::size_t(thread)] = node.run();
  });
  std::map<int, std::vector<Grant>> by_key;
  std::map<std::pair<int, std::int64_t>, std::int64_t> last_fence;  // of each life of each key
  for (const Log& log : logs) {
    for (const Grant& grant : log.grants) {
      by_key[grant.key].push_back(grant);
      std::int64_t& last = last_fence[{grant.key, life_of(grant.fence)}];
      last = std::max(last, grant.fence);
    }
  }
  EXPECT_EQ(by_key.size(), std::size_t(keys));
  for (const auto& [key, grants] : by_key) {
    check_fences(grants);
    check_lives(grants);
    // Every life but the one that is there now was ended by exactly one erasure.
    std::set<std::int64_t> begun;
    for (const Grant& grant : grants) begun.insert(life_of(grant.fence));
    std::size_t accounted = client_.find(held(key_name(key))) ? 1u : 0u;
    for (const Log& log : logs) accounted += std::size_t(std::ranges::count(log.erased, key));
    EXPECT_EQ(begun.size(), accounted) << "key " << key << " was inserted over a row, or lost";
  }
  for (const Log& log : logs) {
    for (const auto& [key, fence] : log.completed) {
      const std::int64_t last = last_fence.at({key, life_of(fence)});
      EXPECT_EQ(last, fence) << "key " << key << " was granted again after it was completed";
    }
  }
}

}  // namespace
}  // namespace pawl
