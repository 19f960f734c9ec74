#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "pawl/reconcile.hpp"
#include "src/core/overloaded.hpp"
#include "src/libpawl/admission.hpp"
#include "src/libpawl/node_core.hpp"
#include "src/libpawl/point.hpp"
#include "src/ports/reconciliation_store.hpp"
#include "src/reconcile/derived_key.hpp"
#include "src/reconcile/event.hpp"
#include "src/reconcile/late.hpp"
#include "src/reconcile/schedule.hpp"

namespace pawl {
namespace {

using reconcile::LookupResult;

constexpr std::size_t rows_max = 100;
constexpr Duration beyond_limit = std::chrono::seconds(10);  // for what comes after the question
constexpr std::string_view library_prefix = "lib:";

Task<std::optional<Instant>> time_now(detail::NodeCore& node) {
  Engine& engine = node.engine();
  const StoreResult<Done> synced = co_await engine.sync_time();
  if (!synced || !engine.time().trusted()) co_return std::nullopt;
  co_return engine.time().at(node.clock().now());
}

ReconcilerOptions checked(ReconcilerOptions options) {
  const auto refuse = [](const char* what) { throw std::invalid_argument(what); };
  if (options.route.empty()) refuse("ReconcilerOptions::route must name a Middleware or a Flow");
  if (options.source.empty()) refuse("ReconcilerOptions::source must not be empty");
  if (options.absent_confirmations < 1) refuse("absent_confirmations must be at least 1");
  if (options.max_attempts < 1) refuse("max_attempts must be at least 1");
  const bool pauses = options.backoff > Duration{0} && options.backoff_max >= options.backoff;
  if (!pauses) refuse("backoff must be over zero and not over backoff_max");
  if (options.visibility_window < Duration{0}) refuse("visibility_window must not be negative");
  if (options.ask_limit <= Duration{0} || options.every <= Duration{0}) {
    refuse("ask_limit and every must be over zero");
  }
  return options;
}

UnknownOutcome doubt_of(const Record& record) {
  UnknownOutcome doubt;
  doubt.scope = record.scope;
  doubt.caller = record.scope.text.substr(library_prefix.size());
  doubt.key = record.key;
  doubt.derived_key = reconcile::derived_key(record.scope, record.key);
  doubt.method = record.method;
  doubt.path = record.path;
  if (const std::optional<detail::Point> point = detail::decode_point(record.recovery_point)) {
    doubt.phase = point->phase;
    if (point->sending) doubt.call_key = point->sending->key;
  }
  doubt.attempt = record.attempt;
  doubt.created_at = record.created_at;
  doubt.began_at = reconcile::attempt_of(record).began_at.value_or(record.created_at);
  return doubt;
}

}  // namespace

struct Reconciler::Core {
  Core(Node of, ReconcilerOptions with, Ask asks)
      : node(std::move(of)),
        options(checked(std::move(with))),
        ask(std::move(asks)),
        cases(node.core()->cases()) {
    if (!ask) throw std::invalid_argument("Reconciler needs a function to ask");
    patience.visibility_window = options.visibility_window;
    patience.absent_confirmations = options.absent_confirmations;
    patience.max_attempts = options.max_attempts;
    patience.backoff = options.backoff;
    patience.backoff_max = options.backoff_max;
    node.core()->add_reconciler(options.route);
  }
  ~Core() { node.core()->remove_reconciler(options.route); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void run();
  ReconcileReport pass();
  void inquire(const CaseId& id, ReconcileReport& report);
  bool settle_by_late_answer(const Record& record, const CaseId& id, ReconcileReport& report);
  // False: the store could not be told.
  bool settle(const Record& record, const CaseId& id, const Finding& finding,
              const std::string& source, const std::string& reason, ReconcileReport& report);
  void go_on(const Record& record, const Case& taken, LookupResult heard, const std::string& why,
             Instant asked_at, ReconcileReport& report);
  void note(const CaseId& id, CaseState state, int absent, Instant next_at,
            const std::string& source, const std::string& result, const std::string& detail);
  std::optional<Instant> now() { return node.core()->run(time_now(*node.core())); }
  void trouble(const std::string& what) {
    node.core()->say(LogLevel::warning, "reconciliation of \"" + options.route + "\": " + what);
  }

  Node node;
  const ReconcilerOptions options;
  const Ask ask;
  reconcile::Patience patience;
  os::SystemEntropy entropy;
  std::mutex passing;  // one pass at a time
  ReconciliationStore& cases;
  std::mutex mutex;
  std::condition_variable woken;
  bool stopping = false;  // under mutex
  std::thread thread;
};

void Reconciler::Core::run() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    lock.unlock();
    pass();
    lock.lock();
    woken.wait_for(lock, options.every, [&] { return stopping; });
  }
}

ReconcileReport Reconciler::Core::pass() {
  const std::lock_guard one(passing);
  ReconcileReport report;
  const std::optional<Instant> at = now();
  if (!at) return report;
  const StoreResult<std::vector<CaseId>> due = node.core()->run(
      cases.undetermined(std::string(library_prefix), options.route, *at, rows_max));
  if (!due) {
    trouble(cases.trouble());
    return report;
  }
  for (const CaseId& id : *due) {
    {
      const std::lock_guard lock(mutex);
      if (stopping) break;
    }
    inquire(id, report);
  }
  return report;
}

void Reconciler::Core::inquire(const CaseId& id, ReconcileReport& report) {
  detail::NodeCore& core = *node.core();
  const StoreResult<std::optional<Record>> found = core.run(core.store().find(id.scope, id.key));
  const std::optional<Instant> at = now();
  const bool doubted = found && *found && at && std::holds_alternative<Unknown>((*found)->state) &&
                       (*found)->fence == id.fence;
  if (!doubted) return;
  const Record& record = **found;
  ReconciliationStore::CaseClaim taking;
  taking.id = id;
  taking.subject = reconcile::derived_key(id.scope, id.key);
  taking.source = options.source;
  taking.began_at = reconcile::attempt_of(record).began_at.value_or(Instant{});
  taking.now = *at;
  taking.until = *at + options.ask_limit + beyond_limit;
  const StoreResult<std::optional<Case>> taken = core.run(cases.take(taking));
  if (!taken) return trouble(cases.trouble());
  if (!*taken || settle_by_late_answer(record, id, report)) return;
  ++report.asked;
  const std::optional<Instant> asked_at = now();
  if (!asked_at) return;  // counted, and asked again when its time is up
  LookupAnswer told = StillUnknown{};
  LookupResult unknown = LookupResult::still;
  try {
    told = ask(doubt_of(record));
  } catch (const std::exception& error) {
    unknown = LookupResult::nothing;
    told = StillUnknown{std::string("asking threw: ") + error.what()};
  } catch (...) {
    unknown = LookupResult::nothing;
    told = StillUnknown{"asking threw"};
  }
  if (const auto* happened = std::get_if<Happened>(&told)) {
    const bool success = !happened->declined && reconcile::is_success(happened->response.status);
    if (!reconcile::is_its_answer(record, patience, success, *asked_at)) {
      return go_on(record, **taken, LookupResult::still,
                   "a refusal that may be an earlier attempt's", *asked_at, report);
    }
    const Finding finding = FoundCompleted{storable(happened->response, SettleOptions{})};
    const std::string reason =
        (success ? "" : std::string(reconcile::declined_mark)) + "asked, it said: there it is";
    if (settle(record, id, finding, options.source, reason, report)) return;
    return go_on(record, **taken, LookupResult::nothing, "found, but it could not be recorded",
                 *asked_at, report);
  }
  if (std::holds_alternative<NeverSeen>(told) && (*taken)->source != options.source) {
    const std::string why = "never seen; but \"" + (*taken)->source +
                            "\" was named when the outcome became unknown, and what another "
                            "source does not have proves nothing";
    return go_on(record, **taken, LookupResult::still, why, *asked_at, report);
  }
  if (std::holds_alternative<NeverSeen>(told)) {
    return go_on(record, **taken, LookupResult::absent, "never seen", *asked_at, report);
  }
  const std::string& why = std::get<StillUnknown>(told).why;
  go_on(record, **taken, unknown, why.empty() ? "not known yet" : why, *asked_at, report);
}

bool Reconciler::Core::settle_by_late_answer(const Record& record, const CaseId& id,
                                             ReconcileReport& report) {
  const StoreResult<std::vector<LateEvidence>> evidence =
      node.core()->run(cases.evidence_of(record.scope, record.key));
  if (!evidence) return false;
  std::vector<reconcile::LateAnswer> answers;
  for (const LateEvidence& each : *evidence) {
    if (each.evidence != Evidence::answered || !each.response) continue;
    answers.push_back({each.fence, each.fingerprint, *each.response});
  }
  const std::optional<std::size_t> best = reconcile::settling(answers, record);
  if (!best) return false;
  const Finding finding = FoundCompleted{answers[*best].response};
  return settle(record, id, finding, "evidence",
                "the owner under fence " + std::to_string(answers[*best].fence.number) +
                    " had got this answer when it had lost the record",
                report);
}

bool Reconciler::Core::settle(const Record& record, const CaseId& id, const Finding& finding,
                              const std::string& source, const std::string& reason,
                              ReconcileReport& report) {
  detail::NodeCore& core = *node.core();
  const bool completes = std::holds_alternative<FoundCompleted>(finding);
  const Expected<Record, ResolveFailure> resolved = core.run(core.engine().resolve(
      record.scope, record.key, finding, "reconciler", source + ": " + reason, record.fence));
  const Instant at = now().value_or(record.created_at);
  if (resolved) {
    ++(completes ? report.completed : report.released);
    note(id, completes ? CaseState::closed : CaseState::released, 0, at, source,
         completes ? "completed" : "not_executed", reason);
    return true;
  }
  const auto* refusal = std::get_if<ResolveRefusal>(&resolved.error());
  const bool gone = std::holds_alternative<NotFound>(resolved.error()) ||
                    (refusal != nullptr && *refusal == ResolveRefusal::not_unknown);
  if (gone) {
    note(id, CaseState::closed, 0, at, source, "refused",
         "lost a race: a concurrent update had settled the record");
  }
  return gone;
}

// What follows from an answer that completes nothing.
void Reconciler::Core::go_on(const Record& record, const Case& taken, LookupResult heard,
                             const std::string& why, Instant asked_at, ReconcileReport& report) {
  const Instant at = now().value_or(asked_at);
  const reconcile::Progress progress{taken.attempts, taken.absent, asked_at};
  reconcile::Step step = reconcile::next_step(record, patience, progress, heard, at,
                                              entropy.below(std::uint64_t{1} << 30U));
  using What = reconcile::Step::What;
  if (step.what == What::release) {
    const std::string reason = why + ", " + std::to_string(step.absent) +
                               " times after everything it did must have been visible";
    if (settle(record, taken.id, FoundNotExecuted{}, options.source, reason, report)) return;
    step.what = What::again;
    step.next_at = at + patience.backoff;
  }
  if (step.what == What::again) {
    const char* const result = heard == LookupResult::absent  ? "absent"
                               : heard == LookupResult::still ? "pending"
                                                              : "failed";
    return note(taken.id, CaseState::open, step.absent, step.next_at, options.source, result, why);
  }
  ++report.dead;
  node.core()->say(LogLevel::error, "reconciliation of \"" + options.route +
                                        "\": " + log_name(record.scope, record.key) +
                                        " is a dead letter: " + why);
  note(taken.id, CaseState::dead, step.absent, at, options.source, "dead",
       why + "; retries exhausted: resolve it by hand (pawl keys resolve)");
}

void Reconciler::Core::note(const CaseId& id, CaseState state, int absent, Instant next_at,
                            const std::string& source, const std::string& result,
                            const std::string& detail) {
  CaseChange change;
  change.state = state;
  change.absent = absent;
  change.next_at = next_at;
  change.note = CaseNote{now().value_or(next_at), id.fence, source, result, detail};
  const StoreResult<Done> written = node.core()->run(cases.change(id, change));
  if (!written) trouble(cases.trouble());
}

Reconciler::Reconciler(Node node, ReconcilerOptions options, Ask ask)
    : core_(std::make_unique<Core>(std::move(node), std::move(options), std::move(ask))) {
  core_->thread = std::thread([core = core_.get()] { core->run(); });
}

Reconciler::~Reconciler() {
  {
    const std::lock_guard lock(core_->mutex);
    core_->stopping = true;
  }
  core_->woken.notify_one();
  core_->thread.join();
}

ReconcileReport Reconciler::reconcile() { return core_->pass(); }

}  // namespace pawl
