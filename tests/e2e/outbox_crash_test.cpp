// kill -9 wherever a worker can die: the destination's ledger has one effect, or none and a row
// that says so.
#include <sqlite3.h>

#include <atomic>

#include "tests/e2e/outbox_fixture.hpp"

namespace pawl::e2e {
namespace {

using ::testing::HasSubstr;

class OutboxCrash : public OutboxTest {
 protected:
  // So that a row whose worker died is taken over soon.
  static constexpr const char* quick = "timeout = \"2s\"\ndedupe_window = \"24h\"\n";

  // Keeps everybody from writing to the store for as long as it lives.
  class Held {
   public:
    explicit Held(const OutboxTest&, const std::filesystem::path& file) {
      EXPECT_EQ(sqlite3_open(file.c_str(), &handle_), SQLITE_OK);
      sqlite3_busy_timeout(handle_, 10'000);
      EXPECT_EQ(sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
    }
    ~Held() { sqlite3_close(handle_); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    sqlite3* handle_ = nullptr;
  };
};

TEST_P(OutboxCrash, Claimed) {
  testing::FullListener full;  // connecting takes for ever
  const std::string there = "http://127.0.0.1:" + std::to_string(full.port());
  ServeProcess& worker =
      start_worker(destination("timeout = \"20s\"\nconnect_timeout = \"20s\"", there));
  enqueue(1);
  ASSERT_TRUE(until([&] { return column(1, "owner") != ""; }));
  EXPECT_EQ(status(1), "pending");
  worker.kill_hard();
  EXPECT_EQ(column(1, "first_sent_at"), "") << "nothing was sent";
  // Even where the destination does not dedupe: it was never sent.
  start_worker(destination(std::string(quick) + "dedupes = false"));
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
}

// Marked, and the bytes were in the kernel's hands: nobody ever read them.
TEST_P(OutboxCrash, MarkedSending) {
  const testing::Listening deaf = testing::listen_on_loopback(0, 16);  // accepts nobody
  const std::string there = "http://127.0.0.1:" + std::to_string(deaf.port);
  ServeProcess& worker = start_worker(destination(quick, there));
  enqueue(1);
  ASSERT_TRUE(becomes(1, "sending"));
  worker.kill_hard();
  EXPECT_NE(column(1, "first_sent_at"), "");
  EXPECT_EQ(column(1, "attempt"), "1");
  start_worker(destination(quick));
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(column(1, "attempt"), "2");
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  const testing::Wire closer(deaf.descriptor);
}

TEST_P(OutboxCrash, SentAndExecutedButNotAnswered) {
  const auto never = std::make_shared<Gate>();
  std::atomic<bool> first = true;
  provider.behave([&](const ReceivedRequest& request) {
    const Behaviour answer = charge(ledger, request);
    return first.exchange(false) ? answer.after(never) : answer;
  });
  ServeProcess& worker = start_worker(destination(quick));
  enqueue(1);
  provider.wait_for(1);
  worker.kill_hard();
  EXPECT_EQ(status(1), "sending");
  start_worker(destination(quick));
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(provider.effects(key_of(1)), 2U) << "it was sent again";
  EXPECT_EQ(ledger.effects(key_of(1)), 1) << "under a key that the destination knew";
  EXPECT_EQ(column(1, "provider_id"), "ch_" + key_of(1));
}

TEST_P(OutboxCrash, AnsweredButNotRecorded) {
  std::unique_ptr<Held> held;
  std::atomic<bool> first = true;
  provider.behave([&](const ReceivedRequest& request) {
    const Behaviour answer = charge(ledger, request);
    if (first.exchange(false)) {
      if (GetParam() == StoreKind::sqlite) {
        held = std::make_unique<Held>(*this, folder() / "pawl.db");
      } else {
        shared_postgres().stop();
      }
    }
    return answer;
  });
  ServeProcess& worker = start_worker(destination(quick));
  enqueue(1);
  provider.wait_for(1);
  // It has the answer in hand, and nowhere to put it.
  ASSERT_TRUE(worker.wait_for_text("outbox: store:"));
  worker.kill_hard();
  held.reset();
  if (GetParam() == StoreKind::postgres) shared_postgres().start();
  EXPECT_EQ(status(1), "sending");
  start_worker(destination(quick));
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
}

TEST_P(OutboxCrash, WhereNothingDedupesItGoesToUnknownAndIsNotSentAgain) {
  const auto never = std::make_shared<Gate>();
  provider.behave(
      [&](const ReceivedRequest& request) { return charge(ledger, request, false).after(never); });
  const std::string careless = std::string(quick) + "dedupes = false";
  ServeProcess& worker = start_worker(destination(careless));
  enqueue(1);
  provider.wait_for(1);
  worker.kill_hard();
  ServeProcess& second = start_worker(destination(careless));
  ASSERT_TRUE(becomes(1, "unknown"));
  EXPECT_THAT(column(1, "last_error"), HasSubstr("does not dedupe"));
  EXPECT_EQ(metric(second, R"(pawl_outbox_total{destination="provider",result="unknown"})"), 1);
  // Another row goes all the way, so the first had its chance.
  provider.behave([&](const ReceivedRequest& request) { return charge(ledger, request, false); });
  enqueue(2);
  ASSERT_TRUE(becomes(2, "done"));
  EXPECT_EQ(status(1), "unknown");
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  EXPECT_EQ(provider.effects(key_of(1)), 1U);
}

TEST_P(OutboxCrash, PastTheDedupeWindowItGoesToUnknownAndIsNotSentAgain) {
  const auto never = std::make_shared<Gate>();
  provider.behave(
      [&](const ReceivedRequest& request) { return charge(ledger, request, false).after(never); });
  // The lease of a worker that died outlasts the window.
  const std::string forgetful = "timeout = \"500ms\"\ndedupe_window = \"1s\"\n";
  ServeProcess& worker = start_worker(destination("timeout = \"900ms\"\ndedupe_window = \"1s\"\n"));
  enqueue(1);
  provider.wait_for(1);
  worker.kill_hard();
  start_worker(destination(forgetful));
  ASSERT_TRUE(becomes(1, "unknown"));
  EXPECT_THAT(column(1, "last_error"), HasSubstr("dedupe_window"));
  EXPECT_EQ(provider.effects(key_of(1)), 1U);
}

TEST_P(OutboxCrash, ATimeoutWhereNothingDedupesIsUnknown) {
  provider.behave([&](const ReceivedRequest& request) {
    charge(ledger, request, false);
    return Behaviour::hang();
  });
  start_worker(destination("timeout = \"300ms\"\ndedupes = false"));
  enqueue(1);
  ASSERT_TRUE(becomes(1, "unknown"));
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
  EXPECT_EQ(column(1, "attempt"), "1");
}

TEST_P(OutboxCrash, AResetAfterTheEffectIsRepeatedUnderTheSameKey) {
  std::atomic<int> calls = 0;
  provider.behave([&](const ReceivedRequest& request) {
    const Behaviour answer = charge(ledger, request);
    return ++calls <= 3 ? Behaviour::reset() : answer;
  });
  start_worker(destination());
  enqueue(1);
  ASSERT_TRUE(becomes(1, "done"));
  EXPECT_EQ(column(1, "attempt"), "4");
  EXPECT_EQ(ledger.effects(key_of(1)), 1);
}

// Over and over, whenever it happens to be.
TEST_P(OutboxCrash, KilledAtAnyMoment) {
  constexpr int rows = 60;
  start_worker(destination(quick)).terminate();
  for (int i = 1; i <= rows; ++i) enqueue(i);
  std::size_t seen = 0;
  for (int round = 0; round < 6; ++round) {
    ServeProcess& worker = start_worker(destination("timeout = \"200ms\"\nconcurrency = 3"));
    seen += 4;
    if (provider.count() < seen) provider.wait_for(seen);
    worker.kill_hard();
  }
  start_worker(destination(quick));
  ASSERT_TRUE(until([&] {
    return sql("SELECT count(*) FROM pawl.outbox WHERE status = 'done'") == std::to_string(rows);
  }));
  for (int i = 1; i <= rows; ++i) EXPECT_EQ(ledger.effects(key_of(i)), 1) << i;
}

PAWL_ON_EVERY_STORE(OutboxCrash);

}  // namespace
}  // namespace pawl::e2e
