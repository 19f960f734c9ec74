#include "src/adapters/sealed/sealed_store.hpp"

#include "src/adapters/sealed/sealed_records.hpp"
#include "src/core/sealed.hpp"

namespace pawl::sealed {
namespace {

using Results = std::vector<StoreResult<Written>>;

constexpr int wider_pages_max = 3;

// Of a batch of which some rows were refused before the store was asked: which results are those
// of the rows that went there.
struct Share {
  std::vector<std::size_t> places;
  Results results;  // of the others, in their places

  explicit Share(std::size_t rows) : results(rows, Unexpected{StoreError::unreadable}) {}
};

// Nothing to be sealed now, and nothing later that the write makes possible.
bool needs_no_key(const Replacement& change) {
  return !has_clear(change.next) && change.next.fence == change.expected.fence;
}

}  // namespace

Task<Results> SealedStore::insert_or_read(std::vector<Record> fresh) {
  Share share(fresh.size());
  std::vector<Record> batch;
  batch.reserve(fresh.size());
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (keys_->on()) {
      const StoreResult<SharedKey> key = co_await keys_->to_seal(fresh[i].scope);
      if (!key) {
        share.results[i] = Unexpected{key.error()};
        continue;
      }
      seal_record(**key, fresh[i]);
    }
    share.places.push_back(i);
    batch.push_back(std::move(fresh[i]));
  }
  Results written = co_await store_->insert_or_read(std::move(batch));
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i]) written[i] = co_await opened(std::move(*written[i]));
    share.results[share.places[i]] = std::move(written[i]);
  }
  co_return std::move(share.results);
}

Task<Results> SealedStore::replace(std::vector<Replacement> batch) {
  Share share(batch.size());
  std::vector<Replacement> changes;
  changes.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (keys_->on() && !needs_no_key(batch[i])) {
      const StoreResult<SharedKey> key = co_await keys_->to_seal(batch[i].next.scope);
      if (!key) {
        share.results[i] = Unexpected{key.error()};
        continue;
      }
      seal_record(**key, batch[i].next);
    }
    share.places.push_back(i);
    changes.push_back(std::move(batch[i]));
  }
  Results written = co_await store_->replace(std::move(changes));
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i]) written[i] = co_await opened(std::move(*written[i]));
    share.results[share.places[i]] = std::move(written[i]);
  }
  co_return std::move(share.results);
}

Task<StoreResult<Written>> SealedStore::opened(Written written) {
  keys_->hear(written.purge_epoch);
  if (!written.current) co_return std::move(written);
  if (has_sealed(*written.current)) {
    StoreResult<Record> record = co_await opened_record(*keys_, *written.current);
    // Our own write is done although it cannot be read back: who asks again as the same owner
    // knows.
    if (!record) co_return Unexpected{written.mine ? StoreError::in_doubt : record.error()};
    written.current = share(std::move(*record));
  } else if (keys_->on() && status_of(*written.current) == Status::completed) {
    co_await seal_in_place(written.current);
  }
  co_return std::move(written);
}

// Best effort: whoever finds it next does the same.
Task<void> SealedStore::seal_in_place(SharedRecord clear) {
  const StoreResult<SharedKey> key = co_await keys_->to_seal(clear->scope);
  if (!key) co_return;
  Replacement change{*clear, guard_of(*clear), std::nullopt};
  seal_record(**key, change.next);
  co_await store_->replace_one(std::move(change));
}

Task<StoreResult<std::optional<Record>>> SealedStore::find(Scope scope, Key key) {
  StoreResult<std::optional<Record>> found =
      co_await store_->find(std::move(scope), std::move(key));
  if (!found || !*found || !has_sealed(**found)) co_return std::move(found);
  StoreResult<Record> record = co_await opened_record(*keys_, std::move(**found));
  if (!record) co_return Unexpected{record.error()};
  co_return std::optional<Record>(std::move(*record));
}

Task<StoreResult<StoreClock>> SealedStore::time() {
  StoreResult<StoreClock> clock = co_await store_->time();
  if (clock) keys_->hear(clock->purge_epoch);
  co_return clock;
}

Task<StoreResult<std::vector<Record>>> SealedStore::opened_page(
    StoreResult<std::vector<Record>> page) {
  if (!page || !keys_->on()) co_return std::move(page);
  for (Record& record : *page) {
    if (!has_sealed(record)) continue;
    StoreResult<Record> opened = co_await opened_record(*keys_, record);
    // A tombstone here would not be the row that the pass must name.
    if (opened && status_of(*opened) == status_of(record)) record = std::move(*opened);
  }
  co_return std::move(page);
}

Task<StoreResult<std::vector<Record>>> SealedStore::lapsed(PassQuery query) {
  StoreResult<std::vector<Record>> page = co_await store_->lapsed(query);
  co_return co_await opened_page(std::move(page));
}

Task<StoreResult<std::vector<Record>>> SealedStore::past_retention(PassQuery query) {
  StoreResult<std::vector<Record>> page = co_await store_->past_retention(query);
  co_return co_await opened_page(std::move(page));
}

Task<StoreResult<std::vector<Record>>> SealedStore::undetermined(PassQuery query) {
  StoreResult<std::vector<Record>> page = co_await store_->undetermined(query);
  co_return co_await opened_page(std::move(page));
}

Task<StoreResult<std::vector<Record>>> SealedStore::pending(PassQuery query) {
  // Those that do not open must not hide the others behind them.
  PassQuery wider = query;
  for (int round = 0;; ++round) {
    StoreResult<std::vector<Record>> page = co_await store_->pending(wider);
    const bool full = page && page->size() >= wider.rows_max;
    page = co_await opened_page(std::move(page));
    if (!page) co_return std::move(page);
    const std::size_t left_out = std::erase_if(*page, has_sealed);
    unreadable_ = left_out;
    if (full && left_out > 0 && page->size() < query.rows_max && round < wider_pages_max) {
      wider.rows_max *= 4;
      continue;
    }
    if (page->size() > query.rows_max) page->resize(query.rows_max);
    co_return std::move(page);
  }
}

Task<StoreResult<Done>> SealedStore::keep_evidence(LateEvidence evidence) {
  if (!evidence.response || !keys_->on()) co_return co_await store_->keep_evidence(evidence);
  const StoreResult<SharedKey> key = co_await keys_->to_seal(evidence.scope);
  if (!key && key.error() != StoreError::unreadable) co_return Unexpected{key.error()};
  if (key) {
    const std::string place =
        place_of_answer("evidence", evidence.scope, evidence.key, evidence.fence);
    evidence.response = sealed_answer(**key, place, *evidence.response);
  } else {
    evidence.response->headers.clear();
    evidence.response->body.reset();
  }
  co_return co_await store_->keep_evidence(std::move(evidence));
}

}  // namespace pawl::sealed
