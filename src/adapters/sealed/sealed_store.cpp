#include "src/adapters/sealed/sealed_store.hpp"

#include "src/adapters/sealed/sealed_records.hpp"
#include "src/core/sealed.hpp"

namespace pawl::sealed {
namespace {

using Results = std::vector<StoreResult<Written>>;

constexpr int wider_pages_max = 3;
constexpr int confirmations_max = 3;

// Nothing to be sealed now, and nothing later that the write makes possible.
bool needs_no_key(const Record& next, bool keeps_fence) { return keeps_fence && !has_clear(next); }

const StoredResponse* answer_in(const Record& record) {
  const auto* done = std::get_if<Completed>(&record.state);
  return done == nullptr ? nullptr : &done->response;
}

bool same_answer(const Record& one, const Record& other) {
  const StoredResponse* const here = answer_in(one);
  const StoredResponse* const there = answer_in(other);
  return here != nullptr && there != nullptr && *here == *there;
}

bool same_request(const Record& one, const Record& other) {
  return one.request && one.request == other.request;
}

}  // namespace

struct SealedStore::Sent {
  Record clear;
  Record row;
  std::optional<SealingKey> key;  // none: nothing of it is sealed, and its owner is not known here
  bool keeps_fence = false;

  // What is there as it was sent needs no key to be opened.
  [[nodiscard]] SharedRecord opened(SharedRecord current) const {
    const bool request = same_request(row, *current);
    const bool answer = same_answer(row, *current);
    if (!request && !answer) return current;
    Record record = *current;
    if (request) record.request = clear.request;
    if (answer) std::get<Completed>(record.state).response = *answer_in(clear);
    return share(std::move(record));
  }
  // A renewal waits for no key: its request was sealed when its attempt began, and what was erased
  // since then stays so.
  [[nodiscard]] bool must_be_confirmed(const Written& written) const {
    const bool renewal = keeps_fence && status_of(row) == Status::in_progress;
    if (!key || renewal || !written.mine || written.purge_epoch == key->epoch) return false;
    return same_answer(row, *written.current) || same_request(row, *written.current);
  }
  // The answer; and the request too, where it is new here.
  void seal_anew(const SealingKey& with) {
    std::optional<StoredRequest> request = std::move(row.request);
    row = clear;
    if (keeps_fence) row.request = std::move(request);
    seal_record(*with.key, row);
    key = with;
  }
};

Task<StoreResult<SealedStore::Sent>> SealedStore::sealed(Record next, bool keeps_fence) {
  Sent sent;
  sent.keeps_fence = keeps_fence;
  if (!keys_->on()) {
    sent.row = std::move(next);
    co_return std::move(sent);
  }
  if (keeps_fence) sent.key = held_.find(next);
  if (!sent.key && !needs_no_key(next, keeps_fence)) {
    const StoreResult<SealingKey> key = co_await keys_->to_seal(next.scope);
    const bool is_owners = !key && key.error() == StoreError::unreadable && keeps_fence;
    if (!key) co_return Unexpected{is_owners ? StoreError::unavailable : key.error()};
    sent.key = *key;
  }
  sent.row = next;
  sent.clear = std::move(next);
  if (sent.key) seal_record(*sent.key->key, sent.row);
  co_return std::move(sent);
}

Task<Results> SealedStore::insert_or_read(std::vector<Record> fresh) {
  Results results(fresh.size(), Unexpected{StoreError::unreadable});
  std::vector<std::pair<std::size_t, Sent>> all;  // but those that were refused here
  std::vector<Record> batch;
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    StoreResult<Sent> sent = co_await sealed(std::move(fresh[i]), false);
    if (!sent) {
      results[i] = Unexpected{sent.error()};
      continue;
    }
    batch.push_back(sent->row);
    all.emplace_back(i, std::move(*sent));
  }
  Results written = co_await store_->insert_or_read(std::move(batch));
  for (std::size_t i = 0; i < written.size(); ++i) {
    auto& [place, sent] = all[i];
    if (written[i]) written[i] = co_await finished(std::move(sent), std::move(*written[i]));
    results[place] = std::move(written[i]);
  }
  co_return std::move(results);
}

Task<Results> SealedStore::replace(std::vector<Replacement> batch) {
  Results results(batch.size(), Unexpected{StoreError::unreadable});
  std::vector<std::pair<std::size_t, Sent>> all;  // but those that were refused here
  std::vector<Replacement> changes;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool keeps_fence = batch[i].next.fence == batch[i].expected.fence;
    StoreResult<Sent> sent = co_await sealed(std::move(batch[i].next), keeps_fence);
    if (!sent) {
      results[i] = Unexpected{sent.error()};
      continue;
    }
    changes.push_back({sent->row, batch[i].expected, std::move(batch[i].audit)});
    all.emplace_back(i, std::move(*sent));
  }
  Results written = co_await store_->replace(std::move(changes));
  for (std::size_t i = 0; i < written.size(); ++i) {
    auto& [place, sent] = all[i];
    if (written[i]) written[i] = co_await finished(std::move(sent), std::move(*written[i]));
    results[place] = std::move(written[i]);
  }
  co_return std::move(results);
}

Task<StoreResult<Written>> SealedStore::finished(Sent sent, Written written) {
  keys_->hear(written.purge_epoch);
  if (!written.current) {
    if (sent.keeps_fence) held_.drop(sent.row);
    co_return std::move(written);
  }
  StoreResult<Written> sure = co_await confirmed(sent, std::move(written));
  if (!sure) co_return Unexpected{sure.error()};
  if (sure->mine && sent.key) {
    held_.keep(*sure->current, *sent.key);
  } else if (sent.keeps_fence && guard_of(*sure->current) != guard_of(sent.row)) {
    const bool still_held =
        sure->current->fence == sent.row.fence && status_of(*sure->current) == Status::in_progress;
    if (!still_held) held_.drop(sent.row);
  }
  const bool mine = sure->mine;
  const bool completed = status_of(*sure->current) == Status::completed;
  if (completed && keys_->on() && has_clear(*sure->current)) {
    co_await seal_in_place(sure->current);
  }
  if (sent.key) sure->current = sent.opened(std::move(sure->current));
  StoreResult<Written> opened_row = co_await opened(std::move(*sure));
  // What its owner has learned of it is not dropped because the row as another left it is sealed.
  const bool is_owners =
      sent.keeps_fence && !mine && !opened_row && opened_row.error() == StoreError::unreadable;
  if (is_owners) co_return Unexpected{StoreError::unavailable};
  co_return std::move(opened_row);
}

// The purge epoch rises in the commit that erases a data key. A write at another epoch than the one
// at which its key was read may have come after that: then it is sealed with the scope's new key
// before it counts.
Task<StoreResult<Written>> SealedStore::confirmed(Sent& sent, Written written) {
  for (int round = 0; round < confirmations_max; ++round) {
    if (!sent.must_be_confirmed(written)) co_return std::move(written);
    StoreResult<SealingKey> now = co_await keys_->to_seal(sent.row.scope);
    // One that another thread has read, and perhaps before that epoch, proves nothing.
    if (now && now->epoch != written.purge_epoch) {
      now = co_await keys_->to_seal_now(sent.row.scope);
    }
    if (!now) break;
    if (now->key->generation == sent.key->key->generation) co_return std::move(written);
    Replacement change{sent.row, guard_of(*written.current), std::nullopt};
    sent.seal_anew(*now);
    change.next = sent.row;
    StoreResult<Written> again = co_await store_->replace_one(std::move(change));
    if (!again || !again->mine || !again->current) break;
    keys_->hear(again->purge_epoch);
    written = std::move(*again);
  }
  // It is written, and its owner asks again.
  co_return Unexpected{StoreError::in_doubt};
}

Task<StoreResult<Written>> SealedStore::opened(Written written) {
  if (has_sealed(*written.current)) {
    StoreResult<Record> record = co_await opened_record(*keys_, *written.current);
    // Our own write is done although it cannot be read back: its owner asks again.
    if (!record) co_return Unexpected{written.mine ? StoreError::in_doubt : record.error()};
    written.current = share(std::move(*record));
  }
  co_return std::move(written);
}

// Best effort: the next request that finds it does the same.
Task<void> SealedStore::seal_in_place(SharedRecord clear) {
  StoreResult<Sent> sent = co_await sealed(*clear, true);
  if (!sent || !sent->key) co_return;
  Replacement change{sent->row, guard_of(*clear), std::nullopt};
  StoreResult<Written> written = co_await store_->replace_one(std::move(change));
  if (written && written->current) co_await confirmed(*sent, std::move(*written));
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
  const StoreResult<SealingKey> key = co_await keys_->to_seal_now(evidence.scope);
  if (!key && key.error() != StoreError::unreadable) co_return Unexpected{key.error()};
  if (key) {
    const std::string place =
        place_of_answer("evidence", evidence.scope, evidence.key, evidence.fence);
    evidence.response = sealed_answer(*key->key, place, *evidence.response);
  } else {
    evidence.response->headers.clear();
    evidence.response->body.reset();
  }
  co_return co_await store_->keep_evidence(std::move(evidence));
}

}  // namespace pawl::sealed
