#include "src/workers/async_worker.hpp"

#include <gtest/gtest.h>

#include "src/workers/world_for_tests.hpp"
#include "testing/scripted_upstream.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;
using testing::Fault;
using testing::FaultStore;

// Whatever is called, one upstream.
class OneUpstream final : public StoredCalls {
 public:
  [[nodiscard]] SettleOptions settle_options(const Record&) const override { return {}; }
  std::unique_ptr<StoredCall> call_for(const Record&) override {
    return std::make_unique<Call>(upstream);
  }
  testing::ScriptedUpstream upstream;

 private:
  class Call final : public StoredCall {
   public:
    explicit Call(testing::ScriptedUpstream& to) : to_(to) {}
    Task<Outcome> send(const Record& attempt, SendGate& gate, BootTime deadline) override {
      return to_.send(attempt, gate, deadline);
    }

   private:
    testing::ScriptedUpstream& to_;
  };
};

struct Scene : World {
  Scene() {
    Record record = testing::an_in_progress_record("test-key-00000001", "accepted", clock.wall());
    record.policy.mode = Mode::async;
    record.request = StoredRequest{};
    record.request->target = "/v1/payments";
    record.state = Pending{};
    store.put_back({record});
  }
  void poll(Store& records, int times = 1) {
    Engine engine(records, clock, entropy, counters);
    AsyncWorker worker({engine, records, calls, state, clock, entropy, sleepers, log},
                       context.get_executor());
    for (int i = 0; i < times; ++i) {
      run(worker.poll_once());
      clock.advance(61s);
      static_cast<void>(run(engine.sweep()));
    }
  }
  [[nodiscard]] Status status() const { return status_of(store.records().front()); }

  OneUpstream calls;
};

class AsyncWorkerTest : public ::testing::Test, protected Scene {};

TEST_F(AsyncWorkerTest, SendsWhatWasAcceptedOnceAndKeepsItsAnswer) {
  poll(store, 3);
  EXPECT_EQ(status(), Status::completed);
  EXPECT_EQ(calls.upstream.charges(), 1);
  EXPECT_TRUE(state.cache.find(Scope{"tenant-a"}, Key{"test-key-00000001"}));
  EXPECT_EQ(log.decisions, std::vector<std::string>{"created"});
  EXPECT_EQ(state.memory.used(), 0U);
}

TEST_F(AsyncWorkerTest, WhatWasLostIsUnknownAndNotRepeated) {
  calls.upstream.answer({true, Lost{Lost::How::reset, "reset"}});
  poll(store, 5);
  EXPECT_EQ(status(), Status::unknown);
  EXPECT_EQ(calls.upstream.sends(), 1);
}

TEST_F(AsyncWorkerTest, WhatCouldNotBeSentIsTriedAgain) {
  calls.upstream.answer({false, NotSent{"refused"}});
  poll(store, 3);
  EXPECT_GE(calls.upstream.sends(), 2);
  calls.upstream.answer({true, testing::answered(201)});
  poll(store, 5);
  EXPECT_EQ(status(), Status::completed);
  EXPECT_EQ(calls.upstream.charges(), 1);
}

TEST_F(AsyncWorkerTest, AnOutcomeInHandIsRecordedWhenTheStoreIsBack) {
  // From after the claim on, for longer than a settlement is tried.
  FaultStore records(store, {4, 40, Fault::unavailable});
  poll(records, 1);
  EXPECT_EQ(status(), Status::completed);
  EXPECT_EQ(calls.upstream.charges(), 1);
}

TEST_F(AsyncWorkerTest, StopsWhenItWasStoppedAndItsCallsAreOver) {
  Engine engine(store, clock, entropy, counters);
  AsyncWorker worker({engine, store, calls, state, clock, entropy, sleepers, log},
                     context.get_executor());
  calls.upstream.before_answer = [&] { worker.stop(); };
  run(worker.run());
  EXPECT_EQ(status(), Status::completed);
}

class AsyncFaults : public ::testing::TestWithParam<Fault> {};

TEST_P(AsyncFaults, OneEffectWhicheverStoreCallFails) {
  for (int n = 0;; ++n) {
    SCOPED_TRACE(n);
    Scene scene;
    FaultStore records(scene.store, {n, 1, GetParam()});
    scene.poll(records, 5);
    EXPECT_EQ(scene.calls.upstream.charges(), 1);
    EXPECT_EQ(scene.status(), Status::completed);
    if (HasFailure() || records.calls() <= n) break;
  }
}

INSTANTIATE_TEST_SUITE_P(All, AsyncFaults,
                         ::testing::Values(Fault::unavailable, Fault::in_doubt_written,
                                           Fault::in_doubt_lost));

}  // namespace
}  // namespace pawl::workers
