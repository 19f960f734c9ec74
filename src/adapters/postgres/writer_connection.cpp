#include "src/adapters/postgres/writer_connection.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/adapters/postgres/failures.hpp"

namespace pawl::postgres {
namespace {

namespace net = boost::asio;

constexpr std::chrono::milliseconds gather_max{2};
// Longer than nearly all batches take; shorter than one waits for a row that somebody holds.
constexpr std::chrono::milliseconds stuck_after{20};

void answer_all(const Writes& batch, StoreError error) {
  for (const auto& write : batch) {
    if (!write->result) write->answer(Unexpected{error});
  }
}

}  // namespace

WriterConnection::WriterConnection(const LinkContext& context, WriteQueue& queue, BusyKeys& busy,
                                   Finished& finished, std::function<void()> released,
                                   const WriterConnection* stands_by_for)
    : context_(context),
      queue_(queue),
      busy_(busy),
      finished_(finished),
      released_(std::move(released)),
      stands_by_for_(stands_by_for),
      link_(context),
      idle_(context.executor) {}

void WriterConnection::stop() {
  stopped_ = true;
  link_.stop();
  idle_.cancel();
}

Deadline WriterConnection::deadline() const {
  return std::chrono::steady_clock::now() + context_.options.operation_timeout;
}

bool WriterConnection::stuck() const {
  return nowhere_since_ && std::chrono::steady_clock::now() - *nowhere_since_ >= stuck_after;
}

WriteQueue* WriterConnection::next_queue() const {
  if (!queue_.empty()) return &queue_;
  const bool helps = stands_by_for_ != nullptr && stands_by_for_->stuck();
  return helps && !stands_by_for_->queue_.empty() ? &stands_by_for_->queue_ : nullptr;
}

Writes WriterConnection::take() {
  taken_from_ = &queue_;
  Writes batch = queue_.take();
  const bool helps = stands_by_for_ != nullptr && stands_by_for_->stuck();
  if (!batch.empty() || !helps) return batch;
  taken_from_ = &stands_by_for_->queue_;
  return taken_from_->take();
}

// A lane that stands by polls: nobody tells it that nothing happens.
Task<void> WriterConnection::rest() {
  const bool watching = stands_by_for_ != nullptr && !stands_by_for_->queue_.empty();
  idle_.expires_at(watching ? std::chrono::steady_clock::now() + stuck_after : Deadline::max());
  co_await idle_.async_wait(as_result);
}

Task<void> WriterConnection::run() {
  while (!stopped_) {
    if (next_queue() == nullptr) {
      co_await rest();
      continue;
    }
    if (!nowhere_since_) nowhere_since_ = std::chrono::steady_clock::now();
    // Connected first, taken then: what waits for a server that is away runs into its own deadline.
    const std::shared_ptr<Connection> connection = co_await link_.get(Deadline::max());
    if (!connection) continue;
    co_await gather();
    if (stopped_) break;
    Writes batch = take();
    nowhere_since_.reset();
    if (batch.empty()) {  // all that waits is about keys that another lane has on its way
      co_await rest();
      continue;
    }
    const std::uint64_t number = batch.front()->batch;
    const Deadline start = std::chrono::steady_clock::now();
    nowhere_since_ = start;
    co_await write(batch);
    finish(batch, number);
    const Deadline end = std::chrono::steady_clock::now();
    nowhere_since_.reset();
    rows_before_ = batch.size();
    gather_until_ = end + std::min<Deadline::duration>((end - start) / 4, gather_max);
  }
}

// The callers of the last batch were woken together and most come back at once. A batch that
// started with the first of them would make all the others wait for it to commit; so a lane that
// was busy lets them come, for a small part of what that would cost. A lone write waits for nobody,
// nor does one that comes later.
Task<void> WriterConnection::gather() {
  if (rows_before_ < 2) co_return;
  const WriteQueue* const queue = next_queue();
  while (!stopped_ && queue != nullptr && queue->size() < rows_before_ &&
         std::chrono::steady_clock::now() < gather_until_) {
    idle_.expires_at(gather_until_);
    co_await idle_.async_wait(as_result);
  }
}

// What went back to the queue may be in another lane's batch by now: its key is that one's.
void WriterConnection::finish(const Writes& batch, std::uint64_t number) {
  for (const auto& write : batch) {
    if (!write->queued && write->batch == number) busy_.erase(write->identity);
  }
  released_();
}

// A batch, and where one row spoils it for the others, its halves, their halves, ...
Task<void> WriterConnection::write(Writes batch) {
  std::vector<Writes> parts;
  parts.push_back(std::move(batch));
  while (!parts.empty()) {
    const Writes part = std::move(parts.back());
    parts.pop_back();
    const std::shared_ptr<Connection> connection = co_await link_.get(deadline());
    if (!connection) {
      answer_all(part, StoreError::unavailable);
      finished_.wake();
      continue;
    }
    Writes split;
    co_await attempt(*connection, part, split);
    finished_.wake();
    if (split.empty()) continue;
    const auto middle = split.begin() + static_cast<std::ptrdiff_t>(split.size() / 2);
    parts.emplace_back(middle, split.end());
    parts.emplace_back(split.begin(), middle);
    if (parts.back().empty()) parts.pop_back();
  }
}

Task<void> WriterConnection::attempt(Connection& connection, const Writes& batch, Writes& split) {
  const std::vector<Writes> parts = by_kind(batch);
  std::vector<Query> queries;
  std::vector<std::size_t> ends;  // where each part's results end; the first is that of `begin`
  for (const Writes& part : parts) {
    const auto note_id = static_cast<std::int64_t>(context_.chance() >> 1U);
    std::vector<Query> more = statements_for(part, note_id, context_.statements.distributed());
    std::ranges::move(more, std::back_inserter(queries));
    ends.push_back(1 + queries.size());
  }
  const auto results = co_await connection.exchange(std::move(queries), deadline());
  if (!results) {
    fail(batch, results.error(), split);
    co_return;
  }
  context_.health.good();
  const std::span<const Rows> all(*results);
  Writes unclear;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t start = i == 0 ? 1 : ends[i - 1];
    const Writes missed =
        answer(parts[i], store_clock(*results), all.subspan(start, ends[i] - start));
    unclear.insert(unclear.end(), missed.begin(), missed.end());
  }
  if (unclear.empty()) co_return;
  finished_.wake();
  co_await clear_up(connection, unclear);
}

// Rare, so it costs a second round trip there rather than a lookup of every row in the first.
Task<void> WriterConnection::clear_up(Connection& connection, Writes unclear) {
  std::vector<Query> queries;
  queries.push_back(read_again(unclear));
  const auto results = co_await connection.exchange(std::move(queries), deadline());
  if (!results) {
    answer_all(unclear, StoreError::in_doubt);
    co_return;
  }
  go_again(answer_again(unclear, *results));
}

void WriterConnection::go_again(const Writes& writes) {
  for (const auto& write : writes) {
    if (write->kind != WriteKind::insert) write->kind = WriteKind::replace_all;
    taken_from_->put_back(write);
  }
}

void WriterConnection::fail(const Writes& batch, const Failure& failure, Writes& split) {
  switch (failure.kind) {
    case Failure::Kind::not_sent:
      for (const auto& write : batch) taken_from_->put_back(write);
      return;
    case Failure::Kind::broken:
      context_.health.bad("PostgreSQL: " + failure.message);
      answer_all(batch, StoreError::in_doubt);
      return;
    case Failure::Kind::refused: break;
  }
  if (failure.send_again) {
    split = batch;
    return;
  }
  switch (remedy_for(failure.sqlstate)) {
    case Remedy::split:
      if (batch.size() > 1) {
        split = batch;
      } else {
        answer_all(batch, error_of_one_row(failure.sqlstate));
      }
      return;
    case Remedy::give_up:
      context_.health.bad("PostgreSQL: " + failure.message);
      answer_all(batch, StoreError::unavailable);
  }
}

}  // namespace pawl::postgres
