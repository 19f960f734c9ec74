#include "src/adapters/postgres/store_loop.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pawl/types/check.hpp"
#include "src/adapters/postgres/evidence.hpp"
#include "src/core/utf8.hpp"

namespace pawl::postgres {
namespace {

namespace net = boost::asio;

// A lane that throws is a bug, and without it every write would hang: stop.
void lane_ended(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

bool is_storable(const Record& record) {
  return is_text(record.scope.text) && is_text(record.key.text);
}

}  // namespace

// One lookup that waits for the reader.
struct PostgresStore::StoreLoop::Read {
  Scope scope;
  Key key;
  std::optional<StoreResult<std::optional<Record>>> result;
};

PostgresStore::StoreLoop::StoreLoop(std::string url, Options options, bool distributed)
    : url_(std::move(url)),
      options_(options),
      statements_(distributed),
      keep_running_(context_.get_executor()),
      chance_(std::random_device{}()),
      links_{context_.get_executor(), url_, options_, statements_, health_, chance_},
      late_(context_),
      general_(options_, busy_),
      transactional_(options_, busy_),
      reader_(links_),
      passes_(reader_),
      reading_(context_.get_executor()) {
  const auto released = [this] { wake_lanes(); };
  lanes_.push_back(
      std::make_unique<WriterConnection>(links_, general_, busy_, finished_, released));
  // A service's open transaction holds its row; others must not wait behind it.
  const WriterConnection* first = options_.stands_by ? lanes_.front().get() : nullptr;
  lanes_.push_back(std::make_unique<WriterConnection>(links_, transactional_, busy_, finished_,
                                                      released, first));
  for (const auto& lane : lanes_) net::co_spawn(context_, lane->run(), lane_ended);
  net::co_spawn(context_, give_up_late(), lane_ended);
  thread_ = std::thread([this] { context_.run(); });
}

PostgresStore::StoreLoop::~StoreLoop() {
  net::post(context_, [this] {
    for (const auto& lane : lanes_) lane->stop();
    reader_.stop();
    stopped_ = true;
    late_.cancel();
    keep_running_.reset();
  });
  thread_.join();
}

WriteQueue& PostgresStore::StoreLoop::queue_for(const Write& write) {
  return write.next.policy.transactional ? transactional_ : general_;
}

void PostgresStore::StoreLoop::wake_lanes() {
  for (const auto& lane : lanes_) lane->wake();
}

Task<std::vector<StoreResult<Written>>> PostgresStore::StoreLoop::insert(
    std::vector<Record> fresh) {
  Writes writes;
  for (Record& record : fresh) {
    PAWL_CHECK(!broken_invariant(record));
    writes.push_back(std::make_shared<Write>());
    writes.back()->next = std::move(record);
  }
  return run(std::move(writes));
}

Task<std::vector<StoreResult<Written>>> PostgresStore::StoreLoop::replace(
    std::vector<Replacement> batch) {
  Writes writes;
  for (Replacement& change : batch) {
    PAWL_CHECK(!broken_invariant(change.next));
    writes.push_back(std::make_shared<Write>());
    const bool fence_stands = change.next.fence == change.expected.fence;
    writes.back()->kind = fence_stands ? WriteKind::settle : WriteKind::replace;
    writes.back()->next = std::move(change.next);
    writes.back()->expected = change.expected;
    writes.back()->audit = std::move(change.audit);
  }
  return run(std::move(writes));
}

Task<std::vector<StoreResult<Written>>> PostgresStore::StoreLoop::run(Writes writes) {
  std::vector<StoreResult<Written>> results;
  if (writes.empty()) co_return results;
  const auto call = std::make_shared<Call>(finished_);
  call->unanswered = writes.size();
  const auto give_up_at = std::chrono::steady_clock::now() + options_.operation_timeout;
  for (const auto& write : writes) {
    write->call = call;
    write->identity = identity_of(write->next.scope, write->next.key);
    write->bytes = bytes_of(write->next);
    write->give_up_at = give_up_at;
  }
  auto start = [this, &call, &writes](auto handler) {
    const net::any_io_executor executor = net::get_associated_executor(handler);
    call->waiter = waiting::make_waiter(std::move(handler));
    submit(executor, writes);
  };
  co_await net::async_initiate<const net::use_awaitable_t<>&, void()>(start, net::use_awaitable);
  for (const auto& write : writes) results.push_back(std::move(*write->result));
  co_return results;
}

// An event loop often has several callers ready at once. Their writes leave when the last of those
// has had its turn: a trip to another thread costs more than a row.
void PostgresStore::StoreLoop::submit(const net::any_io_executor& executor, const Writes& writes) {
  bool first = false;
  {
    const std::lock_guard lock(arriving_mutex_);
    auto group = std::ranges::find(leaving_, executor, &Leaving::from);
    first = group == leaving_.end();
    if (first) group = leaving_.insert(group, Leaving{executor, {}});
    group->writes.insert(group->writes.end(), writes.begin(), writes.end());
  }
  if (first) net::post(executor, [this, executor] { leave(executor); });
}

void PostgresStore::StoreLoop::leave(const net::any_io_executor& executor) {
  bool on_its_way = false;
  {
    const std::lock_guard lock(arriving_mutex_);
    const auto group = std::ranges::find(leaving_, executor, &Leaving::from);
    on_its_way = !arriving_.empty();
    arriving_.insert(arriving_.end(), group->writes.begin(), group->writes.end());
    leaving_.erase(group);
  }
  // Not under the mutex: it would be the first thing that the woken thread waits for.
  if (!on_its_way) net::post(context_, [this] { take_in(); });
}

void PostgresStore::StoreLoop::take_in() {
  Writes arrived;
  {
    const std::lock_guard lock(arriving_mutex_);
    arrived.swap(arriving_);
  }
  for (const auto& write : arrived) {
    WriteQueue& queue = queue_for(*write);
    if (!is_storable(write->next) || queue.full()) {
      write->answer(Unexpected{StoreError::unavailable});
    } else {
      queue.push(write);
    }
  }
  finished_.wake();
  wake_lanes();
}

// What is still queued after its time was never sent. What is under way is waited for: its exchange
// has a deadline of its own.
Task<void> PostgresStore::StoreLoop::give_up_late() {
  while (!stopped_) {
    const auto now = std::chrono::steady_clock::now();
    auto look_at = now + options_.operation_timeout;
    for (WriteQueue* queue : {&general_, &transactional_}) {
      for (const auto& write : queue->take_late(now)) {
        write->answer(Unexpected{StoreError::unavailable});
      }
      look_at = std::min(look_at, queue->next_late().value_or(look_at));
    }
    finished_.wake();
    late_.expires_at(look_at);
    co_await late_.async_wait(net::as_tuple(net::use_awaitable));
  }
}

Task<StoreResult<std::optional<Record>>> PostgresStore::StoreLoop::find(Scope scope, Key key) {
  // What no row can hold is in none.
  if (!is_text(scope.text) || !is_text(key.text)) co_return std::optional<Record>{};
  const auto read = std::make_shared<Read>();
  read->scope = std::move(scope);
  read->key = std::move(key);
  reads_.push_back(read);
  co_await reading_.take(Urgency::request);
  // Whoever's turn it is reads for all who wait; often that is done already.
  if (!read->result) co_await read_all();
  reading_.give();
  co_return std::move(*read->result);
}

Task<void> PostgresStore::StoreLoop::read_all() {
  const std::vector<std::shared_ptr<Read>> waiting = std::exchange(reads_, {});
  std::vector<std::pair<Scope, Key>> keys;
  std::unordered_set<std::string> seen;
  for (const auto& read : waiting) {
    if (seen.insert(identity_of(read->scope, read->key)).second) {
      keys.emplace_back(read->scope, read->key);
    }
  }
  std::vector<Query> queries;
  queries.push_back(find_query(keys));
  const Session::Reply reply = co_await reader_.exchange(std::move(queries), Urgency::request);
  Found found;
  if (reply) found = read_records(reply->at(1));
  for (const auto& read : waiting) {
    const auto row = found.find(identity_of(read->scope, read->key));
    if (!reply) {
      // Nothing is written by reading, so nothing is in doubt.
      const StoreError error = store_error(reply.error());
      read->result = Unexpected{error == StoreError::in_doubt ? StoreError::unavailable : error};
    } else if (row == found.end()) {
      read->result = std::optional<Record>{};
    } else if (!row->second) {
      read->result = Unexpected{StoreError::unreadable};
    } else {
      read->result = row->second;
    }
  }
}

Task<StoreResult<StoreClock>> PostgresStore::StoreLoop::time() {
  std::vector<Query> nothing;
  const Session::Reply reply = co_await reader_.exchange(std::move(nothing), Urgency::request);
  if (!reply) co_return StoreResult<StoreClock>(Unexpected{StoreError::unavailable});
  co_return store_clock(*reply);
}

Task<StoreResult<std::size_t>> PostgresStore::StoreLoop::count_active(Scope scope,
                                                                      std::size_t up_to) {
  Query query{StatementId::count_active,
              {text_parameter(scope.text), int64_parameter(static_cast<std::int64_t>(up_to))}};
  std::vector<Query> queries;
  queries.push_back(std::move(query));
  const Session::Reply reply = co_await reader_.exchange(std::move(queries), Urgency::request);
  if (!reply) co_return StoreResult<std::size_t>(Unexpected{StoreError::unavailable});
  const std::optional<std::int64_t> count = read_int64(reply->at(1).text(0, 0));
  co_return static_cast<std::size_t>(count.value_or(0));
}

Task<StoreResult<Done>> PostgresStore::StoreLoop::keep_evidence(LateEvidence evidence) {
  std::vector<Query> queries;
  queries.push_back(evidence_query(evidence));
  const Session::Reply reply = co_await reader_.exchange(std::move(queries));
  if (!reply) co_return StoreResult<Done>(Unexpected{store_error(reply.error())});
  co_return Done{};
}

}  // namespace pawl::postgres
