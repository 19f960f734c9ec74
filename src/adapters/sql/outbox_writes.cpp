// What a worker writes about its rows: each by itself, many in a commit.
#include <algorithm>
#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <iterator>
#include <tuple>

#include "src/adapters/sql/outbox_rows.hpp"
#include "src/adapters/sql/outbox_store.hpp"

namespace pawl::sql {
namespace {

constexpr std::size_t batch_max = 128;

// All or none. What a worker writes is plain text and numbers, so no row can be bad by itself; but
// one may be held by another transaction, or damaged.
bool may_be_one_rows_fault(StoreError error) {
  return error == StoreError::contended || error == StoreError::unreadable;
}

Result<std::vector<bool>> write_batch(Session& session,
                                      const std::vector<const OutboxWrite*>& writes) {
  // In one order, so that two batches never wait for each other.
  std::vector<std::size_t> order(writes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    return std::tie(writes[i]->next.scope.text, writes[i]->next.id);
  });
  std::vector<Parameters> each;
  each.reserve(writes.size());
  for (const std::size_t i : order) {
    const OutboxRow& next = writes[i]->next;
    each.push_back(outbox_write_parameters(next, next.owner, writes[i]->needs_lease));
  }
  Result<Transaction> transaction =
      Transaction::begin(session, Durability::durable, LockWait::brief);
  if (!transaction) return Unexpected{transaction.error()};
  const Result<std::vector<Rows>> written = session.run_each(outbox_write_sql(session), each);
  if (!written) return Unexpected{written.error()};
  const Result<Done> committed = transaction->commit();
  if (!committed) return Unexpected{committed.error()};
  std::vector<bool> mine(writes.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) mine[order[i]] = !(*written)[i].empty();
  return mine;
}

}  // namespace

Task<StoreResult<bool>> SqlOutboxStore::write(OutboxWrite write) {
  namespace net = boost::asio;
  PAWL_CHECK(!write.next.owner.empty());
  std::optional<StoreResult<bool>> mine;
  auto start = [this, &write, &mine](auto handler) {
    join({&write, &mine, waiting::make_waiter(std::move(handler))});
  };
  co_await net::async_initiate<const net::use_awaitable_t<>&, void()>(start, net::use_awaitable);
  co_return *mine;
}

void SqlOutboxStore::join(PendingWrite pending) {
  {
    const std::lock_guard lock(mutex_);
    pending_.push_back(std::move(pending));
    if (std::exchange(writing_, true)) return;
  }
  port_.post([this](Session& session) { write_pending(session); });
}

SqlOutboxStore::Batch SqlOutboxStore::take_batch() {
  Batch batch;
  const std::lock_guard lock(mutex_);
  if (!halves_.empty()) {
    batch = std::move(halves_.back());
    halves_.pop_back();
    return batch;
  }
  while (!pending_.empty() && batch.size() < batch_max) {
    batch.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  return batch;
}

void SqlOutboxStore::halve(Batch batch) {
  const auto middle = batch.begin() + static_cast<std::ptrdiff_t>(batch.size() / 2);
  Batch second(std::make_move_iterator(middle), std::make_move_iterator(batch.end()));
  batch.erase(middle, batch.end());
  const std::lock_guard lock(mutex_);
  halves_.push_back(std::move(second));
  halves_.push_back(std::move(batch));
}

void SqlOutboxStore::write_pending(Session& session) {
  Batch batch = take_batch();
  std::vector<const OutboxWrite*> writes;
  for (const PendingWrite& each : batch) writes.push_back(each.write);
  const Result<std::vector<bool>> written = write_batch(session, writes);
  if (!written) port_.remember(written.error().text);
  waiting::Waiters waiters;
  if (!written && batch.size() > 1 && may_be_one_rows_fault(written.error().kind)) {
    halve(std::move(batch));
    batch.clear();
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (written) {
      batch[i].mine->emplace(static_cast<bool>((*written)[i]));
    } else {
      batch[i].mine->emplace(Unexpected{written.error().kind});
    }
    waiters.push_back(std::move(batch[i].waiter));
  }
  bool more = false;
  {
    const std::lock_guard lock(mutex_);
    more = !pending_.empty() || !halves_.empty();
    writing_ = more;
  }
  // At the end of the queue: the other ports have a turn in between.
  if (more) port_.post([this](Session& again) { write_pending(again); });
  waiting::wake(std::move(waiters));  // the last: whoever wakes up may destroy this store
}

}  // namespace pawl::sql
