#include "src/workers/outbox_worker.hpp"

#include <algorithm>

#include "pawl/types/json.hpp"
#include "src/workers/failures.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;

constexpr Duration poll_messages_every = 500ms;  // a notification only makes it sooner
constexpr Duration record_message_again_after = 200ms;
constexpr std::string_view nobodys = "unconfigured";

}  // namespace

// Asked with the connection open and nothing written: makes it durable that from here on a byte may
// have gone out.
class OutboxWorker::Gate final : public SendGate {
 public:
  Gate(OutboxWorker& worker, const DestinationQueue& queue, const OutboxRow& claimed, Sight sight,
       BootTime deadline)
      : sent(claimed),
        worker_(worker),
        queue_(queue),
        claimed_(claimed),
        sight_(sight),
        deadline_(deadline) {}

  Task<bool> may_send() override {
    const Instant now = worker_.at(sight_);
    if (marked_) {  // and then the connection turned out to be of no use
      co_return worker_.ports_.clock.now() < deadline_&& is_within_window();
    }
    const Duration lease = queue_.to.rules.timeout + queue_.to.lease;
    // Its dedupe_window is counted from the claim: surely not later than the first byte.
    const OutboxRow marked = marked_sending(claimed_, sight_.store, now + lease);
    // The dedupe_window may have ended while the connection was made.
    while (worker_.ports_.clock.now() < deadline_ && is_within_window()) {
      OutboxWrite write{marked, true};
      const StoreResult<bool> mine = co_await worker_.ports_.store.write(std::move(write));
      if (mine) {
        lost = !*mine;
        if (*mine) sent = marked;
        marked_ = *mine;
        // A commit can take longer than the lease that it wrote, or than the window is open.
        co_return *mine&& worker_.ports_.clock.now() < deadline_&& is_within_window();
      }
      worker_.note_store(worker_.ports_.store.trouble());
      co_await worker_.ports_.clock.sleep_until(worker_.ports_.clock.now() +
                                                record_message_again_after);
    }
    co_return false;
  }

  OutboxRow sent;  // as it stands in the store
  bool lost = false;

 private:
  // Whether a call that begins now has time to get there before its dedupe_window ends.
  [[nodiscard]] bool is_within_window() const {
    return ::pawl::may_send(claimed_, queue_.to.rules, worker_.at(sight_));
  }

  OutboxWorker& worker_;
  const DestinationQueue& queue_;
  const OutboxRow& claimed_;
  const Sight sight_;
  const BootTime deadline_;
  bool marked_ = false;
};

OutboxWorker::OutboxWorker(OutboxPorts ports, std::vector<DestinationSettings> destinations,
                           boost::asio::any_io_executor executor)
    : ports_(ports),
      loop_(ports.sleepers, ports.log, "outbox", poll_messages_every),
      tasks_(std::move(executor), told_to(ports.log)) {
  for (DestinationSettings& each : destinations) queues_.emplace_back(std::move(each));
}

double OutboxWorker::chance() {
  constexpr std::uint64_t grains = std::uint64_t{1} << 32;
  return static_cast<double>(ports_.entropy.below(grains)) / static_cast<double>(grains);
}

Task<void> OutboxWorker::run() {
  const std::function<Task<void>()> poll_again = [this] { return poll(); };
  co_await loop_.run(poll_again);
  co_await tasks_.wait();
}

Task<void> OutboxWorker::poll_once() {
  co_await poll();
  co_await tasks_.wait();
}

Task<void> OutboxWorker::poll() {
  for (DestinationQueue& queue : queues_) {
    if (loop_.stopped()) co_return;
    co_await look_at(queue);
  }
}

Task<void> OutboxWorker::look_at(DestinationQueue& queue) {
  const bool probing = queue.breaker.open();
  std::size_t room = queue.to.concurrency - *queue.active;
  if (probing) room = *queue.active == 0 && queue.breaker.lets_through(ports_.clock.now()) ? 1 : 0;
  if (room == 0) co_return;
  OutboxClaim claim{queue.to.name, ports_.entropy.new_owner().text, queue.to.lease, room};
  // Before the question: an answer that took its time must not make the store's time look earlier
  // than it is, or a dedupe_window that has ended would seem to be open.
  const BootTime asked_at = ports_.clock.now();
  StoreResult<OutboxClaimed> claimed = co_await ports_.store.claim(std::move(claim));
  note_store(claimed ? std::string() : ports_.store.trouble());
  if (!claimed) co_return;
  const Sight sight{claimed->now, asked_at};
  queue.more = claimed->rows.size() == room && !probing;
  for (OutboxRow& row : claimed->rows) {
    tasks_.spawn(deliver(queue, std::move(row), sight, ActiveCall(queue.active)));
  }
}

Task<void> OutboxWorker::deliver(DestinationQueue& queue, OutboxRow claimed, Sight sight,
                                 ActiveCall active) {
  {
    const ActiveCall held = std::move(active);
    co_await send_or_park(queue, claimed, sight);
  }
  // Half of them at once, rather than each for itself.
  if (!loop_.stopped() && queue.more && *queue.active * 2 <= queue.to.concurrency) {
    queue.more = false;
    wake();
  }
}

Task<void> OutboxWorker::send_or_park(DestinationQueue& queue, const OutboxRow& claimed,
                                      Sight sight) {
  const std::string why_not = queue.to.destination.unsendable(claimed);
  std::optional<OutboxRow> instead = parked(claimed, queue.to.rules, at(sight));
  if (!instead && !why_not.empty()) {
    instead = claimed;
    instead->status = OutboxStatus::dead;
    instead->locked_until.reset();
    instead->last_error = why_not;
  }
  if (instead) {
    const bool recorded = co_await record(*instead);
    if (recorded) write_log(*instead, nullptr, Duration{0});
    co_return;
  }
  const bool kept = co_await send(queue, claimed, sight);
  if (!kept) ports_.log.say("warning", "outbox: row " + claimed.id + " has another owner now");
}

Task<bool> OutboxWorker::send(DestinationQueue& queue, const OutboxRow& claimed, Sight sight) {
  const BootTime deadline = ports_.clock.now() + queue.to.rules.timeout;
  Gate gate(*this, queue, claimed, sight, deadline);
  const std::function<Instant()> now = [this, sight] { return at(sight); };
  const CallResult result = co_await queue.to.destination.send(claimed, now, gate, deadline);
  if (gate.lost) co_return false;
  note_outcome(queue, result.outcome);
  const Aftermath aftermath{at(sight), chance(), queue.failures};
  const OutboxRow next = settled(claimed, gate.sent, result.outcome, queue.to.rules, aftermath);
  const bool recorded = co_await record(next);
  if (recorded) write_log(next, &result.outcome, result.took);
  co_return recorded;
}

Task<bool> OutboxWorker::record(OutboxRow next) {
  for (;;) {
    OutboxWrite write{next, false};
    const StoreResult<bool> mine = co_await ports_.store.write(std::move(write));
    if (mine && *mine) ports_.metrics.outbox_settled(next.destination, result_of(next));
    if (mine) co_return *mine;
    note_store(ports_.store.trouble());
    co_await ports_.clock.sleep_until(ports_.clock.now() + record_message_again_after);
  }
}

void OutboxWorker::note_outcome(DestinationQueue& queue, const Outcome& outcome) {
  const bool was_open = queue.breaker.open();
  if (is_trouble(outcome)) {
    queue.breaker.failed(ports_.clock.now());
    ++queue.failures;
  } else {
    queue.breaker.succeeded();
    queue.failures = 0;
  }
  const bool is_open = queue.breaker.open();
  if (is_open == was_open) return;
  ports_.metrics.outbox_breaker(queue.to.name, is_open);
  ports_.log.say("warning", "outbox: destination " + queue.to.name +
                                (is_open ? " is degraded: one call at a time" : " has recovered"));
  if (!is_open) wake();
}

void OutboxWorker::note_store(const std::string& trouble) {
  if (trouble == store_trouble_) return;
  store_trouble_ = trouble;
  if (trouble.empty()) {
    ports_.log.say("warning", "outbox: the store has recovered");
  } else {
    ports_.log.say("error", "outbox: store: " + trouble);
  }
}

void OutboxWorker::write_log(const OutboxRow& row, const Outcome* outcome, Duration took) {
  LogLine line;
  line.request_id = row.id;
  line.scope = row.scope.text;
  line.client = "outbox";
  line.method = row.method;
  line.path = std::string_view(row.path).substr(0, row.path.find('?'));
  line.route = row.destination;
  line.key = log_name(row.scope, row.key);
  line.decision = to_text(result_of(row));
  if (outcome != nullptr) line.evidence = to_text(evidence_of(*outcome));
  line.trouble = row.last_error;
  line.status = outcome != nullptr && row.response_code ? *row.response_code : 0;
  line.upstream_took = took;
  ports_.log.write(line);
}

Task<void> OutboxWorker::count() {
  const StoreResult<OutboxCounts> found = co_await ports_.store.count();
  if (!found) co_return;
  std::vector<OutboxDepth> depths;
  std::map<std::string, std::uint64_t> unconfigured;
  for (const OutboxCount& count : found->counts) {
    const bool known = std::ranges::any_of(
        queues_, [&](const DestinationQueue& queue) { return queue.to.name == count.destination; });
    if (!known) unconfigured[count.destination] += count.rows;
    const double age = std::chrono::duration<double>(found->now - count.oldest).count();
    depths.push_back({known ? count.destination : std::string(nobodys), count.status,
                      static_cast<double>(count.rows), age});
  }
  ports_.metrics.outbox_depth(depths);
  for (const auto& [name, rows] : unconfigured) {
    if (unconfigured_.contains(name)) continue;
    ports_.log.say("warning", "outbox: " + std::to_string(rows) + " rows wait for destination " +
                                  json::quote(name) + ", which no [[destination]] here is called");
  }
  unconfigured_ = std::move(unconfigured);
}

}  // namespace pawl::workers
