#include "src/libpawl/flow_core.hpp"

#include <algorithm>

#include "src/core/derived_key.hpp"
#include "src/libpawl/flow_run.hpp"

namespace pawl {
namespace detail {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t page_rows = 500;
constexpr std::size_t page_rows_max = 32'000;
constexpr Duration pass_time_max = 20s;
constexpr Duration pause_first = 1s;
constexpr Duration pause_max = 5min;
constexpr std::size_t refused_max = 10'000;

void demand(bool sound, const std::string& otherwise) {
  if (!sound) throw std::invalid_argument(otherwise);
}

RouteRules rules_of(FlowOptions options) {
  demand(name_trouble(options.name).empty(), "pawl::Flow: " + name_trouble(options.name));
  const std::string name = "pawl::Flow \"" + options.name + "\": ";
  demand(options.policy.mode == Mode::sync, name + "policy.mode must be sync");
  demand(!options.policy.transactional,
         name +
             "policy.transactional is for routes of the gateway; a flow's phases commit with "
             "its record anyway");
  RouteRules rules;
  rules.name = std::move(options.name);
  static_cast<Policy&>(rules.policy) = std::move(options.policy);
  rules.policy.on_lease_expiry = OnLeaseExpiry::resume;
  rules.policy.key = KeyRequirement::required;
  rules.secrets = std::move(options.secrets);
  rules.policy.wait_limit = options.wait_limit;
  rules.keeps_request = true;
  rules.kept_headers = std::move(options.request_headers);
  return rules;
}

struct Lapsed {
  Instant now;
  std::vector<Record> rows;
};

Task<StoreResult<Lapsed>> lapsed(NodeCore& node, std::size_t rows_max) {
  const StoreResult<Done> synced = co_await node.engine().sync_time();
  if (!synced) co_return Unexpected{synced.error()};
  Lapsed found;
  found.now = node.engine().time().at(node.clock().now());
  if (!node.engine().time().trusted()) co_return found;
  const PassQuery query{.now = found.now, .rows_max = rows_max};
  StoreResult<std::vector<Record>> rows = co_await node.store().lapsed(query);
  if (!rows) co_return Unexpected{rows.error()};
  found.rows = std::move(*rows);
  co_return found;
}

// On the node's thread: from `hold` on a renewal may touch the lease's record at any time.
Task<std::optional<Granted>> claim(NodeCore& node, const RouteRules& rules,
                                   const Record& abandoned) {
  const StoreResult<std::shared_ptr<Lease>> lease = co_await node.engine().claim(abandoned);
  if (!lease || !*lease) co_return std::nullopt;  // unavailable, or lost a race
  Granted granted;
  granted.right.lease = *lease;
  granted.lease()->settle = {rules.policy.response_bytes_max, rules.policy.resource_type,
                             rules.policy.resource_id};
  granted.record = *granted.lease()->record;
  granted.context = std::make_unique<ServiceContext>(rules);
  granted.context->id = granted.context->request_id = request_id(granted.record);
  co_return granted;
}

// For the operator who reads the record. It is not taken over for that: a version that knows its
// point may be about to.
Task<Done> note_error(NodeCore& node, const Record& record, const std::string& why) {
  Record next = record;
  next.last_error = why;
  Replacement change{std::move(next), guard_of(record), std::nullopt};
  static_cast<void>(co_await node.store().replace_one(std::move(change)));
  co_return Done{};
}

// A flow that keeps stopping is tried less and less often; a client's retry always may.
Duration pause_before(int attempt) {
  if (attempt <= 1) return Duration{0};
  return std::min<Duration>(pause_first * (1 << std::min(attempt - 2, 20)), pause_max);
}

}  // namespace

FlowCore::FlowCore(Node node, FlowOptions options)
    : node_(std::move(node)), rules_(rules_of(std::move(options))) {
  node_.core()->expect_leases_of(rules_.policy.lease);
}

void FlowCore::add(Phase phase) {
  const std::string name = "pawl::Flow \"" + rules_.name + "\": ";
  demand(is_phase_name(phase.name),
         name + "the phase \"" + phase.name + "\" must be 1 to 64 letters, digits, '-' or '_'");
  demand(find(phase.name) == nullptr, name + "the phase \"" + phase.name + "\" is declared twice");
  phases_.push_back(std::move(phase));
}

const Phase* FlowCore::find(std::string_view name) const {
  const auto found = std::ranges::find(phases_, name, &Phase::name);
  return found == phases_.end() ? nullptr : &*found;
}

std::optional<RecoveryPoint> FlowCore::point_of(const Record& record) const {
  if (record.recovery_point.empty()) return RecoveryPoint{phases_.front().name, {}, {}};
  std::optional<RecoveryPoint> point = decode_recovery_point(record.recovery_point);
  const Phase* phase = point ? find(point->phase) : nullptr;
  // A call may be out there, and what is a local phase now would not look for it.
  if (phase == nullptr || (point->sending && !phase->foreign())) return std::nullopt;
  return point;
}

std::string FlowCore::unknown_point(const Record& record) const {
  std::string text = "flow \"" + rules_.name + "\": ";
  text.append(log_name(record.scope, record.key)).append(" is at the recovery point \"");
  text.append(phase_of(record.recovery_point));
  text.append("\", which this version cannot go on from; it knows");
  for (const Phase& phase : phases_) {
    text.append(&phase == &phases_.front() ? " " : ", ").append(phase.name);
  }
  text.append(". Nothing was done; run a version that has this phase");
  return text;
}

Response FlowCore::handle(std::string_view caller, const HttpRequest& request) {
  if (phases_.empty()) throw std::logic_error("pawl::Flow \"" + rules_.name + "\" has no phases");
  node().reach("reserve", "before");
  Admission admission = node().run(admit(node(), rules_, std::string(caller), request));
  if (auto* answer = std::get_if<Response>(&admission)) return std::move(*answer);
  node().reach("reserve", "after");
  FlowRun flow_run(*this, std::get<Granted>(std::move(admission)));
  return flow_run.run();
}

CompletionReport FlowCore::complete_abandoned(const std::function<bool()>& stop) {
  CompletionReport report;
  const BootTime over = node().clock().now() + pass_time_max;
  for (const Record& record : workable(report)) {
    // What is left is still there for the next pass, which begins with the oldest again.
    if (stop() || node().clock().now() >= over) break;
    complete_one(record, report);
  }
  return report;
}

// What may be gone on with now. Others' records, refused ones and paused ones may fill a page; ours
// must not wait behind them for ever.
std::vector<Record> FlowCore::workable(CompletionReport& report) {
  for (std::size_t rows_max = page_rows;; rows_max *= 2) {
    report = {};
    StoreResult<Lapsed> page = node().run(lapsed(node(), rows_max));
    if (!page) {
      node().say(LogLevel::warning, "flow \"" + rules_.name + "\": abandoned requests wait, the " +
                                        "store is " + std::string(to_text(page.error())));
      return {};
    }
    const bool whole = page->rows.size() < rows_max;
    std::erase_if(page->rows, [&](const Record& record) {
      const bool ours = record.route == rules_.name && record.request &&
                        record.policy.on_lease_expiry == OnLeaseExpiry::resume;
      if (!ours) return true;
      ++report.seen;
      if (!point_of(record)) {
        ++report.refused;
        refuse_loudly(record);
        return true;
      }
      const Instant lapsed_at = std::get<InProgress>(record.state).locked_until;
      return page->now < lapsed_at + pause_before(record.attempt);
    });
    if (!page->rows.empty() || whole) return std::move(page->rows);
    if (rows_max * 2 > page_rows_max) {
      node().say(LogLevel::error, "flow \"" + rules_.name + "\": " + std::to_string(rows_max) +
                                      " abandoned requests that this program cannot go on with " +
                                      "hold up others");
      return {};
    }
  }
}

void FlowCore::complete_one(const Record& abandoned, CompletionReport& report) {
  std::optional<Granted> granted = node().run(claim(node(), rules_, abandoned));
  if (!granted) return;
  FlowRun flow_run(*this, std::move(*granted));
  flow_run.run();
  ++(flow_run.completed() ? report.completed : report.stopped);
}

void FlowCore::refuse_loudly(const Record& record) {
  {
    const std::lock_guard lock(mutex_);
    if (refused_.size() >= refused_max) refused_.clear();
    const std::string name = log_name(record.scope, record.key) + record.recovery_point;
    if (!refused_.insert(name).second) return;
  }
  const std::string why = unknown_point(record);
  node().say(LogLevel::error, why);
  node().run(note_error(node(), record, why));
}

}  // namespace detail

std::string Run::id(std::string_view of) const { return run_id(scope, key, created_at, of); }

const std::string& Run::get(const std::string& name) const {
  const auto found = state.find(name);
  if (found == state.end()) {
    throw std::out_of_range("no phase before this one has handed on \"" + name + "\"");
  }
  return found->second;
}

Next advance(std::string phase) { return Next{std::move(phase), std::nullopt, {}}; }

Next respond(Response response) { return Next{std::nullopt, std::move(response), {}}; }

Flow::Flow(Node node, FlowOptions options)
    : core_(std::make_unique<detail::FlowCore>(std::move(node), std::move(options))) {}

Flow::~Flow() = default;

Flow& Flow::local(std::string phase, Local run) {
  if (!run)
    throw std::invalid_argument("pawl::Flow::local: a transactional phase needs a function");
  detail::Phase added;
  added.name = std::move(phase);
  added.local = std::move(run);
  core_->add(std::move(added));
  return *this;
}

Flow& Flow::foreign(std::string phase, Destination destination, MakeCall call,
                    RecordAnswer record) {
  if (!call || !record || (!destination.send && !destination.http)) {
    throw std::invalid_argument(
        "pawl::Flow::foreign: an external-call phase needs a destination that can send, a call and "
        "a function that records the answer");
  }
  detail::Phase added;
  added.name = std::move(phase);
  added.destination = std::move(destination);
  added.call = std::move(call);
  added.record = std::move(record);
  core_->add(std::move(added));
  return *this;
}

Response Flow::handle(std::string_view caller, const HttpRequest& request) {
  return core_->handle(caller, request);
}

void Flow::handle(std::string caller, HttpRequest request, std::function<void(Response)> finished) {
  core_->node().offload(
      [core = core_.get(), caller = std::move(caller), request = std::move(request),
       finished = std::move(finished)] { finished(core->handle(caller, request)); });
}

CompletionReport Flow::complete_abandoned(const std::function<bool()>& stop) {
  return core_->complete_abandoned(stop);
}

}  // namespace pawl
