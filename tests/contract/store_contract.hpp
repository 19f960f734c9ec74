// What every Store promises, as tests. A store passes by saying, in a test program of its own that
// links the object library pawl_contract,
//
//   namespace pawl {
//   INSTANTIATE_TEST_SUITE_P(MyStore, StoreContract,
//                            ::testing::Values(testing::StoreUnderTest{"MyStore", open_my_store}),
//                            store_name);
//   }
//
// Every test opens a harness of its own: an empty store. Times are arguments, so no store's clock
// is ever moved; they lie around the real present, because a store may page by time of creation.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "src/ports/store.hpp"
#include "testing/builders.hpp"
#include "testing/run.hpp"
#include "tests/support/store_harness.hpp"

namespace pawl {

namespace testing {
inline void PrintTo(const StoreUnderTest& store, std::ostream* out) { *out << store.name; }
}  // namespace testing

inline std::string store_name(const ::testing::TestParamInfo<testing::StoreUnderTest>& info) {
  return info.param.name;
}

// Says which fields differ, where gtest would print bytes.
::testing::AssertionResult same(const Record& found, const Record& wanted);
::testing::AssertionResult same(const std::optional<Record>& found, const Record& wanted);
::testing::AssertionResult same(const SharedRecord& found, const Record& wanted);
::testing::AssertionResult same(const std::vector<Record>& found,
                                const std::vector<Record>& wanted);

// What lies in `result`; a StoreError becomes an exception, which fails the test.
template <class T>
T good(StoreResult<T> result);

// The store's operations as a test wants them: blocking, one row at a time where that is enough.
// Names no thread: each thread of a race has one of its own, on a connection of its own.
class Client {
 public:
  explicit Client(std::shared_ptr<Store> store) : store_(std::move(store)) {}

  Written insert(const Record& fresh);
  std::vector<Written> insert(const std::vector<Record>& fresh);
  Written replace(const Record& next, const Guard& expected, std::optional<AuditEntry> audit = {});
  std::vector<Written> replace(const std::vector<Replacement>& batch);
  bool erase(const Record& row) { return erase(row, guard_of(row)); }
  bool erase(const Record& row, const Guard& expected);
  std::vector<bool> erase(const std::vector<Erasure>& batch);
  std::optional<Record> find(const Record& like);
  Instant time();
  std::vector<Record> lapsed(Instant now, std::size_t rows_max = 500);
  std::vector<Record> past_retention(Instant now, std::size_t rows_max = 500);
  std::vector<Record> undetermined(Instant now, std::size_t rows_max = 500);
  std::vector<Record> pending(Instant now, std::size_t rows_max = 500);
  std::size_t count_active(const Scope& scope, std::size_t up_to = 1000);
  void keep_evidence(const LateEvidence& evidence);

  // For races: ask again where the store says that it lost every round, or that it does not know.
  // The owner token makes that harmless.
  Written insist_insert(const Record& fresh);
  Written insist_replace(const Record& next, const Guard& expected);
  bool insist_erase(const Record& row);  // false may also mean: erased by an earlier try

  Store& store() { return *store_; }

 private:
  std::shared_ptr<Store> store_;
};

class StoreContract : public ::testing::TestWithParam<testing::StoreUnderTest> {
 protected:
  StoreContract();

  // In progress under `owner` since `now_`, with a fence of that time.
  [[nodiscard]] Record held(std::string_view key = "contract-key-0001",
                            std::string_view owner = "owner-1") const;
  // The same key in the hands of a new owner: fence + 1, attempt + 1.
  [[nodiscard]] Record taken_over(const Record& row, std::string_view owner = "owner-2") const;
  [[nodiscard]] Record in_state(const Record& row, Status status) const;

  // Runs `body` on `threads` threads at once, each with a connection of its own. An exception of
  // any of them fails the test.
  void race(int threads, const std::function<void(Client& client, int thread)>& body);

  Client connect() { return Client(harness_->connect()); }

  const Instant now_;
  std::unique_ptr<testing::StoreHarness> harness_;
  Client client_;
};

inline constexpr std::array every_status{Status::pending,   Status::in_progress,
                                         Status::completed, Status::failed_retryable,
                                         Status::unknown,   Status::expired};

template <class T>
T good(StoreResult<T> result) {
  if (!result) throw std::runtime_error("store: " + std::string(to_text(result.error())));
  return std::move(*result);
}

}  // namespace pawl
