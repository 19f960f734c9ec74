#include "src/ports/store.hpp"

namespace pawl {
namespace {

Task<StoreResult<Written>> only_one(Task<std::vector<StoreResult<Written>>> batch) {
  std::vector<StoreResult<Written>> results = co_await std::move(batch);
  PAWL_CHECK(results.size() == 1);
  co_return std::move(results.front());
}

}  // namespace

// No coroutines: what a coroutine takes by value is moved once more, and a record is large.

Task<StoreResult<Written>> Store::insert_or_read_one(Record fresh) {
  std::vector<Record> batch;
  batch.push_back(std::move(fresh));
  return only_one(insert_or_read(std::move(batch)));
}

Task<StoreResult<Written>> Store::replace_one(Replacement replacement) {
  std::vector<Replacement> batch;
  batch.push_back(std::move(replacement));
  return only_one(replace(std::move(batch)));
}

}  // namespace pawl
