// What a node does about events, and whom it asks: src/reconcile decides, the engine resolves.
#include "src/reconcile/schedule.hpp"
#include "tests/sim/events.hpp"
#include "tests/sim/node_run.hpp"

namespace pawl::sim {
namespace {

// How long the books that are asked by key lag behind what happened.
constexpr Duration visibility = std::chrono::seconds(8);
constexpr reconcile::Patience patience{.visibility_window = visibility};

std::vector<reconcile::KeptEvent> kept(const std::vector<SourceEvent>& events) {
  std::vector<reconcile::KeptEvent> all;
  for (const SourceEvent& event : events) all.push_back(event.kept);
  return all;
}

bool is_in_doubt(const Record& record) {
  return status_of(record) == Status::unknown || released_by_finding(record);
}

}  // namespace

void Node::hear(const SourceEvent& event, std::function<void()> durable) {
  if (!run_ || !run_->process->alive() || run_->process->paused()) return;
  outside_.scheduler.spawn(keep_event(*run_, event, std::move(durable)));
}

// 2xx only once it is durable; dated by a clock that is trusted, or told again later.
Task<void> Node::keep_event(Run& run, SourceEvent event, std::function<void()> durable) {
  if (!run.engine.time().known() || !run.engine.time().trusted()) co_return;
  event.kept.received_at = run.engine.time().at_latest(run.clock.now());
  event.kept.happened_at = event.happened_at.value_or(event.kept.received_at);
  std::string what;
  if (outside_.history.wanted()) {
    what = "keeps the event " + event.id + " of " + event.source + " about " +
           text_of(event.identity) + ": " + std::to_string(event.kept.status);
  }
  std::function<Done()> keep = [&events = outside_.events, event] {
    static_cast<void>(events.keep(event));
    return Done{};
  };
  const StoreResult<Done> written =
      co_await run.store.transact(std::move(what), "store.event", true, std::move(keep));
  if (!written) co_return;
  durable();
  const StoreResult<std::optional<Record>> found =
      co_await run.store.find(event.identity.first, event.identity.second);
  if (!found || !*found) co_return;
  const Record& record = **found;
  if (is_in_doubt(record)) {
    static_cast<void>(co_await settle_by_event(run, record));
  } else if (status_of(record) == Status::completed) {
    compare_with_stored(event, record);
  }
}

// True where it need not be asked about any more.
Task<bool> Node::settle_by_event(Run& run, Record record) {
  const auto events = std::make_shared<std::vector<SourceEvent>>();
  std::function<Done()> read = [&all = outside_.events, events, record] {
    *events = all.about(record);
    return Done{};
  };
  const StoreResult<Done> done =
      co_await run.store.transact(std::string(), "store.events", false, std::move(read));
  if (!done || events->empty()) co_return false;
  const std::optional<std::size_t> best =
      reconcile::decisive(kept(*events), reconcile::attempt_of(record));
  if (!best) co_return false;
  const SourceEvent& event = (*events)[*best];
  note(text_of(event.identity) + " reconciles: the event " + event.id + " says " +
       std::to_string(event.kept.status));
  Finding finding = FoundCompleted{event.response};
  const Expected<Record, ResolveFailure> resolved =
      co_await run.engine.resolve(record.scope, record.key, std::move(finding), "reconciler",
                                  "its event says so", record.fence);
  co_return resolved.has_value();
}

// It agrees, or somebody is called.
void Node::compare_with_stored(const SourceEvent& event, const Record& record) {
  const int status = std::get<Completed>(record.state).response.status;
  const std::vector<reconcile::KeptEvent> others = kept(outside_.events.about(record));
  const reconcile::Contradiction found = reconcile::contradiction(
      event.kept, others, {.status = status, .by_owner = false}, reconcile::attempt_of(record));
  const bool own = outside_.checker.is_about(event.identity, event.life, record.fence) &&
                   event.kept.received_at >= record.created_at && event.kept.is_final;
  const bool paid = reconcile::is_success(event.kept.status);
  if (own && paid && !reconcile::is_success(status) && found == reconcile::Contradiction::none) {
    outside_.checker.violated("an event that contradicts what is stored calls somebody",
                              event.identity,
                              std::to_string(status) + " is stored, and it was paid");
  }
}

// The careful one: "never seen" counts only if it was asked after the last moment at which the old
// owner's request could act, and the provider's visibility window.
Task<void> Node::ask_provider(Run& run, Record record) {
  const bool told = co_await settle_by_event(run, record);
  if (told) co_return;
  const Identity identity{record.scope, record.key};
  const bool trusted = run.engine.time().trusted();
  const Instant asked_at = run.engine.time().at(run.clock.now());
  const Process::Ticket asked = run.process->ticket();
  const Duration answered_at = outside_.scheduler.now() + std::chrono::milliseconds(20);
  const Ledger::Entry* entry = outside_.ledger.find(outside_.checker, identity, record.fence,
                                                    outside_.scheduler.now() - visibility);
  std::optional<Finding> finding;
  if (entry != nullptr) {
    const int status = entry->response.status;
    const bool certain = trusted || reconcile::is_success(status);
    if (certain &&
        reconcile::is_its_answer(record, patience, reconcile::is_success(status), asked_at)) {
      finding = FoundCompleted{entry->response};
    }
  } else if (trusted && asked_at >= reconcile::quiet_at(record, patience)) {
    finding = FoundNotExecuted{};
  }
  run.process->wake(asked, answered_at, "provider.lookup");
  co_await run.process->park(asked);
  if (!finding) co_return;
  note(text_of(identity) +
       " reconciles: " + (entry != nullptr ? "the provider has it" : "never seen"));
  static_cast<void>(co_await run.engine.resolve(identity.first, identity.second,
                                                std::move(*finding), "poller", "asked the provider",
                                                record.fence));
}

}  // namespace pawl::sim
