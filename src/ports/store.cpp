#include "pawl/ports/store.hpp"

namespace pawl {

// Named temporaries: GCC 12 destroys some temporaries of a co_await expression twice.

Task<StoreResult<Written>> Store::insert_or_read_one(Record fresh) {
  std::vector<Record> batch;
  batch.push_back(std::move(fresh));
  std::vector<StoreResult<Written>> results = co_await insert_or_read(std::move(batch));
  PAWL_CHECK(results.size() == 1);
  co_return std::move(results.front());
}

Task<StoreResult<Written>> Store::replace_one(Replacement replacement) {
  std::vector<Replacement> batch;
  batch.push_back(std::move(replacement));
  std::vector<StoreResult<Written>> results = co_await replace(std::move(batch));
  PAWL_CHECK(results.size() == 1);
  co_return std::move(results.front());
}

}  // namespace pawl
