// What is done with a finding, and with an answer that completes nothing.
#include <algorithm>

#include "src/core/scope.hpp"
#include "src/reconcile/late.hpp"
#include "src/workers/reconciler.hpp"

namespace pawl::workers {
namespace {

using reconcile::LookupResult;

constexpr int attempts_shown_max = 1 << 20;

}  // namespace

Task<bool> Reconciler::settle_by_late_answer(Inquiry& inquiry) {
  const Record& record = inquiry.record;
  const StoreResult<std::vector<LateEvidence>> evidence =
      co_await ports_.cases.evidence_of(record.scope, record.key);
  if (!evidence) {
    trouble();
    inquiry.may_release = false;
    co_return false;
  }
  std::vector<reconcile::LateAnswer> answers;
  for (const LateEvidence& each : *evidence) {
    if (each.evidence != Evidence::answered) continue;
    if (!each.response) {  // there is one that cannot be read: it may say that it was executed
      inquiry.may_release = false;
      continue;
    }
    answers.push_back({each.fence, each.fingerprint, *each.response});
  }
  const std::optional<std::size_t> best = reconcile::settling(answers, record);
  if (!best) co_return false;
  // Nobody can say any more who held an earlier fence. An owner of ours has kept its own answer;
  // what a caller of the key API says under one is no proof that it happened, nor that it did not.
  if (kind_of(record.scope) == ScopeKind::key_api && answers[*best].fence != record.fence) {
    inquiry.may_release = false;
    inquiry.contradicted = true;
    co_return false;
  }
  const Finding finding = FoundCompleted{answers[*best].response};
  const std::string reason = "the owner under fence " +
                             std::to_string(answers[*best].fence.number) +
                             " had got this answer when it had lost the record";
  const std::string source = "evidence";
  const Settled settled = co_await settle(record, inquiry.taken.id, finding, source, reason);
  if (settled == Settled::not_yet) inquiry.may_release = false;
  co_return settled != Settled::not_yet;
}

// What follows from an answer that completes nothing.
Task<void> Reconciler::go_on(const Inquiry& inquiry) {
  const CaseId& id = inquiry.taken.id;
  const std::string name = inquiry.source == nullptr ? "no source" : inquiry.source->name;
  const reconcile::Patience patience =
      inquiry.source == nullptr ? reconcile::Patience{} : inquiry.source->patience;
  const reconcile::Progress progress{std::min(inquiry.taken.attempts, attempts_shown_max),
                                     inquiry.taken.absent, inquiry.asked_at};
  reconcile::Step step = reconcile::next_step(inquiry.record, patience, progress, inquiry.kind,
                                              now(), ports_.entropy.below(1U << 30U));
  if (inquiry.source == nullptr || inquiry.hopeless) step.what = reconcile::Step::What::give_up;
  using What = reconcile::Step::What;
  if (step.what == What::release && !inquiry.may_release) {
    // What cannot be read now may be read later; two that contradict each other need an operator.
    step.what = inquiry.contradicted ? What::give_up : What::again;
    step.next_at = now() + patience.backoff;
  }
  if (step.what == What::release) {
    const Finding finding = FoundNotExecuted{};
    const std::string reason = inquiry.heard + ", " + std::to_string(step.absent) +
                               " times after everything it did must have been visible";
    const Settled settled = co_await settle(inquiry.record, id, finding, name, reason);
    if (settled != Settled::not_yet) co_return;
    step.what = What::again;
    step.next_at = now() + patience.backoff;
  }
  const bool dead = step.what == What::give_up;
  std::string result = inquiry.kind == LookupResult::absent  ? "absent"
                       : inquiry.kind == LookupResult::still ? "pending"
                                                             : "failed";
  ports_.metrics.reconciled(result);
  CaseChange change;
  change.state = dead ? CaseState::dead : CaseState::open;
  change.absent = step.absent;
  change.next_at = dead ? now() + poll_dead_every : step.next_at;
  std::string detail = inquiry.heard;
  if (dead) {
    if (inquiry.contradicted) detail += "; an answer was brought under an earlier fence";
    ++counts_.dead;
    ports_.metrics.reconciled("dead");
    detail += "; retries exhausted: resolve it by hand (pawl keys resolve)";
    result = "dead";
    say("error", "key " + log_name(id.scope, id.key) + " is a dead letter: " + inquiry.heard);
  }
  change.note = note_of(id, name, result, detail);
  const Instant next_at = change.next_at;
  const bool noted = co_await note(id, std::move(change));
  if (noted) co_await postpone(inquiry.record, next_at, dead);
}

Task<Reconciler::Settled> Reconciler::settle(const Record& record, const CaseId& id,
                                             Finding finding, std::string source,
                                             std::string reason) {
  const bool completes = std::holds_alternative<FoundCompleted>(finding);
  const std::string actor = "reconciler";
  const std::string why = source + ": " + reason;
  const std::optional<Fence> about = record.fence;
  const std::int64_t epoch = ports_.state.cache.epoch();
  const Expected<Record, ResolveFailure> resolved =
      co_await ports_.engine.resolve(record.scope, record.key, finding, actor, why, about);
  CaseChange change;
  change.next_at = now();
  change.state = CaseState::closed;
  if (resolved) {
    ++(completes ? counts_.completed : counts_.released);
    if (!completes) change.state = CaseState::released;
    change.note = note_of(id, source, completes ? "completed" : "not_executed", reason);
    ports_.state.cache.keep(*resolved, request_id(*resolved), epoch);
    ports_.state.notices.say(SettledNotices::name_of(record.scope, record.key));
  } else {
    const auto* refusal = std::get_if<ResolveRefusal>(&resolved.error());
    const bool gone = std::holds_alternative<NotFound>(resolved.error()) ||
                      (refusal != nullptr && *refusal == ResolveRefusal::not_unknown);
    if (!gone) co_return Settled::not_yet;
    change.note =
        note_of(id, source, "refused", "lost a race: a concurrent update had settled the record");
  }
  static_cast<void>(co_await note(id, std::move(change)));
  co_return resolved ? Settled::by_us : Settled::by_others;
}

Task<bool> Reconciler::note(const CaseId& id, CaseChange change) {
  const StoreResult<Done> written = co_await ports_.cases.change(id, std::move(change));
  if (!written) trouble();
  co_return written.has_value();
}

// When it is scanned again, and what its client is told to wait. The case decides.
Task<void> Reconciler::postpone(const Record& record, Instant until, bool dead) {
  Record next = record;
  auto* unknown = std::get_if<Unknown>(&next.state);
  if (unknown == nullptr) co_return;
  unknown->reconcile_after = until;
  unknown->dead_lettered = dead;
  Replacement change{std::move(next), guard_of(record), std::nullopt};
  static_cast<void>(co_await ports_.store.replace_one(std::move(change)));
}

}  // namespace pawl::workers
