// What a node does when nobody asks: the engine's passes, and the two that the engine only serves
// so far, reconciling and working off what async routes accepted.
#include "tests/sim/node_run.hpp"

namespace pawl::sim {
namespace {

constexpr Duration lunch = std::chrono::seconds(200);

}  // namespace

Task<void> Node::renew(Run& run) { static_cast<void>(co_await run.engine.renew()); }

Task<void> Node::release_orphans(Run& run) {
  static_cast<void>(co_await run.engine.release_orphans());
}

Task<void> Node::settle_late(Run& run) { co_await run.boundary.settle_late(); }

Task<void> Node::sweep(Run& run) { static_cast<void>(co_await run.engine.sweep()); }

Task<void> Node::reap(Run& run) { static_cast<void>(co_await run.engine.reap()); }

Task<void> Node::reconcile(Run& run) {
  const StoreResult<Done> synced = co_await run.engine.sync_time();
  if (!synced) co_return;
  const PassQuery query{.now = run.engine.time().at(run.clock.now()), .rows_max = 500};
  const StoreResult<std::vector<Record>> rows = co_await run.store.undetermined(query);
  if (!rows) co_return;
  for (const Record& record : *rows) co_await ask_provider(run, record);
}

// The hasty one: looks at the books right now and says at once what it sees. The engine must know
// better when it is too early to say "not executed".
Task<void> Node::operate(Run& run) {
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

Task<void> Node::work(Run& run) {
  const StoreResult<Done> synced = co_await run.engine.sync_time();
  if (!synced) co_return;
  const PassQuery query{.now = run.engine.time().at(run.clock.now()), .rows_max = run.page};
  const StoreResult<std::vector<Record>> rows = co_await run.store.pending(query);
  if (!rows) co_return;
  for (const Record& record : *rows) co_await work_on(run, record);
}

// Claims a pending record and sends it, as the async worker does.
Task<void> Node::work_on(Run& run, Record record) {
  const Identity identity{record.scope, record.key};
  run.active.insert(identity);
  const StoreResult<std::shared_ptr<Lease>> lease = co_await run.engine.claim(record);
  if (lease && *lease) {
    const Fence fence = (*lease)->record->fence;
    Body body;
    std::sscanf(record.request->body.c_str(), "{\"amount\":%d,\"nonce\":%d}", &body.amount,
                &body.nonce);
    Call call(outside_, *run.process, run.clock, identity, body, name_);
    const Executed executed = co_await run.engine.execute(*lease, call);
    if (executed.settlement && executed.settlement->superseded) {
      outside_.checker.superseded(identity, fence, executed.outcome);
    }
  }
  run.active.erase(run.active.find(identity));
}

}  // namespace pawl::sim
