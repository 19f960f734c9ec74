#include "src/gateway/outbox_reconciler.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/config/sources.hpp"
#include "src/gateway/question.hpp"
#include "src/reconcile/event.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using reconcile::LookupResult;

constexpr Duration look_every = 1s;
constexpr Duration beyond_timeout = 30s;  // for what comes before and after the question itself
constexpr int rows_per_look_max = 50;

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

Response as_response(const StoredResponse& stored) {
  return {.status = stored.status, .headers = stored.headers, .body = stored.body.value_or("")};
}

}  // namespace

OutboxReconciler::OutboxReconciler(OutboxInquiries world, net::any_io_executor executor)
    : world_(std::move(world)), executor_(executor) {
  for (const config::Source& source : world_.config.sources) {
    if (source.url.empty()) continue;
    pools_[source.name] =
        std::make_unique<http::UpstreamPool>(address_of(source.address), world_.deadlines);
  }
}

void OutboxReconciler::stop() {
  net::post(executor_, [this] {
    stopped_ = true;
    for (net::steady_timer& idle : idle_) idle.cancel();
  });
}

Task<void> OutboxReconciler::run() {
  for (const config::Source& source : world_.config.sources) {
    net::co_spawn(executor_, ask(source, idle_.emplace_back(executor_)), rethrow);
  }
  co_return;
}

Task<void> OutboxReconciler::ask(const config::Source& source, net::steady_timer& idle) {
  const auto pool = pools_.find(source.name);
  while (!stopped_) {
    ++looking_;
    for (const config::Destination& to : world_.config.destinations) {
      if (!to.reconcile.empty() && to.reconcile == source.name) co_await look_at(to, source);
    }
    if (pool != pools_.end()) pool->second->prune();
    --looking_;
    if (stopped_) co_return;
    idle.expires_after(look_every);
    co_await idle.async_wait(net::as_tuple(net::use_awaitable));
  }
}

void OutboxReconciler::trouble(const std::string& what) {
  if (what == last_trouble_) return;
  last_trouble_ = what;
  if (!what.empty()) world_.log.say("warning", "outbox: reconciliation: " + what);
}

// One after the other: they are few, and a source that is slow is not asked faster by more. Rows of
// other sources do not wait for it.
Task<void> OutboxReconciler::look_at(const config::Destination& to, const config::Source& source) {
  for (int i = 0; i < rows_per_look_max && !stopped_; ++i) {
    OutboxClaim claim;
    claim.destination = to.name;
    claim.owner = world_.entropy.new_owner().text;
    claim.lease = source.timeout + beyond_timeout;
    claim.rows_max = 1;
    claim.in_doubt = true;
    StoreResult<OutboxClaimed> claimed = co_await world_.outbox.claim(std::move(claim));
    trouble(claimed ? std::string() : world_.outbox.trouble());
    if (!claimed || claimed->rows.empty()) co_return;
    Inquiry inquiry{to,
                    source,
                    std::move(claimed->rows.front()),
                    claimed->now,
                    world_.clock.now(),
                    {},
                    LookupResult::nothing,
                    claimed->now};
    // Whoever sent it last has ended by now: a row is not due before its lease is over.
    if (!inquiry.row.doubted_at) inquiry.row.doubted_at = claimed->now;
    ++inquiry.row.asked;
    co_await inquire(std::move(inquiry));
  }
}

Task<void> OutboxReconciler::inquire(Inquiry inquiry) {
  const bool told = co_await settle_by_event(inquiry);
  if (told) co_return;
  const bool found = co_await settle_by_asking(inquiry);
  if (!found) co_await go_on(inquiry);
}

// Only of the source that its destination names. A refusal of an earlier call is none of the last.
Task<bool> OutboxReconciler::settle_by_event(Inquiry& inquiry) {
  const OutboxRow& row = inquiry.row;
  const StoreResult<std::vector<WebhookEvent>> events =
      co_await world_.cases.events_of(row.derived_key);
  if (!events || !config::speaks_for(inquiry.source, row.scope.text)) co_return false;
  std::vector<WebhookEvent> told;
  std::vector<reconcile::KeptEvent> kept;
  for (const WebhookEvent& event : *events) {
    if (event.source != inquiry.source.name) continue;
    // Told before the call that is in doubt was made: it is about an earlier one.
    const bool earlier = row.first_sent_at && event.received_at < *row.first_sent_at;
    const reconcile::KeptEvent each{event.is_final, event.happened_at, event.received_at,
                                    event.response.status, event.declined};
    if (earlier && !reconcile::is_success(each)) continue;
    told.push_back(event);
    kept.push_back(each);
  }
  const reconcile::AttemptSeen attempt{row.created_at, row.attempt, std::nullopt};
  const std::optional<std::size_t> best = reconcile::decisive(kept, attempt);
  if (!best) co_return false;
  const WebhookEvent& event = told[*best];
  OutboxRow next =
      reconcile::is_success(kept[*best])
          ? found_happened(row, as_response(event.response), inquiry.to.rules, now(inquiry))
          : found_refused(row, event.response.status);
  std::string reason = "its webhook event " + event.id + " says so";
  const bool settled = co_await settle(inquiry, std::move(next), std::move(reason));
  if (!settled) co_return false;
  const std::string as = "resolved";
  const StoreResult<Done> marked = co_await world_.cases.applied(event, as);
  if (!marked) trouble(world_.cases.trouble());
  co_return true;
}

Task<bool> OutboxReconciler::settle_by_asking(Inquiry& inquiry) {
  const OutboxRow& row = inquiry.row;
  if (inquiry.source.url.empty()) {
    inquiry.heard = "no webhook event so far";
    co_return false;
  }
  if (reconcile::mentions(inquiry.source.target, "resource_id") && row.provider_id.empty()) {
    inquiry.heard = "the source is asked by {resource_id}, and the row has no provider id";
    co_return false;
  }
  const reconcile::Subject subject{row.key.text, row.scope.text, row.provider_id, row.derived_key};
  Expected<std::string, std::string> target = reconcile::fill_url(inquiry.source.target, subject);
  if (!target) {
    inquiry.heard = "the source is not asked: " + target.error();
    co_return false;
  }
  http::UpstreamPool& pool = *pools_.at(inquiry.source.name);
  Question question(inquiry.source, std::move(*target), pool.authority());
  http::CallOptions options;
  options.connect_timeout = inquiry.source.timeout;
  http::UpstreamCall call(pool, question, options);
  AlwaysOpen gate;
  const Record nothing;
  inquiry.asked_at = now(inquiry);
  const Outcome outcome =
      co_await call.send(nothing, gate, world_.clock.now() + inquiry.source.timeout);
  if (const auto* none = std::get_if<NotSent>(&outcome)) inquiry.heard = "not asked: " + none->why;
  if (const auto* lost = std::get_if<Lost>(&outcome)) inquiry.heard = "no answer: " + lost->why;
  const auto* answer = std::get_if<Answered>(&outcome);
  if (answer == nullptr) co_return false;
  const int status = answer->response.status;
  const reconcile::SourceAnswer judgement =
      reconcile::interpret_answer(inquiry.source.rules, answer->response, subject, SettleOptions{});
  if (const auto* found = std::get_if<reconcile::Found>(&judgement)) {
    const bool happened = found->happened;
    const Instant quiet = *row.doubted_at + inquiry.source.patience.visibility_window;
    if (!happened && inquiry.asked_at < quiet) {
      inquiry.heard = "a refusal that may be an earlier call's";
      inquiry.kind = LookupResult::still;
      co_return false;
    }
    OutboxRow next =
        happened ? found_happened(row, as_response(found->response), inquiry.to.rules, now(inquiry))
                 : found_refused(row, found->response.status);
    std::string reason = "asked, it answered " + std::to_string(status) + ": there it is";
    co_return co_await settle(inquiry, std::move(next), std::move(reason));
  }
  if (const auto* still = std::get_if<reconcile::Still>(&judgement)) {
    inquiry.heard = still->why;
    inquiry.kind = status >= 500 ? LookupResult::nothing : LookupResult::still;
  } else {
    inquiry.heard = "answered " + std::to_string(status) + ": never seen";
    inquiry.kind = LookupResult::absent;
  }
  co_return false;
}

// Guarded and audited. False: somebody else has the row, or the store could not be told; whoever
// comes next asks again.
Task<bool> OutboxReconciler::settle(const Inquiry& inquiry, OutboxRow next, std::string reason) {
  const OutboxRow wanted = next;
  const std::string owner = inquiry.row.owner;
  OutboxStore::Transition transition =
      [wanted, owner](const OutboxRow& there, Instant) -> Expected<OutboxRow, std::string> {
    if (there.owner == owner && there.status == OutboxStatus::unknown) return wanted;
    return Unexpected{std::string("lost a race: a concurrent update had settled the row")};
  };
  OutboxAuthor author{"reconciler", inquiry.source.name + ": " + reason};
  const StoreResult<OutboxStore::Changed> changed = co_await world_.outbox.change(
      inquiry.row.id, OutboxAction::resolve, std::move(author), std::move(transition));
  if (!changed || !*changed) {
    trouble(changed ? changed->error() : world_.outbox.trouble());
    co_return false;
  }
  const bool again = wanted.status == OutboxStatus::pending;
  world_.metrics.reconciled(again ? "not_executed" : "completed");
  world_.outbox_metrics.outbox_settled(wanted.destination, result_of(wanted));
  world_.log.say("info", "outbox: row " + wanted.id + " is " + std::string(to_text(wanted.status)) +
                             " now: " + inquiry.source.name + ": " + reason);
  if (again) world_.sendable();
  co_return true;
}

// What follows from an answer that settles nothing. It is never given up: after max_attempts it is
// asked about at the longest pause.
Task<void> OutboxReconciler::go_on(Inquiry& inquiry) {
  const reconcile::Patience& patience = inquiry.source.patience;
  const Instant quiet = *inquiry.row.doubted_at + patience.visibility_window;
  const reconcile::Progress progress{inquiry.row.asked, inquiry.row.absent, inquiry.asked_at};
  reconcile::Step step = reconcile::next_step(quiet, patience, progress, inquiry.kind, now(inquiry),
                                              world_.entropy.below(std::uint64_t{1} << 30U));
  using What = reconcile::Step::What;
  if (step.what == What::release) {
    OutboxRow next = found_not_executed(inquiry.row, now(inquiry));
    std::string reason = inquiry.heard + ", " + std::to_string(step.absent) +
                         " times after everything it did must have been visible";
    const bool settled = co_await settle(inquiry, std::move(next), std::move(reason));
    if (settled) co_return;
    step.next_at = now(inquiry) + patience.backoff;
  }
  if (step.what == What::give_up) step.next_at = now(inquiry) + patience.backoff_max;
  if (step.what == What::give_up && inquiry.row.asked == patience.max_attempts) {
    world_.metrics.reconciled("dead");
    world_.log.say("error", "outbox: the outcome of row " + inquiry.row.id +
                                " is still unknown after max_attempts: " + inquiry.heard +
                                "; see pawl outbox show");
  }
  world_.metrics.reconciled(inquiry.kind == LookupResult::absent  ? "absent"
                            : inquiry.kind == LookupResult::still ? "pending"
                                                                  : "failed");
  OutboxWrite write{inquiry.row, false};
  write.next.absent = step.absent;
  write.next.locked_until.reset();
  write.next.next_attempt_at = step.next_at;
  write.next.last_error =
      "asked " + std::to_string(inquiry.row.asked) + " times what became of it: " + inquiry.heard;
  const StoreResult<bool> mine = co_await world_.outbox.write(std::move(write));
  trouble(mine ? std::string() : world_.outbox.trouble());
}

}  // namespace pawl::gateway
