// The outbox's worker and who asks about what it left in doubt, as src/gateway/outbox_worker.cpp
// and outbox_reconciler.cpp do it.
#include "src/reconcile/schedule.hpp"
#include "tests/sim/node_run.hpp"
#include "tests/sim/outbox.hpp"

namespace pawl::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration lease = 10s;
constexpr std::size_t rows_max = 4;
constexpr reconcile::Patience patience{.visibility_window = Ledger::visibility,
                                       .absent_confirmations = 1};

}  // namespace

// Rows that are due, under a lease; and the store's time.
Task<std::vector<OutboxRow>> Node::claim_messages(Run& run, bool in_doubt, Instant& now) {
  const auto rows = std::make_shared<std::vector<OutboxRow>>();
  const auto at = std::make_shared<Instant>();
  const std::string owner = run.entropy.new_owner().text;
  std::function<Done()> claim = [&outside = outside_, rows, at, owner, in_doubt] {
    *at = outside.server.clock();
    *rows = outside.outbox.claim(owner, lease, rows_max, in_doubt);
    return Done{};
  };
  const StoreResult<Done> claimed =
      co_await run.store.transact(std::string(), "outbox.claim", true, std::move(claim));
  now = *at;
  if (!claimed) rows->clear();  // they come back when the lease is over
  co_return *rows;
}

// Repeated until it is known what came of it.
Task<bool> Node::write_message(Run& run, OutboxRow next) {
  for (;;) {
    const auto mine = std::make_shared<bool>(false);
    std::function<Done()> write = [&outbox = outside_.outbox, mine, next] {
      *mine = outbox.write(next, false);
      return Done{};
    };
    std::string what;
    if (outside_.history.wanted()) {
      what = "message " + next.id + " of " + text_of({next.scope, next.key}) + " is " +
             std::string(to_text(next.status)) + " " + next.last_error;
    }
    const StoreResult<Done> written =
        co_await run.store.transact(std::move(what), "outbox.write", true, std::move(write));
    if (written) co_return *mine;
    co_await run.clock.sleep_until(run.clock.now() + 200ms);
  }
}

Task<void> Node::deliver(Run& run) {
  if (!run.engine.time().known() || !run.engine.time().trusted()) co_return;
  Instant now;
  const BootTime seen = run.clock.now();  // before: the answer may take its time, and so may we
  const std::vector<OutboxRow> rows = co_await claim_messages(run, false, now);
  for (const OutboxRow& row : rows) outside_.scheduler.spawn(send_message(run, row, now, seen));
}

Task<void> Node::send_message(Run& run, OutboxRow claimed, Instant now, BootTime seen) {
  const DestinationRules& rules = outside_.outbox.rules();
  const auto at = [&] { return now + (run.clock.now() - seen); };
  if (std::optional<OutboxRow> instead = parked(claimed, rules, at())) {
    static_cast<void>(co_await write_message(run, std::move(*instead)));
    co_return;
  }
  const BootTime deadline = run.clock.now() + rules.timeout;
  OutboxRow sent = claimed;
  bool lost = false;
  Outcome outcome = NotSent{"connection refused"};
  Stream stream(outside_.seed, "message", ++outside_.sends);
  const bool unreachable = outside_.chaos.strikes(Fault::upstream_unreachable, stream);
  if (!unreachable) {
    const Instant before = at();
    OutboxRow marked = marked_sending(claimed, before, before + rules.timeout + lease);
    const auto mine = std::make_shared<bool>(false);
    std::function<Done()> mark = [&outbox = outside_.outbox, mine, marked] {
      *mine = outbox.write(marked, true);
      return Done{};
    };
    StoreResult<Done> written = Unexpected{StoreError::unavailable};
    while (!written && run.clock.now() < deadline && may_send(claimed, rules, at())) {
      std::function<Done()> again = mark;
      written = co_await run.store.transact("marks message " + claimed.id, "outbox.mark", true,
                                            std::move(again));
      const BootTime later = run.clock.now() + 200ms;
      if (!written) co_await run.clock.sleep_until(later);
    }
    lost = written && !*mine;
    if (written && *mine) sent = std::move(marked);
    // A commit can take longer than the lease that it wrote. No await from here to the first byte.
    if (written && *mine && run.clock.now() < deadline && may_send(claimed, rules, at())) {
      outcome = co_await call_destination(run, claimed, stream, deadline);
    }
  }
  if (lost) co_return;
  const Aftermath aftermath{at(), 1.0, 1};
  OutboxRow next = settled(claimed, sent, outcome, rules, aftermath);
  static_cast<void>(co_await write_message(run, std::move(next)));
}

// One request to the destination, which works on whether or not this node still exists.
Task<Outcome> Node::call_destination(Run& run, const OutboxRow& row, Stream& stream,
                                     BootTime deadline) {
  Chaos& chaos = outside_.chaos;
  Scheduler& scheduler = outside_.scheduler;
  const bool slow = chaos.strikes(Fault::upstream_slow, stream);
  const bool dies = chaos.strikes(Fault::upstream_dies, stream);
  const bool mute = chaos.strikes(Fault::upstream_mute, stream);
  const bool lies = chaos.strikes(Fault::upstream_lies, stream);
  const bool refuses = chaos.strikes(Fault::upstream_refuses, stream);
  const Duration act_after = stream.between(0ms, slow ? outside_.outbox.rules().timeout : 200ms);
  const auto answered = std::make_shared<bool>(false);
  const Process::Ticket answer = run.process->ticket();
  if (!dies) {
    scheduler.at(scheduler.now() + act_after, [&outside = outside_, row, refuses, mute, answered,
                                               answer, process = run.process->weak_from_this()] {
      if (!refuses) outside.outbox.act(row);
      const auto node = process.lock();
      if (mute || !node) return;
      *answered = true;
      node->wake(answer, outside.scheduler.now(), "outbox.answer");
    });
  }
  run.process->wake(answer, run.clock.true_time(deadline), "outbox.timeout");
  co_await run.process->park(answer);
  if (!*answered) co_return Lost{Lost::How::timeout, "no answer in time"};
  Answered said;
  said.response.status = lies ? 500 : refuses ? 429 : 200;
  co_return said;
}

// What is in doubt and must not be repeated: the destination is asked.
Task<void> Node::ask_destination(Run& run) {
  if (!run.engine.time().known() || !run.engine.time().trusted()) co_return;
  Instant now;
  const std::vector<OutboxRow> rows = co_await claim_messages(run, true, now);
  for (OutboxRow row : rows) {
    if (!row.doubted_at) row.doubted_at = now;
    ++row.asked;
    const DestinationRules& rules = outside_.outbox.rules();
    if (outside_.outbox.has(row, outside_.scheduler.now() - Ledger::visibility)) {
      const Response there{200, {}, ""};
      row = found_happened(row, there, rules, now);
    } else {
      const reconcile::Progress progress{row.asked, row.absent, now};
      const reconcile::Step step =
          reconcile::next_step(*row.doubted_at + patience.visibility_window, patience, progress,
                               reconcile::LookupResult::absent, now, 0);
      row.absent = step.absent;
      row.next_attempt_at = step.next_at;
      row.locked_until.reset();
      if (step.what == reconcile::Step::What::release) row = found_not_executed(row, now);
    }
    static_cast<void>(co_await write_message(run, std::move(row)));
  }
}

}  // namespace pawl::sim
