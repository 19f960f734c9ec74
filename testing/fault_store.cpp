#include "testing/fault_store.hpp"

namespace pawl::testing {
namespace {

// A read that fails has written nothing, whatever the fault.
StoreError error_of(Fault fault) {
  return fault == Fault::unavailable ? StoreError::unavailable : StoreError::in_doubt;
}

std::vector<StoreResult<Written>> all_failed(std::size_t rows, Fault fault) {
  return std::vector<StoreResult<Written>>(
      rows, StoreResult<Written>(Unexpected<StoreError>{error_of(fault)}));
}

}  // namespace

std::optional<Fault> FaultStore::next() {
  const int call = calls_++;
  if (call < fail_.call || call >= fail_.call + fail_.times) return std::nullopt;
  return fail_.fault;
}

Task<std::vector<StoreResult<Written>>> FaultStore::insert_or_read(std::vector<Record> fresh) {
  const std::optional<Fault> fault = next();
  const std::size_t rows = fresh.size();
  if (!fault) co_return co_await real_.insert_or_read(std::move(fresh));
  if (*fault == Fault::in_doubt_written) co_await real_.insert_or_read(std::move(fresh));
  co_return all_failed(rows, *fault);
}

Task<std::vector<StoreResult<Written>>> FaultStore::replace(std::vector<Replacement> batch) {
  if (const auto meanwhile = std::exchange(before_replace_, nullptr)) meanwhile();
  const std::optional<Fault> fault = next();
  const std::size_t rows = batch.size();
  if (!fault) co_return co_await real_.replace(std::move(batch));
  if (*fault == Fault::in_doubt_written) co_await real_.replace(std::move(batch));
  co_return all_failed(rows, *fault);
}

Task<StoreResult<std::vector<bool>>> FaultStore::erase(std::vector<Erasure> batch) {
  const std::optional<Fault> fault = next();
  if (!fault) co_return co_await real_.erase(std::move(batch));
  if (*fault == Fault::in_doubt_written) {
    static_cast<void>(co_await real_.erase(std::move(batch)));
  }
  co_return Unexpected{error_of(*fault)};
}

Task<StoreResult<std::optional<Record>>> FaultStore::find(Scope scope, Key key) {
  if (const auto meanwhile = std::exchange(before_find_, nullptr)) meanwhile();
  if (next()) co_return Unexpected{StoreError::unavailable};
  co_return co_await real_.find(std::move(scope), std::move(key));
}

Task<StoreResult<StoreClock>> FaultStore::time() {
  if (next()) co_return Unexpected{StoreError::unavailable};
  co_return co_await real_.time();
}

Task<StoreResult<std::vector<Record>>> FaultStore::lapsed(PassQuery query) {
  if (next()) co_return Unexpected{StoreError::unavailable};
  co_return co_await real_.lapsed(query);
}

Task<StoreResult<std::vector<Record>>> FaultStore::past_retention(PassQuery query) {
  if (next()) co_return Unexpected{StoreError::unavailable};
  co_return co_await real_.past_retention(query);
}

Task<StoreResult<std::vector<Record>>> FaultStore::undetermined(PassQuery query) {
  if (next()) co_return Unexpected{StoreError::unavailable};
  co_return co_await real_.undetermined(query);
}

Task<StoreResult<std::vector<Record>>> FaultStore::pending(PassQuery query) {
  if (next()) co_return Unexpected{StoreError::unavailable};
  co_return co_await real_.pending(query);
}

Task<StoreResult<std::size_t>> FaultStore::count_active(Scope scope, std::size_t up_to) {
  if (next()) co_return Unexpected{StoreError::unavailable};
  co_return co_await real_.count_active(std::move(scope), up_to);
}

Task<StoreResult<Done>> FaultStore::keep_evidence(LateEvidence evidence) {
  const std::optional<Fault> fault = next();
  if (!fault) co_return co_await real_.keep_evidence(std::move(evidence));
  if (*fault == Fault::in_doubt_written) {
    static_cast<void>(co_await real_.keep_evidence(std::move(evidence)));
  }
  co_return Unexpected{error_of(*fault)};
}

}  // namespace pawl::testing
