#include "tests/contract/store_contract.hpp"

#include <chrono>
#include <exception>
#include <latch>
#include <mutex>
#include <thread>

namespace pawl {

namespace {

// co_spawn wants a result that can be made from nothing; an Expected cannot.
template <class T>
Task<std::optional<T>> boxed(Task<T> task) {
  std::optional<T> result;
  result.emplace(co_await std::move(task));
  co_return result;
}

template <class T>
T run(Task<T> task) {
  return std::move(*testing::run(boxed(std::move(task))));
}

std::string differences(const Record& a, const Record& b) {
  std::string fields;
  const auto compare = [&](bool equal, const char* name) {
    if (!equal) fields += std::string(fields.empty() ? "" : ", ") + name;
  };
  compare(a.scope == b.scope, "scope");
  compare(a.key == b.key, "key");
  compare(a.fingerprint == b.fingerprint, "fingerprint");
  compare(status_of(a) == status_of(b), "status");
  compare(a.state == b.state, "state");
  compare(a.fence == b.fence, "fence");
  compare(a.owner == b.owner, "owner");
  compare(a.attempt == b.attempt, "attempt");
  compare(a.recovery_point == b.recovery_point, "recovery_point");
  compare(a.method == b.method, "method");
  compare(a.path == b.path, "path");
  compare(a.route == b.route, "route");
  compare(a.request == b.request, "request");
  compare(a.resource_type == b.resource_type, "resource_type");
  compare(a.resource_id == b.resource_id, "resource_id");
  compare(a.last_error == b.last_error, "last_error");
  compare(a.policy == b.policy, "policy");
  compare(a.created_at == b.created_at, "created_at");
  compare(a.expires_at == b.expires_at, "expires_at");
  return fields;
}

std::string name_of(const Record& record) {
  return record.scope.text + "/" + record.key.text + " (" +
         std::string(to_text(status_of(record))) + ", fence " +
         std::to_string(record.fence.number) + ", " + record.owner.text + ")";
}

template <class T>
std::vector<T> all_good(std::vector<StoreResult<T>> results) {
  std::vector<T> values;
  for (StoreResult<T>& result : results) values.push_back(good(std::move(result)));
  return values;
}

// Asks until the answer is definite. Bounded: a store that never comes to an end fails the test.
template <class Ask>
auto insist(Ask ask) {
  for (int round = 0; round < 500; ++round) {
    auto result = ask();
    const bool again = !result && (result.error() == StoreError::contended ||
                                   result.error() == StoreError::in_doubt);
    if (!again) return good(std::move(result));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  throw std::runtime_error("store: contended for ever");
}

}  // namespace

::testing::AssertionResult same(const Record& found, const Record& wanted) {
  if (found == wanted) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "found " << name_of(found) << ", wanted " << name_of(wanted) << "; differs in "
         << differences(found, wanted);
}

::testing::AssertionResult same(const std::optional<Record>& found, const Record& wanted) {
  if (found) return same(*found, wanted);
  return ::testing::AssertionFailure() << "found no row, wanted " << name_of(wanted);
}

::testing::AssertionResult same(const SharedRecord& found, const Record& wanted) {
  return same(found ? std::optional(*found) : std::nullopt, wanted);
}

::testing::AssertionResult same(const std::vector<Record>& found,
                                const std::vector<Record>& wanted) {
  if (found == wanted) return ::testing::AssertionSuccess();
  auto failure = ::testing::AssertionFailure();
  failure << "found " << found.size() << " rows, wanted " << wanted.size();
  for (const Record& row : found) failure << "\n  found  " << name_of(row);
  for (const Record& row : wanted) failure << "\n  wanted " << name_of(row);
  return failure;
}

Written Client::insert(const Record& fresh) { return good(run(store_->insert_or_read_one(fresh))); }

std::vector<Written> Client::insert(const std::vector<Record>& fresh) {
  return all_good(run(store_->insert_or_read(fresh)));
}

Written Client::replace(const Record& next, const Guard& expected,
                        std::optional<AuditEntry> audit) {
  return good(run(store_->replace_one(Replacement{next, expected, std::move(audit)})));
}

std::vector<Written> Client::replace(const std::vector<Replacement>& batch) {
  return all_good(run(store_->replace(batch)));
}

bool Client::erase(const Record& row, const Guard& expected) {
  const std::vector<bool> erased = erase({Erasure{row.scope, row.key, expected}});
  if (erased.size() != 1) throw std::runtime_error("erase: not one result for one row");
  return erased.front();
}

std::vector<bool> Client::erase(const std::vector<Erasure>& batch) {
  return good(run(store_->erase(batch)));
}

std::optional<Record> Client::find(const Record& like) {
  return good(run(store_->find(like.scope, like.key)));
}

Instant Client::time() { return good(run(store_->time())).now; }

std::vector<Record> Client::lapsed(Instant now, std::size_t rows_max) {
  return good(run(store_->lapsed({now, rows_max})));
}

std::vector<Record> Client::past_retention(Instant now, std::size_t rows_max) {
  return good(run(store_->past_retention({now, rows_max})));
}

std::vector<Record> Client::undetermined(Instant now, std::size_t rows_max) {
  return good(run(store_->undetermined({now, rows_max})));
}

std::vector<Record> Client::pending(Instant now, std::size_t rows_max) {
  return good(testing::run(store_->pending({now, rows_max})));
}

std::size_t Client::count_active(const Scope& scope, std::size_t up_to) {
  return good(testing::run(store_->count_active(scope, up_to)));
}

void Client::keep_evidence(const LateEvidence& evidence) {
  good(run(store_->keep_evidence(evidence)));
}

Written Client::insist_insert(const Record& fresh) {
  return insist([&] { return run(store_->insert_or_read_one(fresh)); });
}

Written Client::insist_replace(const Record& next, const Guard& expected) {
  return insist([&] { return run(store_->replace_one(Replacement{next, expected, {}})); });
}

bool Client::insist_erase(const Record& row) {
  return insist([&] {
           return run(store_->erase({Erasure{row.scope, row.key, guard_of(row)}}));
         })
      .front();
}

StoreContract::StoreContract()
    : now_(std::chrono::floor<Duration>(std::chrono::system_clock::now())),
      harness_(GetParam().open()),
      client_(harness_->connect()) {}

Record StoreContract::held(std::string_view key, std::string_view owner) const {
  return testing::an_in_progress_record(key, owner, now_);
}

Record StoreContract::taken_over(const Record& row, std::string_view owner) const {
  Record next = row;
  next.state = InProgress{now_, now_ + row.policy.lease};
  next.owner.text = owner;
  next.fence.number += 1;
  next.attempt += 1;
  return next;
}

Record StoreContract::in_state(const Record& row, Status status) const {
  return testing::in_state(row, status, now_);
}

void StoreContract::race(int threads, const std::function<void(Client&, int)>& body) {
  std::vector<Client> clients;
  for (int thread = 0; thread < threads; ++thread) clients.push_back(connect());
  std::latch start(threads);
  std::mutex mutex;
  std::exception_ptr failure;
  {
    std::vector<std::jthread> running;
    for (int thread = 0; thread < threads; ++thread) {
      running.emplace_back([&, thread] {
        start.arrive_and_wait();
        try {
          body(clients[std::size_t(thread)], thread);
        } catch (...) {
          const std::lock_guard lock(mutex);
          failure = std::current_exception();
        }
      });
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace pawl
