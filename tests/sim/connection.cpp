#include <utility>

#include "tests/sim/connection_call.hpp"
#include "tests/sim/key_exchange.hpp"

namespace pawl::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration hung_after = seconds(5);

std::string names(const Record& record) { return text_of({record.scope, record.key}); }

}  // namespace

Connection::Connection(Scheduler& scheduler, Server& server, Chaos& chaos, History& history,
                       Process& process, Stream stream, std::string who)
    : scheduler_(scheduler),
      server_(server),
      chaos_(chaos),
      history_(history),
      process_(process),
      stream_(stream),
      who_(std::move(who)) {}

// What becomes of one call. Every fault is drawn at every call, so that sparing one does not move
// the others.
Connection::Plan Connection::plan(bool writes) {
  const Duration there = stream_.between(milliseconds(0), milliseconds(stream_.one_in(4) ? 40 : 3));
  const Duration back = stream_.between(milliseconds(0), milliseconds(stream_.one_in(4) ? 40 : 3));
  const Duration slow = stream_.between(milliseconds(100), seconds(8));
  const Duration late = stream_.between(milliseconds(10), seconds(4));
  const Duration hangs = stream_.between(seconds(10), seconds(200));
  Plan plan{.apply_after = there, .reply_after = there + back, .error = {}};
  if (chaos_.strikes(Fault::store_slow, stream_)) {
    const bool on_the_way_there = stream_.one_in(2);
    if (on_the_way_there) *plan.apply_after += slow;
    plan.reply_after += slow;
  }
  const bool unavailable = chaos_.strikes(Fault::store_unavailable, stream_);
  const bool contended = chaos_.strikes(Fault::store_contended, stream_);
  const bool ack_lost = chaos_.strikes(Fault::store_ack_lost, stream_);
  const bool write_lost = chaos_.strikes(Fault::store_write_lost, stream_);
  const bool write_late = chaos_.strikes(Fault::store_write_late, stream_);
  const bool write_hangs = chaos_.strikes(Fault::store_write_hangs, stream_);
  const bool cut = scheduler_.now() < cut_until_;
  if (unavailable || cut || server_.down()) {
    plan.apply_after.reset();
    plan.error = StoreError::unavailable;
  } else if (contended && writes) {
    plan.apply_after.reset();
    plan.error = StoreError::contended;
  } else if (write_lost && writes) {
    plan.apply_after.reset();
    plan.error = StoreError::in_doubt;
  } else if (write_late && writes) {
    plan.apply_after = plan.reply_after + late;
    plan.error = StoreError::in_doubt;
  } else if (write_hangs && writes) {  // a commit that waits for its standby
    plan.apply_after = plan.reply_after + hangs;
    plan.error = StoreError::in_doubt;
  } else if (ack_lost && writes) {
    plan.error = StoreError::in_doubt;
  }
  return plan;
}

void Connection::hear(std::int64_t purge_epoch) {
  heard_epoch_ = std::max(heard_epoch_, purge_epoch);
  if (cache_ != nullptr) cache_->hear(purge_epoch);
}

namespace {

using Rows = std::vector<StoreResult<Written>>;

Rows for_each_row(Expected<Rows, StoreError> result, std::size_t rows) {
  if (result) return std::move(*result);
  return Rows(rows, StoreResult<Written>(Unexpected{result.error()}));
}

}  // namespace

Task<Rows> Connection::insert_or_read(std::vector<Record> fresh) {
  const std::size_t rows = fresh.size();
  std::string what;
  if (history_.wanted())
    what = "asks to insert " + names(fresh.front()) + " for " + fresh.front().owner.text;
  const bool unreadable = chaos_.strikes(Fault::store_row_unreadable, stream_);
  // A statement that found its row taken writes nothing, however late its commit comes; and while
  // it waits for its commit nobody else can insert that row.
  const Identity first{fresh.front().scope, fresh.front().key};
  const bool taken = server_.has(first);
  std::function<Rows()> apply = [&server = server_, unreadable, first, taken,
                                 asked = scheduler_.now(), &scheduler = scheduler_,
                                 fresh = std::move(fresh)] {
    const bool gone_by = taken || server.changed_since(first, asked);
    if (gone_by && scheduler.now() - asked > hung_after) {
      return Rows(fresh.size(), StoreResult<Written>(Unexpected{StoreError::contended}));
    }
    Rows shown = server.insert_or_read(fresh);
    for (StoreResult<Written>& row : shown) {
      if (unreadable && row && !row->mine) row = Unexpected{StoreError::unreadable};
    }
    return shown;
  };
  Expected<Rows, StoreError> result =
      co_await call(std::move(what), "store.insert_or_read", true, std::move(apply));
  Rows found = for_each_row(std::move(result), rows);
  for (const StoreResult<Written>& row : found) {
    if (row) hear(row->purge_epoch);
  }
  co_return found;
}

Task<Rows> Connection::replace(std::vector<Replacement> batch) {
  const std::size_t rows = batch.size();
  std::string what;
  if (history_.wanted()) {
    for (const Replacement& change : batch) {
      what += (what.empty() ? "asks to make " : ", ") + names(change.next) + " " +
              std::string(to_text(change.expected.status)) + " -> " +
              std::string(to_text(status_of(change.next)));
    }
  }
  // Of several rows one may fail alone: a lock that somebody holds.
  std::vector<bool> fails;
  for (std::size_t i = 0; i < rows; ++i) {
    fails.push_back(rows > 1 && chaos_.strikes(Fault::store_row_fails, stream_));
  }
  std::function<Rows()> apply = [&server = server_, fails, batch = std::move(batch)] {
    return server.replace_but(batch, fails);
  };
  Expected<Rows, StoreError> result =
      co_await call(std::move(what), "store.replace", true, std::move(apply));
  Rows found = for_each_row(std::move(result), rows);
  for (const StoreResult<Written>& row : found) {
    if (row) hear(row->purge_epoch);
  }
  co_return found;
}

Task<StoreResult<std::vector<bool>>> Connection::erase(std::vector<Erasure> batch) {
  using Reply = StoreResult<std::vector<bool>>;
  std::string what;
  if (history_.wanted()) {
    for (const Erasure& erasure : batch) {
      what += (what.empty() ? "asks to erase " : ", ") + text_of({erasure.scope, erasure.key});
    }
  }
  std::function<Reply()> apply = [&server = server_, batch = std::move(batch)] {
    return server.erase(batch);
  };
  Expected<Reply, StoreError> result =
      co_await call(std::move(what), "store.erase", true, std::move(apply));
  co_return flattened(std::move(result));
}

Task<StoreResult<std::optional<Record>>> Connection::find(Scope scope, Key key) {
  using Reply = StoreResult<std::optional<Record>>;
  std::string what;
  if (history_.wanted()) what = "looks up " + text_of({scope, key});
  const bool unreadable = chaos_.strikes(Fault::store_row_unreadable, stream_);
  std::function<Reply()> apply = [&server = server_, scope, key, unreadable]() -> Reply {
    Reply found = server.find(scope, key);
    if (unreadable && found && *found) return Unexpected{StoreError::unreadable};
    return found;
  };
  Expected<Reply, StoreError> result =
      co_await call(std::move(what), "store.find", false, std::move(apply));
  // Between a look at a grant and the write that follows from it the world may change: it hurts
  // most there.
  if (is_of_key_api({scope, key})) {
    const Duration slow = stream_.between(seconds(2), seconds(10));
    bool stalls = false;
    for (int i = 0; i < 3; ++i) stalls |= chaos_.strikes(Fault::store_slow, stream_);
    const Process::Ticket ticket = process_.ticket();
    if (stalls) process_.wake(ticket, scheduler_.now() + slow, "store.find");
    if (stalls) co_await process_.park(ticket);
  }
  co_return flattened(std::move(result));
}

Task<StoreResult<StoreClock>> Connection::time() {
  std::function<StoreResult<StoreClock>()> apply = [&server = server_] { return server.time(); };
  Expected<StoreResult<StoreClock>, StoreError> result =
      co_await call(std::string("asks the time"), "store.time", false, std::move(apply));
  if (result && *result) hear((*result)->purge_epoch);
  co_return flattened(std::move(result));
}

using Page = StoreResult<std::vector<Record>>;

Task<Page> Connection::lapsed(PassQuery query) {
  std::function<Page()> apply = [&server = server_, query] { return server.lapsed(query); };
  Expected<Page, StoreError> result = co_await call(std::string("looks for lapsed leases"),
                                                    "store.lapsed", false, std::move(apply));
  co_return flattened(std::move(result));
}

Task<Page> Connection::past_retention(PassQuery query) {
  std::function<Page()> apply = [&server = server_, query] { return server.past_retention(query); };
  Expected<Page, StoreError> result =
      co_await call(std::string("looks for what is past retention"), "store.past_retention", false,
                    std::move(apply));
  co_return flattened(std::move(result));
}

Task<Page> Connection::undetermined(PassQuery query) {
  std::function<Page()> apply = [&server = server_, query] { return server.undetermined(query); };
  Expected<Page, StoreError> result = co_await call(std::string("looks for unknown outcomes"),
                                                    "store.undetermined", false, std::move(apply));
  co_return flattened(std::move(result));
}

Task<Page> Connection::pending(PassQuery query) {
  query.rows_max = std::min(query.rows_max, rows_max_);
  std::function<Page()> apply = [&server = server_, query] { return server.pending(query); };
  Expected<Page, StoreError> result = co_await call(std::string("looks for accepted requests"),
                                                    "store.pending", false, std::move(apply));
  co_return flattened(std::move(result));
}

Task<StoreResult<std::size_t>> Connection::count_active(Scope scope, std::size_t up_to) {
  using Reply = StoreResult<std::size_t>;
  std::function<Reply()> apply = [&server = server_, scope = std::move(scope), up_to] {
    return server.count_active(scope, up_to);
  };
  Expected<Reply, StoreError> result =
      co_await call(std::string("counts open keys"), "store.count_active", false, std::move(apply));
  co_return flattened(std::move(result));
}

Task<StoreResult<Done>> Connection::keep_evidence(LateEvidence evidence) {
  using Reply = StoreResult<Done>;
  std::string what;
  if (history_.wanted()) what = "keeps evidence about " + text_of({evidence.scope, evidence.key});
  std::function<Reply()> apply = [&server = server_, evidence = std::move(evidence)] {
    return server.keep_evidence(evidence);
  };
  Expected<Reply, StoreError> result =
      co_await call(std::move(what), "store.keep_evidence", true, std::move(apply));
  co_return flattened(std::move(result));
}

}  // namespace pawl::sim
