#include "src/workers/reconciler.hpp"

#include "src/core/scope.hpp"
#include "src/reconcile/derived_key.hpp"
#include "src/reconcile/event.hpp"
#include "src/workers/failures.hpp"

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t cases_max = 16;
constexpr std::size_t rows_max = 100;
constexpr Duration count_every = 2s;
constexpr Duration reap_every = 1h;
constexpr Duration beyond_timeout = 10s;  // for what comes before and after the question itself
constexpr Duration kept_for = std::chrono::days(90);

// Whose "never seen" would count: the source that the route named when the attempt was made, asked
// by the key that its provider was sent, whatever the configuration says by now.
std::string source_of_attempt(const Record& record, const SourceSettings& today) {
  const StoredPolicy& then = record.policy;
  if (!then.source.empty()) return then.source;
  const bool by_another_key = then.sent_key && today.asked_by && *then.sent_key != *today.asked_by;
  if (by_another_key) return today.name + " by " + std::string(to_text(*then.sent_key)) + " key";
  return today.name_in_case;
}

}  // namespace

Reconciler::Reconciler(ReconcilerPorts ports, boost::asio::any_io_executor executor,
                       ReconcilerOptions options)
    : ports_(ports),
      options_(std::move(options)),
      loop_(ports.sleepers, ports.log, options_.what, options_.every),
      tasks_(std::move(executor), told_to(ports.log)) {}

Task<void> Reconciler::run() {
  const std::function<Task<void>()> poll_again = [this] { return poll(); };
  co_await loop_.run(poll_again);
  co_await tasks_.wait();
}

Task<ReconcileCounts> Reconciler::poll_once() {
  const ReconcileCounts before = counts_;
  co_await poll();
  co_await tasks_.wait();
  co_return ReconcileCounts{counts_.asked - before.asked, counts_.completed - before.completed,
                            counts_.released - before.released, counts_.dead - before.dead};
}

Task<void> Reconciler::poll() {
  if (options_.library_route) {
    co_await look_at_library();
    co_return;
  }
  co_await hear_news();
  co_await look();
  co_await tidy();
}

// Of a clock that jumps while a source is asked the last right time goes on: a case that is dated
// by the wrong one would wait for hours after the error is over.
Instant Reconciler::now() {
  const BootTime here = ports_.clock.now();
  if (!right_time_ || ports_.engine.time().trusted()) {
    right_time_ = {ports_.engine.time().at(here), here};
  }
  return right_time_->first + (here - right_time_->second);
}

CaseNote Reconciler::note_of(const CaseId& id, std::string source, std::string result,
                             std::string detail) {
  return CaseNote{now(), id.fence, std::move(source), std::move(result), std::move(detail)};
}

void Reconciler::say(std::string_view level, const std::string& what) {
  ports_.log.say(level, options_.what + ": " + what);
}

void Reconciler::trouble() {
  const std::string what = ports_.cases.trouble();
  if (what == last_trouble_) return;
  last_trouble_ = what;
  say("warning", what);
}

Task<void> Reconciler::look() {
  if (active_.size() >= cases_max) co_return;
  const StoreResult<Done> synced = co_await ports_.engine.sync_time();
  if (!synced || !ports_.engine.time().trusted()) co_return;
  const PassQuery query{.now = now(), .rows_max = rows_max + active_.size()};
  const StoreResult<std::vector<Record>> rows = co_await ports_.store.undetermined(query);
  if (!rows) co_return;
  for (const Record& record : *rows) {
    if (loop_.stopped() || active_.size() >= cases_max) break;
    if (active_.contains(record)) continue;
    tasks_.spawn(start(record, active_.hold(record)));
  }
}

// By its cases, not by the records' own dates: gateways on the same store put those off.
Task<void> Reconciler::look_at_library() {
  const StoreResult<Done> synced = co_await ports_.engine.sync_time();
  if (!synced || !ports_.engine.time().trusted()) co_return;
  const std::string scopes(prefix_of(ScopeKind::library));
  const StoreResult<std::vector<CaseId>> due =
      co_await ports_.cases.undetermined(scopes, *options_.library_route, now(), rows_max);
  if (!due) {
    trouble();
    co_return;
  }
  for (const CaseId& id : *due) {
    if (loop_.stopped()) co_return;
    const StoreResult<std::optional<Record>> found = co_await ports_.store.find(id.scope, id.key);
    const bool unknown =
        found && *found && status_of(**found) == Status::unknown && (*found)->fence == id.fence;
    if (unknown) co_await work_on(**found);
  }
}

Task<void> Reconciler::start(Record record, ActiveKeys::Held active) {
  {
    const ActiveKeys::Held held = std::move(active);
    co_await work_on(std::move(record));
  }
  if (!loop_.stopped() && active_.size() + 1 == cases_max) wake();  // there was more than fits
}

Task<void> Reconciler::work_on(Record record) {
  const bool left = co_await is_left_to_others(record);
  if (left) {
    const auto* unknown = std::get_if<Unknown>(&record.state);
    const bool dead = unknown != nullptr && unknown->dead_lettered;
    co_await postpone(record, now() + poll_dead_every, dead);
    co_return;
  }
  Inquiry inquiry;
  inquiry.source = ports_.sources.source_of(record);
  inquiry.subject = reconcile::derived_key(record.scope, record.key);
  inquiry.asked_at = now();
  ReconciliationStore::CaseClaim claim;
  claim.id = CaseId{record.scope, record.key, record.fence};
  claim.subject = inquiry.subject;
  claim.resource =
      record.resource_id.empty() ? "" : reconcile::resource_subject(record.resource_id);
  claim.began_at = reconcile::attempt_of(record).began_at.value_or(Instant{});
  if (inquiry.source != nullptr) claim.source = source_of_attempt(record, *inquiry.source);
  claim.now = inquiry.asked_at;
  const Duration timeout = inquiry.source == nullptr ? Duration{0} : inquiry.source->timeout;
  claim.until = claim.now + timeout + beyond_timeout;
  StoreResult<std::optional<Case>> taken = co_await ports_.cases.take(claim);
  if (!taken) {
    trouble();
    co_return;
  }
  if (!*taken) {
    co_await skip(record);
    co_return;
  }
  inquiry.record = std::move(record);
  inquiry.taken = std::move(**taken);
  // Claimed by no other node while it is asked about; if this process ends here, from then on
  // again.
  co_await postpone(inquiry.record, claim.until, false);
  co_await inquire(inquiry);
}

// A service with the library in it has a source of its own, and asks by itself.
Task<bool> Reconciler::is_left_to_others(const Record& record) {
  const bool of_library = kind_of(record.scope) == ScopeKind::library;
  if (options_.library_route || !of_library) co_return false;
  const StoreResult<std::optional<Case>> found =
      co_await ports_.cases.find(record.scope, record.key);
  if (!found || !*found) co_return false;
  co_return (*found)->id.fence == record.fence && !(*found)->source.empty();
}

// Another node has it, or its retries are exhausted: it must not hide those behind it.
Task<void> Reconciler::skip(const Record& record) {
  const StoreResult<std::optional<Case>> found =
      co_await ports_.cases.find(record.scope, record.key);
  if (!found || !*found) co_return;
  const Case& about = **found;
  const bool dead = about.state == CaseState::dead;
  const Instant later = dead ? now() + poll_dead_every : about.next_at;
  if (later > now()) co_await postpone(record, later, dead);
}

Task<void> Reconciler::inquire(Inquiry& inquiry) {
  if (!options_.library_route) {
    const std::optional<std::vector<WebhookEvent>> events =
        co_await events_about(inquiry.record, &inquiry.taken);
    ByEvent told = ByEvent::not_yet;
    if (events) told = co_await settle_by_event(inquiry.record, inquiry.taken.id, *events);
    if (told == ByEvent::settled) co_return;
    inquiry.may_release = told == ByEvent::nothing;
  }
  const bool late = co_await settle_by_late_answer(inquiry);
  if (late) co_return;
  const bool settled = co_await settle_by_asking(inquiry);
  if (!settled) co_await go_on(inquiry);
}

// Counts the dead letters, and now and then forgets what is long over.
Task<void> Reconciler::tidy() {
  if (ports_.clock.now() < count_at_ || !ports_.engine.time().known()) co_return;
  count_at_ = ports_.clock.now() + count_every;
  const StoreResult<std::size_t> dead = co_await ports_.cases.count_dead();
  if (!dead) {
    trouble();
    co_return;
  }
  last_trouble_.clear();
  ports_.metrics.dead_letters(*dead);
  const StoreResult<std::size_t> given_up = co_await ports_.cases.count_async_dead();
  if (given_up) ports_.metrics.async_dead_letters(*given_up);
  if (ports_.clock.now() < reap_at_ || !ports_.engine.time().trusted()) co_return;
  reap_at_ = ports_.clock.now() + reap_every;
  const StoreResult<std::size_t> gone = co_await ports_.cases.reap(now() - kept_for);
  if (!gone) trouble();
}

}  // namespace pawl::workers
