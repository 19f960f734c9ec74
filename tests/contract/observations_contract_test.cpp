// Observe mode's tables, on both stores: one contract.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/contract/sql_node.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

using testing::Kind;
using testing::server;
using testing::SqlNode;

class ObservationsContract : public testing::OnBothStores {
 protected:
  static ObservedRow row(const ObservedKey& key, Instant reap_after) {
    ObservedRow row;
    row.id = key;
    row.fingerprint = "1.-.00";
    row.status = "in_progress";
    row.fence = 7;
    row.owner = "somebody";
    row.response_code = 201;
    row.policy = R"({"v":1})";
    row.locked_until = Instant(3us);
    row.created_at = Instant(1us);
    row.completed_at = Instant(4us);
    row.expires_at = Instant(5us);
    row.reap_after = reap_after;
    return row;
  }

  static Tally tally(Instant from, std::uint64_t requests, const std::string& last_key) {
    Tally one;
    one.scope = "caller:a";
    one.route = "payments";
    one.would = "replay";
    one.from = from;
    one.requests = requests;
    one.near_duplicates = 1;
    one.last_at = from + std::chrono::seconds(requests);
    one.last_key = last_key;
    return one;
  }

  static StoreResult<Done> put(SqlNode& node, const ObservedRow& next) {
    return run_here(
        node.observations.apply({next.id}, [&](const ObservationStore::Found& found, Instant) {
          ObservationUpdate judged;
          ObservedChange change{next, std::nullopt};
          if (found.front()) change.expected = {found.front()->fence, found.front()->status};
          judged.changes.push_back(change);
          return judged;
        }));
  }

  static StoreResult<Done> add(SqlNode& node, const std::vector<Tally>& tallies) {
    return run_here(node.observations.apply({}, [&](const ObservationStore::Found&, Instant) {
      return ObservationUpdate{.changes = {}, .tallies = tallies};
    }));
  }

  static ObservationStore::Found look(SqlNode& node, const std::vector<ObservedKey>& keys) {
    ObservationStore::Found seen;
    const auto done =
        run_here(node.observations.apply(keys, [&](const ObservationStore::Found& found, Instant) {
          seen = found;
          return ObservationUpdate{};
        }));
    EXPECT_TRUE(done) << node.observations.trouble();
    return seen;
  }

  static Instant time_of(SqlNode& node) {
    Instant time{};
    EXPECT_TRUE(
        run_here(node.observations.apply({}, [&](const ObservationStore::Found&, Instant now) {
          time = now;
          return ObservationUpdate{};
        })));
    return time;
  }

  const ObservedKey key{"caller:a", "0123"};
  const ObservedKey other{"caller:a", "4567"};
  const Instant far{std::chrono::hours(1'000'000)};
};

TEST_P(ObservationsContract, GivesBackWhatWasWritten) {
  const auto node = connect();
  ObservedRow written = row(key, far);
  ASSERT_TRUE(put(*node, written));
  EXPECT_EQ(look(*connect(), {other, key}),
            (ObservationStore::Found{std::nullopt, std::optional(written)}));
  written.status = "completed";
  written.fence = 8;
  ASSERT_TRUE(put(*node, written));
  EXPECT_EQ(look(*node, {key}).front(), written);
}

TEST_P(ObservationsContract, NodesThatCountAtOnceLoseNothing) {
  constexpr int nodes = 4;
  constexpr int rounds = 25;
  std::vector<std::thread> threads;
  threads.reserve(nodes);
  for (int node = 0; node < nodes; ++node) {
    threads.emplace_back([this] {
      const auto mine = connect();
      for (int round = 0; round < rounds; ++round) {
        // Raises the row's fence by one, whatever it is, and counts that.
        const auto raise = [&](const ObservationStore::Found& found, Instant) {
          ObservationUpdate judged;
          ObservedChange change{row(key, far), std::nullopt};
          change.next.fence = 1;
          if (found.front()) {
            change.expected = {found.front()->fence, found.front()->status};
            change.next.fence = found.front()->fence + 1;
          }
          judged.changes.push_back(change);
          judged.tallies.push_back(tally(Instant(1h), 1, "k"));
          return judged;
        };
        while (!run_here(mine->observations.apply({key}, raise))) {  // lost every race: once more
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto node = connect();
  EXPECT_EQ(look(*node, {key}).front()->fence, nodes * rounds);
  const auto summary = run_here(node->observations.summary(std::chrono::hours(900'000)));
  ASSERT_TRUE(summary) << node->observations.trouble();
  ASSERT_EQ(summary->tallies.size(), 1U);
  EXPECT_EQ(summary->tallies.front().requests, std::uint64_t{nodes * rounds});
}

TEST_P(ObservationsContract, SumsTalliesAndKeepsTheLatestKey) {
  const auto node = connect();
  const Instant now = time_of(*node);
  const Tally newer = tally(now - 1h, 5, "newer");
  const Tally older = tally(now - 2h, 2, "older");
  const Tally old = tally(now - 50h, 9, "old");
  ASSERT_TRUE(add(*node, {newer, older, old}));
  Tally more = newer;
  more.requests = 3;
  more.last_at = newer.last_at - 1s;
  more.last_key = "a moment before";
  ASSERT_TRUE(add(*node, {more}));
  const auto summary = run_here(node->observations.summary(24h));
  ASSERT_TRUE(summary) << node->observations.trouble();
  EXPECT_EQ(summary->from, older.from);
  EXPECT_GE(summary->until, now);
  ASSERT_EQ(summary->tallies.size(), 1U);
  const Tally& sum = summary->tallies.front();
  EXPECT_EQ(sum.requests, 10U);
  EXPECT_EQ(sum.near_duplicates, 3U);
  EXPECT_EQ(sum.last_key, "newer");
  EXPECT_EQ(sum.last_at, newer.last_at);
  EXPECT_EQ(sum.scope, "caller:a");
  EXPECT_EQ(sum.route, "payments");
  EXPECT_EQ(sum.would, "replay");
}

TEST_P(ObservationsContract, ReapsWhateverIsOld) {
  const auto node = connect();
  const Instant now = time_of(*node);
  ASSERT_TRUE(put(*node, row(key, now - 1s)));
  ASSERT_TRUE(put(*node, row(other, now + 1h)));
  ASSERT_TRUE(add(*node, {tally(now - 3h, 1, ""), tally(now - 1h, 1, "")}));
  EXPECT_EQ(run_here(node->observations.reap(2h)).value(), 2U);
  EXPECT_EQ(run_here(node->observations.reap(2h)).value(), 0U);
  EXPECT_FALSE(look(*node, {key}).front());
  EXPECT_TRUE(look(*node, {other}).front());
  EXPECT_EQ(run_here(node->observations.summary(24h)).value().tallies.front().requests, 1U);
}

TEST_P(ObservationsContract, GoesOnAfterItWasDisconnected) {
  const auto node = connect();
  ASSERT_TRUE(put(*node, row(key, far)));
  node->disconnect();
  EXPECT_TRUE(look(*node, {key}).front());
}

INSTANTIATE_TEST_SUITE_P(All, ObservationsContract, ::testing::Values(Kind::sqlite, Kind::postgres),
                         testing::kind_name);

TEST(PostgresObservations, SayWhatIsMissingAndNeverThePassword) {
  server().create_database("empty");
  SqlNode empty(
      std::make_unique<postgres::SqlSession>(server().url("empty"), testing::patient_postgres()));
  EXPECT_FALSE(run_here(empty.observations.summary(1h)));
  EXPECT_THAT(empty.observations.trouble(), HasSubstr("run `pawl migrate --store URL` first"));
  SqlNode away(std::make_unique<postgres::SqlSession>("postgres://pawl:hush@127.0.0.1:1/pawl"));
  const auto failed = run_here(away.observations.summary(1h));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error(), StoreError::unavailable);
  const std::string why = away.observations.trouble();
  EXPECT_THAT(why, HasSubstr("127.0.0.1"));
  EXPECT_THAT(why, ::testing::Not(HasSubstr("hush")));
}

}  // namespace
}  // namespace pawl
