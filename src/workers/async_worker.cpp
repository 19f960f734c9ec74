#include "src/workers/async_worker.hpp"

#include <algorithm>

#include "src/workers/failures.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t requests_max = 64;
constexpr std::size_t copies = 2;  // of a request that is worked on: as it was read, and as claimed
constexpr Duration poll_requests_every = 500ms;  // what other nodes accepted is found by this
constexpr Duration record_request_again_after = 2s;
constexpr Duration pause_first = 500ms;
constexpr Duration pause_max = 60s;

}  // namespace

AsyncWorker::AsyncWorker(AsyncPorts ports, boost::asio::any_io_executor executor)
    : ports_(ports),
      loop_(ports.sleepers, ports.log, "a poll for async requests", poll_requests_every),
      tasks_(std::move(executor), told_to(ports.log)) {}

Task<void> AsyncWorker::run() {
  const std::function<Task<void>()> poll_again = [this] { return poll(); };
  co_await loop_.run(poll_again);
  co_await tasks_.wait();
}

Task<void> AsyncWorker::poll_once() {
  co_await poll();
  co_await tasks_.wait();
}

Task<void> AsyncWorker::poll() {
  if (active_.size() >= requests_max) co_return;
  const StoreResult<Done> synced = co_await ports_.engine.sync_time();
  if (!synced || !ports_.engine.time().trusted()) co_return;
  const Instant now = ports_.engine.time().at(ports_.clock.now());
  // Those that this node is at stand before what is new; more than it can be at is of no use.
  const PassQuery query{.now = now, .rows_max = requests_max};
  const StoreResult<std::vector<Record>> rows = co_await ports_.store.pending(query);
  if (!rows) co_return;
  for (const Record& record : *rows) {
    if (loop_.stopped() || active_.size() >= requests_max) break;
    if (active_.contains(record) || !record.request) continue;
    Charge memory(&ports_.state.memory);
    const std::size_t bytes = copies * record.request->body.size() + answer_share;
    if (!memory.cover(bytes, MemoryUse::new_work)) continue;  // it can wait
    tasks_.spawn(work_on(record, std::move(memory), active_.hold(record)));
  }
}

Task<void> AsyncWorker::work_on(Record record, Charge memory, ActiveKeys::Held active) {
  static_cast<void>(memory);  // held until it is over
  {
    const ActiveKeys::Held held = std::move(active);
    co_await send(record);
  }
  if (!loop_.stopped() && active_.size() + 1 == requests_max) wake();  // there was more than fits
}

Task<void> AsyncWorker::send(const Record& record) {
  const std::int64_t epoch = ports_.state.cache.epoch();
  const StoreResult<std::shared_ptr<Lease>> lease = co_await ports_.engine.claim(record);
  if (!lease || !*lease) co_return;
  (*lease)->settle = ports_.calls.settle_options(record);
  (*lease)->settle.try_again_in = pause_after(record, *(*lease)->record);
  const std::unique_ptr<StoredCall> call = ports_.calls.call_for(record);
  Executed executed = co_await ports_.engine.execute(*lease, *call);
  log(**lease, executed, call->took());
  co_await keep_recording(executed);
  if (!executed.settlement) co_return;
  const Record& settled = *executed.settlement->record;
  if (!is_open(settled)) ports_.state.limits.closed(settled.scope);
  ports_.state.cache.keep(settled, request_id(settled), epoch);
}

void AsyncWorker::log(const Lease& lease, const Executed& executed, Duration upstream_took) {
  const Record& record = *lease.record;
  const std::string id = request_id(record);
  LogLine line;
  line.request_id = id;
  line.scope = record.scope.text;
  line.client = "worker";
  line.method = record.method;
  line.path = record.path;
  line.route = record.route;
  line.key = log_name(record.scope, record.key);
  line.decision = to_text(DecisionKind::execute);
  line.evidence = to_text(evidence_of(executed.outcome));
  if (const auto* none = std::get_if<NotSent>(&executed.outcome)) line.trouble = none->why;
  if (const auto* lost = std::get_if<Lost>(&executed.outcome)) line.trouble = lost->why;
  if (!executed.settlement) line.trouble = "the outcome could not be recorded yet";
  if (const auto* answer = std::get_if<Answered>(&executed.outcome)) {
    line.status = answer->response.status;
  }
  line.upstream_took = upstream_took;
  ports_.log.write(line);
}

// An outcome in hand is not dropped because the store is unavailable: it cannot be had again. It is
// tried until it is recorded or the drain ends, for which this counts as busy. Nothing new is
// claimed meanwhile that would have to be remembered as well: there are `requests_max` at most.
Task<void> AsyncWorker::keep_recording(Executed& executed) {
  while (!executed.settlement && executed.lease) {
    co_await ports_.clock.sleep_until(ports_.clock.now() + record_request_again_after);
    StoreResult<Settlement> settled =
        co_await ports_.engine.settle(*executed.lease, executed.outcome);
    if (settled) executed.settlement = std::move(*settled);
    if (!settled && settled.error() == StoreError::unreadable) {
      ports_.log.say("warning", "an outcome is lost: its record cannot be read");
      co_return;
    }
  }
}

// Exponential, with full jitter. Written with the record, so that no other node is quicker.
Duration AsyncWorker::pause_after(const Record& waited, const Record& claimed) {
  Duration longest = pause_first * (1 << std::clamp(waited.attempt - 1, 0, 10));
  // Tries that could not be sent are not counted, so the time that they took makes it grow.
  const auto* held = std::get_if<InProgress>(&claimed.state);
  if (held != nullptr && was_not_sent(waited)) {
    longest = std::max(longest, held->locked_at - waited.created_at);
  }
  longest = std::min<Duration>(longest, pause_max);
  const auto chance = ports_.entropy.below(static_cast<std::uint64_t>(longest.count()) + 1);
  return Duration(static_cast<std::int64_t>(chance));
}

}  // namespace pawl::workers
