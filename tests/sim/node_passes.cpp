// What a node does when nobody asks: one round of each of the product's workers, again and again,
// and two operators.
#include "tests/sim/events.hpp"
#include "tests/sim/node_workers.hpp"
#include "tests/sim/outbox.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration lunch = 200s;
constexpr Duration message_lease = 4s;
constexpr std::size_t messages_at_once = 4;

}  // namespace

Node::Workers::Workers(Outside& outside, Run& run, const std::string& name)
    : cases(outside, run.store, run.gateway_metrics.alarms),
      outbox(run.store),
      sources(outside, *run.process, run.clock),
      calls(outside, *run.process, run.clock, name),
      receipts(outside, *run.process, run.clock),
      reconciler({run.engine, run.store, cases, sources, run.state, run.clock, run.entropy,
                  run.sleepers, run.gateway_metrics, run.log},
                 outside.scheduler.executor()),
      async(
          {run.engine, run.store, calls, run.state, run.clock, run.entropy, run.sleepers, run.log},
          outside.scheduler.executor()),
      outbox_worker(
          {outbox, run.clock, run.entropy, run.sleepers, outbox_metrics, run.log},
          {{receipts_name, outside.outbox.rules(), messages_at_once, message_lease, receipts}},
          outside.scheduler.executor()),
      outbox_reconciler(
          {outbox, cases, sources, run.clock, run.entropy, run.sleepers, run.gateway_metrics,
           outbox_metrics, run.log},
          {{receipts_name, outside.outbox.rules(), workers::lasting(sources.receipts())}},
          outside.scheduler.executor()),
      maintenance({run.engine, run.boundary, run.store, run.clock, maintenance_metrics, run.log},
                  {}) {}

// Coroutines first: they hold references to all the rest. What waits for a worker's tasks is held
// by that worker, and destroyed through the executor.
Node::Run::~Run() {
  process->clear();
  workers.reset();
  scheduler.settle();
}

bool Node::Run::works_on(const Identity& identity) const {
  return workers && workers->async.works_on(identity.first, identity.second);
}

Task<void> Node::renew(Run& run) { return run.workers->maintenance.renew(); }

Task<void> Node::look_after(Run& run) { return run.workers->maintenance.look_after(); }

Task<void> Node::sweep(Run& run) { return run.workers->maintenance.sweep(run.workers->stop); }

Task<void> Node::reap(Run& run) { return run.workers->maintenance.reap(run.workers->stop); }

Task<void> Node::reconcile(Run& run) {
  static_cast<void>(co_await run.workers->reconciler.poll_once());
}

Task<void> Node::work(Run& run) { return run.workers->async.poll_once(); }

Task<void> Node::deliver(Run& run) { return run.workers->outbox_worker.poll_once(); }

Task<void> Node::ask_destination(Run& run) { return run.workers->outbox_reconciler.poll_once(); }

void Node::hear(const SourceEvent& event, std::function<void()> durable) {
  if (!run_ || !run_->process->alive() || run_->process->paused()) return;
  outside_.scheduler.spawn(keep_event(*run_, event, std::move(durable)));
}

// As src/gateway/webhooks.cpp: 2xx only once it is durable; dated by a clock that is trusted, or
// told again later.
Task<void> Node::keep_event(Run& run, SourceEvent told, std::function<void()> durable) {
  if (!run.engine.time().known()) static_cast<void>(co_await run.engine.sync_time());
  if (!run.engine.time().known() || !run.engine.time().trusted()) co_return;
  WebhookEvent event = std::move(told.event);
  event.received_at = run.engine.time().at_latest(run.clock.now());
  event.happened_at = told.happened_at.value_or(event.received_at);
  const bool is_final = event.is_final;
  const StoreResult<bool> fresh = co_await run.workers->cases.keep_event(std::move(event));
  if (!fresh) co_return;
  durable();
  if (*fresh) outside_.events.kept();
  if (!*fresh || !is_final) co_return;
  run.news = true;
  if (run.waits_for_news) {
    run.process->wake(*run.waits_for_news, outside_.scheduler.now(), "tick");
  }
}

// The hasty one: looks at the books right now and says at once what it sees. The engine must know
// better when it is too early to say "not executed".
Task<void> Node::operate(Run& run) {
  if (outside_.chaos.ended()) co_await resolve_dead_letters(run);
  if (!outside_.chaos.strikes(Fault::hasty_operator, stream_)) co_return;
  for (const Identity& identity : outside_.checker.keys()) {
    const std::optional<Record> row = outside_.checker.row(identity);
    if (!row || status_of(*row) != Status::unknown) continue;
    const Ledger::Entry* entry =
        outside_.ledger.find(outside_.checker, identity, row->fence, outside_.scheduler.now());
    // The books say which attempt was refused: of another one that is no answer.
    if (entry != nullptr && entry->response.status >= 300 && entry->fence != row->fence) continue;
    Finding finding = FoundNotExecuted{};
    if (entry != nullptr) finding = FoundCompleted{entry->response};
    note(text_of(identity) +
         " an operator says: " + (entry != nullptr ? "it was paid" : "it was not"));
    // What was paid stays paid, so there is time for lunch; by then the key may have another life.
    const bool goes_for_lunch = entry != nullptr && stream_.one_in(3);
    if (goes_for_lunch) co_await run.clock.sleep_until(run.clock.now() + lunch);
    finding_in_hand_ = true;
    static_cast<void>(co_await run.engine.resolve(
        identity.first, identity.second, std::move(finding), "operator", "looked", row->fence));
    finding_in_hand_ = false;
  }
}

// Once the faults are over somebody works off what nobody is asked about any more, and nothing
// else: whatever is not called so must settle by itself.
Task<void> Node::resolve_dead_letters(Run& run) {
  for (const Identity& identity : outside_.checker.keys()) {
    const std::optional<Record> row = outside_.checker.row(identity);
    const auto* unknown = row ? std::get_if<Unknown>(&row->state) : nullptr;
    if (unknown == nullptr || !unknown->dead_lettered) continue;
    const Ledger::Entry* entry =
        outside_.ledger.find(outside_.checker, identity, row->fence, outside_.scheduler.now());
    const bool of_another =
        entry != nullptr && entry->response.status >= 300 && entry->fence != row->fence;
    Finding finding = FoundNotExecuted{};
    if (entry != nullptr && !of_another) finding = FoundCompleted{entry->response};
    note(text_of(identity) + " is a dead letter, and is resolved by hand");
    static_cast<void>(co_await run.engine.resolve(identity.first, identity.second,
                                                  std::move(finding), "operator", "dead letter",
                                                  row->fence));
  }
}

}  // namespace pawl::sim
