#include "src/adapters/sealed/sealed_ledger_store.hpp"

#include "src/adapters/sealed/sealed_records.hpp"
#include "src/core/sealed.hpp"

namespace pawl::sealed {

Task<StoreResult<LedgerPage>> SealedLedgerStore::page(LedgerQuery query) {
  StoreResult<LedgerPage> page = co_await store_->page(std::move(query));
  if (!page) co_return page;
  for (LedgerRow& row : page->rows) {
    if (!row.body || row.response_schema_version != sealed_response_version) continue;
    std::string place = place_of_answer("response", row.scope, row.key, row.fence);
    StoredResponse sealed{row.response_code, {}, std::move(row.body), sealed_response_version};
    StoreResult<std::optional<StoredResponse>> answer =
        co_await opened_answer(*keys_, row.scope, std::move(place), std::move(sealed));
    row.body = answer && *answer ? std::move((*answer)->body) : std::nullopt;
  }
  co_return page;
}

}  // namespace pawl::sealed
