#include "src/gateway/reconciler.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/core/given_up.hpp"
#include "src/core/overloaded.hpp"
#include "src/gateway/question.hpp"
#include "src/reconcile/derived_key.hpp"
#include "src/reconcile/late.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;
using reconcile::LookupResult;

constexpr std::size_t active_max = 16;
constexpr std::size_t rows_max = 100;
constexpr Duration look_every = 1s;
constexpr Duration count_every = 2s;
constexpr Duration reap_every = 1h;
constexpr Duration beyond_timeout = 10s;  // for what comes before and after the question itself
constexpr Duration look_at_dead_every = 1h;
constexpr Duration kept_for = std::chrono::days(90);
constexpr int attempts_shown_max = 1 << 20;

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

// Of a service that has the library in it, on the same store.
bool is_of_library(const Record& record) { return record.scope.text.starts_with("lib:"); }

}  // namespace

Reconciler::Reconciler(NodeServices& shared, Engine& engine, Store& store,
                       ReconciliationStore& cases, http::Deadlines& deadlines, Clock& clock,
                       Entropy& entropy, net::any_io_executor executor)
    : shared_(shared),
      engine_(engine),
      store_(store),
      cases_(cases),
      clock_(clock),
      entropy_(entropy),
      executor_(executor),
      idle_(executor) {
  for (const config::Source& source : shared.config.sources) {
    if (source.url.empty()) continue;
    pools_[source.name] =
        std::make_unique<http::UpstreamPool>(address_of(source.address), deadlines);
  }
}

void Reconciler::wake() {
  net::post(executor_, [this] {
    woken_ = true;
    idle_.cancel();
  });
}

void Reconciler::stop() {
  net::post(executor_, [this] {
    stopped_ = true;
    idle_.cancel();
  });
}

Task<void> Reconciler::run() {
  while (!stopped_) {
    looking_ = true;
    woken_ = false;
    co_await hear_news();
    co_await look();
    co_await tidy();
    looking_ = false;
    if (woken_ || stopped_) continue;
    idle_.expires_after(look_every);
    co_await idle_.async_wait(net::as_tuple(net::use_awaitable));
  }
}

Instant Reconciler::now() const { return engine_.time().at(clock_.now()); }

const config::RoutePolicy& Reconciler::policy_of(const Record& record) const {
  if (record.route == shared_.key_api.name && record.scope.text.starts_with("api:")) {
    return shared_.key_api.policy;
  }
  const config::Route* const named = shared_.routes.named(record.route);
  return named == nullptr ? shared_.routes.fallback().policy : named->policy;
}

// By today's configuration: a source that was wrong when the request came can be put right. But
// nobody else's source: it has never seen the request, and would say so. (For the same reason what
// it does not have counts only if it is the one that was named when the doubt arose.)
const config::Source* Reconciler::source_of(const Record& record) const {
  const bool ours = &policy_of(record) != &shared_.routes.fallback().policy ||
                    record.route == shared_.routes.fallback().name;
  if (!ours || is_of_library(record)) return nullptr;
  const std::string& name = policy_of(record).reconcile;
  const auto& sources = shared_.config.sources;
  const auto found = std::ranges::find(sources, name, &config::Source::name);
  return name.empty() || found == sources.end() ? nullptr : &*found;
}

CaseNote Reconciler::note_of(const CaseId& id, std::string source, std::string result,
                             std::string detail) const {
  return CaseNote{now(), id.fence, std::move(source), std::move(result), std::move(detail)};
}

// Once, until something else is the matter.
void Reconciler::trouble(const std::string& what) {
  if (what == last_trouble_) return;
  last_trouble_ = what;
  shared_.log.say("warning", "reconciliation: " + what);
}

Task<void> Reconciler::look() {
  if (active_.size() >= active_max) co_return;
  const StoreResult<Done> synced = co_await engine_.sync_time();
  if (!synced || !engine_.time().trusted()) co_return;
  const PassQuery query{.now = now(), .rows_max = rows_max + active_.size()};
  const StoreResult<std::vector<Record>> rows = co_await store_.undetermined(query);
  if (!rows) co_return;
  for (const Record& record : *rows) {
    const Identity identity{record.scope.text, record.key.text};
    if (stopped_ || active_.size() >= active_max) break;
    if (active_.contains(identity)) continue;
    active_.insert(identity);
    active_count_ = active_.size();
    net::co_spawn(executor_, work_on(record), rethrow);
  }
}

Task<void> Reconciler::work_on(Record record) {
  const Identity identity{record.scope.text, record.key.text};
  Inquiry inquiry;
  const bool left = co_await is_left_to_others(record);
  if (left) {
    co_await postpone(record, now() + look_at_dead_every, is_given_up(record));
    active_.erase(identity);
    active_count_ = active_.size();
    co_return;
  }
  inquiry.source = source_of(record);
  inquiry.subject = reconcile::derived_key(record.scope, record.key);
  inquiry.asked_at = now();
  ReconciliationStore::CaseClaim taking;
  taking.id = CaseId{record.scope, record.key, record.fence};
  taking.subject = inquiry.subject;
  taking.resource =
      record.resource_id.empty() ? "" : reconcile::resource_subject(record.resource_id);
  taking.began_at = reconcile::attempt_of(record).began_at.value_or(Instant{});
  taking.source = inquiry.source == nullptr ? std::string() : name_in_case(*inquiry.source);
  taking.now = inquiry.asked_at;
  const Duration timeout = inquiry.source == nullptr ? Duration{0} : inquiry.source->timeout;
  taking.until = taking.now + timeout + beyond_timeout;
  StoreResult<std::optional<Case>> taken = co_await cases_.take(taking);
  if (!taken) {
    trouble(cases_.trouble());
  } else if (!*taken) {
    co_await skip(record);
  } else {
    inquiry.record = std::move(record);
    inquiry.taken = std::move(**taken);
    // Seen by nobody while it is asked about; if this process ends here, from then on again.
    co_await postpone(inquiry.record, taking.until, false);
    co_await inquire(inquiry);
  }
  active_.erase(identity);
  active_count_ = active_.size();
  if (!stopped_ && active_.size() + 1 == active_max) wake();  // there was more than fits
}

// A service with the library in it has a source of its own, and asks by itself.
Task<bool> Reconciler::is_left_to_others(const Record& record) {
  if (!is_of_library(record)) co_return false;
  const StoreResult<std::optional<Case>> found = co_await cases_.find(record.scope, record.key);
  co_return found&&* found && (*found)->id.fence == record.fence && !(*found)->source.empty();
}

// Somebody else is at it, or nobody will be any more: it must not hide those behind it.
Task<void> Reconciler::skip(const Record& record) {
  const StoreResult<std::optional<Case>> found = co_await cases_.find(record.scope, record.key);
  if (!found || !*found) co_return;
  const Case& about = **found;
  const Instant later = about.state == CaseState::dead ? now() + look_at_dead_every : about.next_at;
  if (later > now()) co_await postpone(record, later, about.state == CaseState::dead);
}

Task<void> Reconciler::inquire(Inquiry& inquiry) {
  const std::optional<std::vector<WebhookEvent>> events =
      co_await events_about(inquiry.record, &inquiry.taken);
  if (events) {
    const ByEvent told = co_await settle_by_event(inquiry.record, inquiry.taken.id, *events);
    if (told == ByEvent::settled) co_return;
  }
  const bool late = co_await settle_by_late_answer(inquiry);
  if (late) co_return;
  std::string heard;
  LookupResult kind = LookupResult::nothing;
  const bool settled = co_await settle_by_asking(inquiry, heard, kind);
  if (!settled) co_await go_on(inquiry, kind, heard);
}

Task<bool> Reconciler::settle_by_late_answer(const Inquiry& inquiry) {
  const Record& record = inquiry.record;
  const StoreResult<std::vector<LateEvidence>> evidence =
      co_await cases_.evidence_of(record.scope, record.key);
  if (!evidence) {
    trouble(cases_.trouble());
    co_return false;
  }
  std::vector<reconcile::LateAnswer> answers;
  for (const LateEvidence& each : *evidence) {
    if (each.evidence != Evidence::answered || !each.response) continue;
    answers.push_back({each.fence, each.fingerprint, *each.response});
  }
  const std::optional<std::size_t> best = reconcile::settling(answers, record);
  if (!best) co_return false;
  const Finding finding = FoundCompleted{answers[*best].response};
  const std::string reason = "the owner under fence " +
                             std::to_string(answers[*best].fence.number) +
                             " had got this answer when it had lost the record";
  const std::string source = "evidence";
  const Settled settled = co_await settle(record, inquiry.taken.id, finding, source, reason);
  co_return settled != Settled::not_yet;
}

// What follows from an answer that completes nothing.
Task<void> Reconciler::go_on(const Inquiry& inquiry, LookupResult kind, const std::string& heard) {
  const CaseId& id = inquiry.taken.id;
  const std::string name = inquiry.source == nullptr ? "nobody" : inquiry.source->name;
  const reconcile::Patience patience =
      inquiry.source == nullptr ? reconcile::Patience{} : inquiry.source->patience;
  const reconcile::Progress progress{std::min(inquiry.taken.attempts, attempts_shown_max),
                                     inquiry.taken.absent, inquiry.asked_at};
  reconcile::Step step = reconcile::next_step(inquiry.record, patience, progress, kind, now(),
                                              entropy_.below(1U << 30U));
  if (inquiry.source == nullptr || inquiry.hopeless) step.what = reconcile::Step::What::give_up;
  using What = reconcile::Step::What;
  if (step.what == What::release) {
    const Finding finding = FoundNotExecuted{};
    const std::string reason = heard + ", " + std::to_string(step.absent) +
                               " times after everything it did must have been visible";
    const Settled settled = co_await settle(inquiry.record, id, finding, name, reason);
    if (settled != Settled::not_yet) co_return;
    step.what = What::again;
    step.next_at = now() + patience.backoff;
  }
  const bool dead = step.what == What::give_up;
  std::string result = kind == LookupResult::absent  ? "absent"
                       : kind == LookupResult::still ? "pending"
                                                     : "failed";
  shared_.metrics.reconciled(result);
  if (dead) shared_.metrics.reconciled("dead");
  CaseChange change;
  change.state = dead ? CaseState::dead : CaseState::open;
  change.absent = step.absent;
  change.next_at = dead ? now() + look_at_dead_every : step.next_at;
  std::string detail = heard;
  if (dead) {
    detail += "; retries exhausted: resolve it by hand (pawl keys resolve)";
    result = "dead";
    shared_.log.say("error", "reconciliation: key " + log_name(id.scope, id.key) +
                                 " is a dead letter: " + heard);
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
  const std::int64_t epoch = shared_.cache.epoch();
  const Expected<Record, ResolveFailure> resolved =
      co_await engine_.resolve(record.scope, record.key, finding, actor, why, about);
  CaseChange change;
  change.next_at = now();
  change.state = CaseState::closed;
  if (resolved) {
    if (!completes) change.state = CaseState::released;
    change.note = note_of(id, source, completes ? "completed" : "not_executed", reason);
    shared_.cache.keep(*resolved, request_id(*resolved), epoch);
    shared_.notices.say(SettledNotices::name_of(record.scope, record.key));
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
  const StoreResult<Done> written = co_await cases_.change(id, change);
  if (!written) trouble(cases_.trouble());
  co_return written.has_value();
}

// When the pass looks at it again, and what its client is told to wait. The case decides.
Task<void> Reconciler::postpone(const Record& record, Instant until, bool given_up) {
  const auto* doubt = std::get_if<Unknown>(&record.state);
  if (doubt == nullptr) co_return;
  Record next = record;
  std::get<Unknown>(next.state).reconcile_after = until;
  set_given_up(next, given_up);
  Replacement change{std::move(next), guard_of(record), std::nullopt};
  static_cast<void>(co_await store_.replace_one(std::move(change)));
}

// Counts the dead letters, and now and then forgets what is long over.
Task<void> Reconciler::tidy() {
  if (clock_.now() < count_at_ || !engine_.time().known()) co_return;
  count_at_ = clock_.now() + count_every;
  const StoreResult<std::size_t> dead = co_await cases_.count_dead();
  if (!dead) {
    trouble(cases_.trouble());
    co_return;
  }
  last_trouble_.clear();
  shared_.metrics.dead_letters(*dead);
  const StoreResult<std::size_t> given_up = co_await cases_.count_async_dead();
  if (given_up) shared_.metrics.async_dead_letters(*given_up);
  for (auto& [name, pool] : pools_) pool->prune();
  if (clock_.now() < reap_at_ || !engine_.time().trusted()) co_return;
  reap_at_ = clock_.now() + reap_every;
  const Instant before = now() - kept_for;
  const StoreResult<std::size_t> gone = co_await cases_.reap(before);
  if (!gone) trouble(cases_.trouble());
}

}  // namespace pawl::gateway
