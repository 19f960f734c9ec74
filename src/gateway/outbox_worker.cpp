#include "src/gateway/outbox_worker.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "pawl/types/json.hpp"
#include "src/gateway/outbox_request.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr Duration look_every = 500ms;  // a notification only makes it sooner
constexpr Duration record_again_after = 200ms;
constexpr std::string_view nobodys = "unconfigured";

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

http::UpstreamAddress address_of(const config::UpstreamUrl& url) {
  return {url.host, url.port, url.tls};
}

}  // namespace

OutboxWorker::DestinationQueue::DestinationQueue(const config::Destination& destination,
                                                 http::Deadlines& deadlines)
    : to(destination), pool(address_of(destination.url), deadlines) {}

// Asked with the connection open and nothing written: makes it durable that from here on a byte may
// have gone out.
class OutboxWorker::Gate final : public SendGate {
 public:
  Gate(OutboxWorker& worker, const DestinationQueue& lane, const OutboxRow& claimed, Sight sight,
       BootTime deadline)
      : sent(claimed),
        worker_(worker),
        lane_(lane),
        claimed_(claimed),
        sight_(sight),
        deadline_(deadline) {}

  Task<bool> may_send() override {
    const Instant now = worker_.at(sight_);
    if (marked_) {  // and then the connection turned out to be of no use
      co_return worker_.clock().now() < deadline_&& is_within_window();
    }
    const Duration lease = lane_.to.rules.timeout + lane_.to.lease;
    const OutboxRow marked = marked_sending(claimed_, now, now + lease);
    // The dedupe_window may have ended while the connection was made.
    while (worker_.clock().now() < deadline_ && is_within_window()) {
      OutboxWrite write{marked, true};
      const StoreResult<bool> mine = co_await worker_.world_.store.write(std::move(write));
      if (mine) {
        lost = !*mine;
        if (*mine) sent = marked;
        marked_ = *mine;
        // A commit can take longer than the lease that it wrote, or than the window is open.
        co_return *mine&& worker_.clock().now() < deadline_&& is_within_window();
      }
      worker_.note_store(worker_.world_.store.trouble());
      co_await worker_.clock().sleep_until(worker_.clock().now() + record_again_after);
    }
    co_return false;
  }

  OutboxRow sent;  // as it stands in the store
  bool lost = false;

 private:
  // Whether a call that begins now has time to get there before its dedupe_window ends.
  [[nodiscard]] bool is_within_window() const {
    return ::pawl::may_send(claimed_, lane_.to.rules, worker_.at(sight_));
  }

  OutboxWorker& worker_;
  const DestinationQueue& lane_;
  const OutboxRow& claimed_;
  const Sight sight_;
  const BootTime deadline_;
  bool marked_ = false;
};

OutboxWorker::OutboxWorker(OutboxWorld world, net::any_io_executor executor)
    : world_(world), executor_(executor), idle_(executor) {
  for (const config::Destination& destination : world.destinations) {
    lanes_.emplace_back(destination, world.deadlines);
  }
}

Clock& OutboxWorker::clock() { return world_.clock; }

double OutboxWorker::chance() {
  constexpr std::uint64_t grains = std::uint64_t{1} << 32;
  return static_cast<double>(world_.entropy.below(grains)) / static_cast<double>(grains);
}

void OutboxWorker::wake() {
  net::post(executor_, [this] {
    woken_ = true;
    idle_.cancel();
  });
}

void OutboxWorker::stop() {
  net::post(executor_, [this] {
    stopped_ = true;
    idle_.cancel();
  });
}

Task<void> OutboxWorker::run() {
  while (!stopped_) {
    looking_ = true;
    woken_ = false;
    co_await look();
    looking_ = false;
    if (woken_ || stopped_) continue;
    idle_.expires_after(look_every);
    co_await idle_.async_wait(net::as_tuple(net::use_awaitable));
  }
}

Task<void> OutboxWorker::look() {
  for (DestinationQueue& lane : lanes_) {
    if (stopped_) co_return;
    co_await look_at(lane);
    lane.pool.prune();
  }
}

Task<void> OutboxWorker::look_at(DestinationQueue& lane) {
  const bool probing = lane.breaker.open();
  std::size_t room = lane.to.concurrency - lane.active;
  if (probing) room = lane.active == 0 && lane.breaker.lets_through(world_.clock.now()) ? 1 : 0;
  if (room == 0) co_return;
  OutboxClaim claim{lane.to.name, world_.entropy.new_owner().text, lane.to.lease, room};
  // Before the question: an answer that took its time must not make the store's time look earlier
  // than it is, or a dedupe_window that has ended would seem to be open.
  const BootTime asked_at = world_.clock.now();
  StoreResult<OutboxClaimed> claimed = co_await world_.store.claim(std::move(claim));
  note_store(claimed ? std::string() : world_.store.trouble());
  if (!claimed) co_return;
  const Sight sight{claimed->now, asked_at};
  lane.more = claimed->rows.size() == room && !probing;
  for (OutboxRow& row : claimed->rows) {
    ++lane.active;
    ++active_;
    net::co_spawn(executor_, deliver(lane, std::move(row), sight), rethrow);
  }
}

Task<void> OutboxWorker::deliver(DestinationQueue& lane, OutboxRow claimed, Sight sight) {
  const std::string why_not = unsendable(claimed);
  std::optional<OutboxRow> instead = parked(claimed, lane.to.rules, at(sight));
  if (!instead && !why_not.empty()) {
    instead = claimed;
    instead->status = OutboxStatus::dead;
    instead->locked_until.reset();
    instead->last_error = why_not;
  }
  if (instead) {
    const bool recorded = co_await record(*instead);
    if (recorded) write_log(*instead, nullptr, Duration{0});
  } else {
    const bool kept = co_await send(lane, claimed, sight);
    if (!kept) world_.log.say("warning", "outbox: row " + claimed.id + " has another owner now");
  }
  --lane.active;
  --active_;
  // Half of them at once, rather than each for itself.
  if (!stopped_ && lane.more && lane.active * 2 <= lane.to.concurrency) {
    lane.more = false;
    wake();
  }
}

Task<bool> OutboxWorker::send(DestinationQueue& lane, const OutboxRow& claimed, Sight sight) {
  const BootTime deadline = world_.clock.now() + lane.to.rules.timeout;
  OutboxRequest request(claimed, lane.to, lane.pool.authority(),
                        [this, sight] { return at(sight); });
  http::CallOptions options;
  options.connect_timeout = lane.to.connect_timeout;
  options.until_close = http::UntilClose::accept;  // that it answered is what counts
  http::UpstreamCall call(lane.pool, request, options);
  Gate gate(*this, lane, claimed, sight, deadline);
  const Record nothing;
  const Outcome outcome = co_await call.send(nothing, gate, deadline);
  if (gate.lost) co_return false;
  note_outcome(lane, outcome);
  const Aftermath aftermath{at(sight), chance(), lane.failures};
  const OutboxRow next = settled(claimed, gate.sent, outcome, lane.to.rules, aftermath);
  const bool recorded = co_await record(next);
  if (recorded) write_log(next, &outcome, call.took());
  co_return recorded;
}

Task<bool> OutboxWorker::record(OutboxRow next) {
  for (;;) {
    OutboxWrite write{next, false};
    const StoreResult<bool> mine = co_await world_.store.write(std::move(write));
    if (mine && *mine) world_.metrics.outbox_settled(next.destination, result_of(next));
    if (mine) co_return *mine;
    note_store(world_.store.trouble());
    co_await world_.clock.sleep_until(world_.clock.now() + record_again_after);
  }
}

void OutboxWorker::note_outcome(DestinationQueue& lane, const Outcome& outcome) {
  const bool was_open = lane.breaker.open();
  if (is_trouble(outcome)) {
    lane.breaker.failed(world_.clock.now());
    ++lane.failures;
  } else {
    lane.breaker.succeeded();
    lane.failures = 0;
  }
  const bool is_open = lane.breaker.open();
  if (is_open == was_open) return;
  world_.metrics.outbox_breaker(lane.to.name, is_open);
  world_.log.say(is_open ? "warning" : "info",
                 "outbox: destination " + lane.to.name +
                     (is_open ? " is degraded: one call at a time" : " has recovered"));
  if (!is_open) wake();
}

void OutboxWorker::note_store(const std::string& trouble) {
  if (trouble == store_trouble_) return;
  store_trouble_ = trouble;
  if (trouble.empty()) {
    world_.log.say("info", "outbox: the store has recovered");
  } else {
    world_.log.say("error", "outbox: store: " + trouble);
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
  world_.log.write(line);
}

Task<void> OutboxWorker::count() {
  const StoreResult<OutboxCounts> found = co_await world_.store.count();
  if (!found) co_return;
  std::vector<OutboxDepth> depths;
  std::map<std::string, std::uint64_t> strangers;
  for (const OutboxCount& count : found->counts) {
    const bool known = std::ranges::any_of(
        lanes_, [&](const DestinationQueue& lane) { return lane.to.name == count.destination; });
    if (!known) strangers[count.destination] += count.rows;
    const double age = std::chrono::duration<double>(found->now - count.oldest).count();
    depths.push_back({known ? count.destination : std::string(nobodys), count.status,
                      static_cast<double>(count.rows), age});
  }
  world_.metrics.outbox_depth(depths);
  for (const auto& [name, rows] : strangers) {
    if (strangers_.contains(name)) continue;
    world_.log.say("warning", "outbox: " + std::to_string(rows) + " rows wait for destination " +
                                  json::quote(name) + ", which no [[destination]] here is called");
  }
  strangers_ = std::move(strangers);
}

}  // namespace pawl::gateway
