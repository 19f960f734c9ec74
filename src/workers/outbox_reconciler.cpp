#include "src/workers/outbox_reconciler.hpp"

#include <algorithm>

#include "src/workers/failures.hpp"
#include "src/workers/kept_events.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;
using reconcile::LookupResult;

constexpr Duration poll_unknown_every = 1s;
constexpr Duration beyond_question = 30s;  // for what comes before and after the question itself
constexpr int rows_per_poll_max = 50;

constexpr const char* lost_race = "lost a race: a concurrent update had settled the row";

std::string why_not(const OutboxRefusal& refusal, const OutboxRow& row) {
  const bool missing = refusal.kind == OutboxRefusal::Kind::no_such_row;
  return missing ? "there is no outbox row " + row.id : refusal.why;
}

Response as_response(const StoredResponse& stored) {
  return {.status = stored.status, .headers = stored.headers, .body = stored.body.value_or("")};
}

}  // namespace

OutboxReconciler::OutboxReconciler(OutboxReconcilerPorts ports,
                                   std::vector<AskedDestination> destinations,
                                   boost::asio::any_io_executor executor)
    : ports_(std::move(ports)), tasks_(std::move(executor), told_to(ports_.log)) {
  for (AskedDestination& to : destinations) {
    auto asked = std::ranges::find(asked_, to.source, &AskedSource::source);
    if (asked == asked_.end()) {
      PollLoop& loop = loops_.emplace_back(ports_.sleepers, ports_.log, "outbox: reconciliation",
                                           poll_unknown_every);
      asked = asked_.insert(asked_.end(), AskedSource{to.source, loop, {}});
    }
    asked->destinations.push_back(std::move(to));
  }
}

void OutboxReconciler::stop() {
  for (PollLoop& loop : loops_) loop.stop();
}

Task<void> OutboxReconciler::run() {
  for (AskedSource& asked : asked_) tasks_.spawn(run_one(asked));
  co_await tasks_.wait();
}

Task<void> OutboxReconciler::poll_once() {
  for (const AskedSource& asked : asked_) co_await poll(asked);
}

Task<void> OutboxReconciler::run_one(AskedSource& asked) {
  const std::function<Task<void>()> poll_again = [this, &asked] { return poll(asked); };
  co_await asked.loop.run(poll_again);
}

Task<void> OutboxReconciler::poll(const AskedSource& asked) {
  for (const AskedDestination& to : asked.destinations) co_await look_at(to, asked.loop);
}

void OutboxReconciler::trouble(const std::string& what) {
  if (what == last_trouble_) return;
  last_trouble_ = what;
  if (!what.empty()) ports_.log.say("warning", "outbox: reconciliation: " + what);
}

// One after the other: they are few, and a source that is slow is not asked faster by more. Rows of
// other sources do not wait for it.
Task<void> OutboxReconciler::look_at(const AskedDestination& to, const PollLoop& loop) {
  const SourceSettings& source = *to.source;
  for (int i = 0; i < rows_per_poll_max && !loop.stopped(); ++i) {
    OutboxClaim claim;
    claim.destination = to.name;
    claim.owner = ports_.entropy.new_owner().text;
    claim.lease = source.timeout + beyond_question;
    claim.rows_max = 1;
    claim.in_doubt = true;
    StoreResult<OutboxClaimed> claimed = co_await ports_.outbox.claim(std::move(claim));
    trouble(claimed ? std::string() : ports_.outbox.trouble());
    if (!claimed || claimed->rows.empty()) co_return;
    Inquiry inquiry{to,           std::move(claimed->rows.front()),
                    claimed->now, ports_.clock.now(),
                    {},           LookupResult::nothing,
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
  const SourceSettings& source = *inquiry.to.source;
  const StoreResult<std::vector<WebhookEvent>> events =
      co_await ports_.cases.events_of(row.derived_key);
  inquiry.may_release = events.has_value();
  if (!events) trouble(ports_.cases.trouble());
  if (!events || !ports_.sources.speaks_for(source.name, row.scope)) co_return false;
  std::vector<WebhookEvent> told;
  for (const WebhookEvent& event : *events) {
    if (event.source != source.name) continue;
    // Told before the call that is in doubt was made: it is about an earlier one.
    const bool earlier = row.first_sent_at && event.received_at < *row.first_sent_at;
    if (earlier && !reconcile::is_success(kept(event))) continue;
    told.push_back(event);
  }
  const reconcile::AttemptSeen attempt{row.created_at, row.attempt, std::nullopt};
  const std::optional<std::size_t> best = reconcile::decisive(kept(told), attempt);
  if (!best) co_return false;
  const WebhookEvent& event = told[*best];
  OutboxRow next =
      reconcile::is_success(kept(event))
          ? found_happened(row, as_response(event.response), inquiry.to.rules, now(inquiry))
          : found_refused(row, event.response.status);
  std::string reason = "its webhook event " + event.id + " says so";
  const bool settled = co_await settle(inquiry, std::move(next), std::move(reason));
  inquiry.may_release = settled;
  if (!settled) co_return false;
  const std::string as = "resolved";
  const StoreResult<Done> marked = co_await ports_.cases.applied(event, as);
  if (!marked) trouble(ports_.cases.trouble());
  co_return true;
}

Task<bool> OutboxReconciler::settle_by_asking(Inquiry& inquiry) {
  const OutboxRow& row = inquiry.row;
  const SourceSettings& source = *inquiry.to.source;
  if (source.source == nullptr) {
    inquiry.heard = "no webhook event so far";
    co_return false;
  }
  const SourceQuestion question{row.scope,       row.key, row.provider_id,
                                row.derived_key, nullptr, SettleOptions{}};
  inquiry.asked_at = now(inquiry);
  const SourceReply reply =
      co_await source.source->ask(question, ports_.clock.now() + source.timeout);
  if (const auto* found = std::get_if<SourceFound>(&reply.finding)) {
    const Instant quiet = *row.doubted_at + source.patience.visibility_window;
    if (!found->happened && inquiry.asked_at < quiet) {
      inquiry.heard = "a refusal that may be an earlier call's";
      inquiry.kind = LookupResult::still;
      co_return false;
    }
    OutboxRow next = found->happened ? found_happened(row, as_response(found->response),
                                                      inquiry.to.rules, now(inquiry))
                                     : found_refused(row, found->response.status);
    std::string reason =
        "asked, it " + (reply.said.empty() ? "said" : reply.said) + ": there it is";
    co_return co_await settle(inquiry, std::move(next), std::move(reason));
  }
  if (const auto* failed = std::get_if<SourceFailed>(&reply.finding)) {
    inquiry.heard = failed->why;
  } else if (const auto* still = std::get_if<SourceStill>(&reply.finding)) {
    inquiry.heard = still->why;
    inquiry.kind = LookupResult::still;
  } else {
    inquiry.heard = (reply.said.empty() ? "" : reply.said + ": ") + "never seen";
    inquiry.kind = LookupResult::absent;
  }
  co_return false;
}

// Guarded and audited. False: the row has another owner, or the store could not be written; its
// next owner asks again.
Task<bool> OutboxReconciler::settle(const Inquiry& inquiry, OutboxRow next, std::string reason) {
  const OutboxRow wanted = next;
  const std::string owner = inquiry.row.owner;
  OutboxStore::Transition transition = [wanted, owner](const OutboxRow& there,
                                                       Instant) -> OutboxStore::Changed {
    if (there.owner == owner && there.status == OutboxStatus::unknown) return wanted;
    return Unexpected{OutboxRefusal{OutboxRefusal::Kind::by_transition, lost_race}};
  };
  OutboxAuthor author{"reconciler", inquiry.to.source->name + ": " + reason};
  const StoreResult<OutboxStore::Changed> changed = co_await ports_.outbox.change(
      inquiry.row.id, OutboxAction::resolve, std::move(author), std::move(transition));
  if (!changed || !*changed) {
    trouble(changed ? why_not(changed->error(), inquiry.row) : ports_.outbox.trouble());
    co_return false;
  }
  const bool again = wanted.status == OutboxStatus::pending;
  ports_.metrics.reconciled(again ? "not_executed" : "completed");
  ports_.outbox_metrics.outbox_settled(wanted.destination, result_of(wanted));
  ports_.log.say("info", "outbox: row " + wanted.id + " is " + std::string(to_text(wanted.status)) +
                             " now: " + inquiry.to.source->name + ": " + reason);
  if (again) ports_.sendable();
  co_return true;
}

// What follows from an answer that settles nothing. It is never given up: after max_attempts it is
// asked about at the longest pause.
Task<void> OutboxReconciler::go_on(const Inquiry& inquiry) {
  const reconcile::Patience& patience = inquiry.to.source->patience;
  const Instant quiet = *inquiry.row.doubted_at + patience.visibility_window;
  const reconcile::Progress progress{inquiry.row.asked, inquiry.row.absent, inquiry.asked_at};
  reconcile::Step step = reconcile::next_step(quiet, patience, progress, inquiry.kind, now(inquiry),
                                              ports_.entropy.below(std::uint64_t{1} << 30U));
  using What = reconcile::Step::What;
  if (step.what == What::release && !inquiry.may_release) {
    step.what = What::again;
    step.next_at = now(inquiry) + patience.backoff;
  }
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
    ports_.metrics.reconciled("dead");
    ports_.log.say("error", "outbox: the outcome of row " + inquiry.row.id +
                                " is still unknown after max_attempts: " + inquiry.heard +
                                "; see pawl outbox show");
  }
  ports_.metrics.reconciled(inquiry.kind == LookupResult::absent  ? "absent"
                            : inquiry.kind == LookupResult::still ? "pending"
                                                                  : "failed");
  OutboxWrite write{inquiry.row, false};
  write.next.absent = step.absent;
  write.next.locked_until.reset();
  write.next.next_attempt_at = step.next_at;
  write.next.last_error =
      "asked " + std::to_string(inquiry.row.asked) + " times what became of it: " + inquiry.heard;
  const StoreResult<bool> mine = co_await ports_.outbox.write(std::move(write));
  trouble(mine ? std::string() : ports_.outbox.trouble());
}

}  // namespace pawl::workers
