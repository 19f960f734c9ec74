#include "pawl/types/record.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <vector>

#include "src/core/decision.hpp"
#include "testing/builders.hpp"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using testing::an_in_progress_record;
using testing::in_state;
using testing::some_time;

TEST(Record, EveryStateHasItsStatusAndEveryStatusItsName) {
  std::set<std::size_t> alternatives;
  for (const auto& [status, name] : Names<Status>::table) {
    const Record record = in_state(an_in_progress_record(), status, some_time());
    EXPECT_EQ(status_of(record), status) << name;
    EXPECT_EQ(from_text<Status>(to_text(status)), status);
    EXPECT_EQ(broken_invariant(record), std::nullopt) << name;
    alternatives.insert(record.state.index());
  }
  EXPECT_EQ(alternatives.size(), std::variant_size_v<State>);
  EXPECT_EQ(from_text<Status>("processing"), std::nullopt);
}

TEST(FirstRecord, CarriesTheRequestAndStartsAtTheStoresTime) {
  Request request = testing::a_request();
  request.stored = StoredRequest{"/v1/payments?x=1", {{"A", "b"}}, "body"};
  Policy policy;
  policy.retention = 5h;
  const Record record = first_record(request, policy, {Owner{"us"}, some_time()});
  EXPECT_EQ(record.fence.number, some_time().time_since_epoch().count());
  EXPECT_EQ(record.state, State(InProgress{some_time(), some_time() + policy.lease}));
  EXPECT_EQ(record.fingerprint, request.fingerprint);
  EXPECT_EQ(record.request, request.stored);
  EXPECT_EQ(record.attempt, 1);
  EXPECT_EQ(record.created_at, some_time());
  EXPECT_EQ(record.expires_at, some_time() + 5h);
  EXPECT_EQ(broken_invariant(record), std::nullopt);
}

TEST(Claim, TakesPendingRecordsOnlyAndRaisesTheFence) {
  const Attempt worker{.owner = Owner{"worker"}, .now = some_time() + 1h};
  for (const auto& [status, name] : Names<Status>::table) {
    const Record record = in_state(an_in_progress_record(), status, some_time());
    const std::optional<Record> next = claimed(record, worker);
    ASSERT_EQ(next.has_value(), status == Status::pending) << name;
    if (!next) continue;
    Record expected = record;
    expected.state = InProgress{worker.now, worker.now + record.policy.lease};
    expected.owner = worker.owner;
    expected.fence.number += 1;
    EXPECT_EQ(*next, expected);
  }
}

TEST(Guard, HoldsForTheRecordItWasTakenOf) {
  for (const auto& [status, name] : Names<Status>::table) {
    const Record record = in_state(an_in_progress_record(), status, some_time());
    EXPECT_TRUE(holds(guard_of(record), record)) << name;
    EXPECT_EQ(guard_of(record).locked_until.has_value(), status == Status::in_progress) << name;
  }
}

TEST(Guard, FallsWithEveryStatusButItsOwn) {
  for (const auto& [before, name] : Names<Status>::table) {
    const Guard guard = guard_of(in_state(an_in_progress_record(), before, some_time()));
    for (const auto& [after, after_name] : Names<Status>::table) {
      const Record record = in_state(an_in_progress_record(), after, some_time());
      EXPECT_EQ(holds(guard, record), before == after) << name << " -> " << after_name;
    }
  }
}

TEST(Guard, FallsWhenTheRecordWasTakenOver) {
  for (const auto& [status, name] : Names<Status>::table) {
    Record record = in_state(an_in_progress_record(), status, some_time());
    const Guard guard = guard_of(record);
    record.fence.number += 1;
    EXPECT_FALSE(holds(guard, record)) << name;
  }
}

TEST(Guard, FallsWhenTheLeaseWasRenewed) {
  Record record = an_in_progress_record();
  const Guard guard = guard_of(record);
  std::get<InProgress>(record.state).locked_until += 1us;
  EXPECT_FALSE(holds(guard, record));
}

TEST(RequestId, IsTheSameForAllReplaysOfOneExecution) {
  const Record held = an_in_progress_record();
  const std::string id = request_id(held);
  EXPECT_EQ(id.size(), 32U);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  for (const auto& [status, name] : Names<Status>::table) {
    EXPECT_EQ(request_id(in_state(held, status, some_time() + 1h)), id) << name;
  }
}

TEST(RequestId, DiffersByScopeKeyAndFence) {
  const auto id_of = [](std::string scope, std::string key, std::int64_t fence) {
    Record record = an_in_progress_record();
    record.scope.text = std::move(scope);
    record.key.text = std::move(key);
    record.fence.number = fence;
    return request_id(record);
  };
  const std::set<std::string> ids{id_of("a", "bc", 1),  id_of("ab", "c", 1),  id_of("a", "bc", 2),
                                  id_of("a:2:", "", 1), id_of("a", ":2:", 1), id_of("", "abc", 1),
                                  id_of("a", "b", 11),  id_of("a", "b1", 1),  id_of("a", "b:1", 1)};
  EXPECT_EQ(ids.size(), 9U);
}

struct Breakage {
  const char* rule;
  std::function<void(Record&)> how;
};

TEST(Record, EveryBrokenInvariantIsNamed) {
  const std::vector<Breakage> table{
      {"scope is empty", [](Record& r) { r.scope.text.clear(); }},
      {"key is empty", [](Record& r) { r.key.text.clear(); }},
      {"key is too long", [](Record& r) { r.key.text.assign(key_bytes_max + 1, 'k'); }},
      {"fingerprint is empty", [](Record& r) { r.fingerprint.text.clear(); }},
      {"owner is empty", [](Record& r) { r.owner.text.clear(); }},
      {"fence is below 1", [](Record& r) { r.fence.number = 0; }},
      {"attempt is below 1", [](Record& r) { r.attempt = 0; }},
  };
  for (const auto& [status, name] : Names<Status>::table) {
    for (const Breakage& row : table) {
      Record record = in_state(an_in_progress_record(), status, some_time());
      row.how(record);
      EXPECT_EQ(broken_invariant(record), row.rule) << name;
    }
  }
}

TEST(Record, LeaseMayBeEmptyButNotNegative) {
  Record record = an_in_progress_record();
  record.state = InProgress{some_time(), some_time()};
  EXPECT_EQ(broken_invariant(record), std::nullopt);
  record.state = InProgress{some_time(), some_time() - 1us};
  EXPECT_EQ(broken_invariant(record), "lease ends before it begins");
}

TEST(Record, StoredStatusIsAFinalOne) {
  Record record = in_state(an_in_progress_record(), Status::completed, some_time());
  int& status = std::get<Completed>(record.state).response.status;
  for (status = -1; status <= 700; ++status) {
    const bool final = status >= 200 && status <= 599;
    EXPECT_EQ(broken_invariant(record).has_value(), !final) << status;
  }
}

TEST(Record, CompletedAnswerIsKeptAtLeastFromItsCompletion) {
  Record record = in_state(an_in_progress_record(), Status::completed, some_time());
  record.expires_at = some_time();
  EXPECT_EQ(broken_invariant(record), std::nullopt);
  record.expires_at = some_time() - 1us;
  EXPECT_EQ(broken_invariant(record), "expires before it was completed");
}

TEST(Record, LongestKeyIsAccepted) {
  Record record = an_in_progress_record();
  record.key.text.assign(key_bytes_max, 'k');
  EXPECT_EQ(broken_invariant(record), std::nullopt);
}

}  // namespace
}  // namespace pawl
