#include "src/gateway/async_worker.hpp"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/adapters/http/forwarding.hpp"
#include "src/gateway/answer_options.hpp"
#include "src/gateway/attempt_headers.hpp"

namespace pawl::gateway {
namespace {

namespace net = boost::asio;
using namespace std::chrono_literals;

constexpr std::size_t active_max = 64;
constexpr std::size_t copies = 2;  // of a request that is worked on: as it was read, and as claimed
constexpr Duration look_every = 500ms;  // what other nodes accepted is found by this
constexpr Duration record_again_after = 2s;
constexpr Duration pause_first = 500ms;
constexpr Duration pause_max = 60s;

void rethrow(std::exception_ptr failure) {
  if (failure) std::rethrow_exception(failure);
}

// Its client is gone; what is left of it is its scope and, where no caller was chosen, a digest of
// its credentials. Never that of a client that is here.
std::string sender_of(const Record& record) {
  return "async:" + record.scope.text + ":" + record.policy.credentials;
}

// A stored request, written as it would have been when it came.
class Stored final : public http::RequestWriter {
 public:
  Stored(const Record& record, config::ForwardKey forward_key, std::string_view pseudonym,
         std::string_view default_host)
      : record_(record),
        forward_key_(forward_key),
        pseudonym_(pseudonym),
        default_host_(default_host) {}

  std::string head(const Record& attempt) override {
    const StoredRequest& kept = *record_.request;
    http::RequestHead parts;
    parts.method = record_.method;
    const std::string_view target = kept.target;
    const std::size_t question = target.find('?');
    parts.path = target.substr(0, question);
    parts.has_query = question != std::string_view::npos;
    if (parts.has_query) parts.query = target.substr(question + 1);
    for (const Header& header : kept.headers) {
      parts.fields.push_back({header.name, header.value});
    }
    parts.host = http::find(parts.fields, "Host").value_or(default_host_);
    const Headers extra = attempt_headers(attempt, forward_key_);
    http::ForwardOptions options;
    options.pseudonym = pseudonym_;
    options.client = "unknown";  // long gone
    options.default_host = default_host_;
    options.names_key = forward_key_ == config::ForwardKey::same;
    options.extra = &extra;
    std::string out;
    http::append_request(out, parts, options);
    http::append_field(out, "Content-Length", std::to_string(kept.body.size()));
    out += "\r\n";
    return out;
  }

  [[nodiscard]] std::string_view body() const override { return record_.request->body; }

 private:
  const Record& record_;
  config::ForwardKey forward_key_;
  std::string_view pseudonym_;
  std::string_view default_host_;
};

}  // namespace

AsyncWorker::AsyncWorker(NodeServices& shared, Engine& engine, Store& store,
                         http::UpstreamPool& upstream, Clock& clock, Entropy& entropy,
                         net::any_io_executor executor)
    : shared_(shared),
      engine_(engine),
      store_(store),
      upstream_(upstream),
      clock_(clock),
      entropy_(entropy),
      executor_(executor),
      idle_(executor) {}

void AsyncWorker::wake() {
  net::post(executor_, [this] {
    woken_ = true;
    idle_.cancel();
  });
}

void AsyncWorker::stop() {
  net::post(executor_, [this] {
    stopped_ = true;
    idle_.cancel();
  });
}

Task<void> AsyncWorker::run() {
  while (!stopped_) {
    looking_ = true;
    woken_ = false;
    try {
      co_await look();
    } catch (const std::exception& failure) {
      shared_.log.say("error", std::string("async requests were not polled: ") + failure.what());
    }
    looking_ = false;
    if (woken_ || stopped_) continue;
    idle_.expires_after(look_every);
    co_await idle_.async_wait(net::as_tuple(net::use_awaitable));
  }
}

Task<void> AsyncWorker::look() {
  if (active_.size() >= active_max) co_return;
  const StoreResult<Done> synced = co_await engine_.sync_time();
  if (!synced || !engine_.time().trusted()) co_return;
  const Instant now = engine_.time().at(clock_.now());
  // Those that this node is at stand before what is new; more than it can be at is of no use.
  const PassQuery query{.now = now, .rows_max = active_max};
  const StoreResult<std::vector<Record>> rows = co_await store_.pending(query);
  if (!rows) co_return;
  for (const Record& record : *rows) {
    const Identity identity{record.scope.text, record.key.text};
    if (stopped_ || active_.size() >= active_max) break;
    if (active_.contains(identity) || !record.request) continue;
    Charge memory(&shared_.memory);
    const std::size_t bytes = copies * record.request->body.size() + answer_share;
    if (!memory.cover(bytes, MemoryUse::new_work)) continue;  // it can wait
    active_.insert(identity);
    active_count_ = active_.size();
    net::co_spawn(executor_, work_on(record, std::move(memory)), rethrow);
  }
}

// However it ends: what is not erased would never be worked on again, nor let the node end.
class AsyncWorker::Active {
 public:
  Active(AsyncWorker& worker, Identity identity)
      : worker_(worker), identity_(std::move(identity)) {}
  ~Active() {
    worker_.active_.erase(identity_);
    worker_.active_count_ = worker_.active_.size();
  }
  Active(const Active&) = delete;
  Active& operator=(const Active&) = delete;

 private:
  AsyncWorker& worker_;
  Identity identity_;
};

Task<void> AsyncWorker::work_on(Record record, Charge memory) {
  static_cast<void>(memory);  // held until it is over
  {
    const Active active(*this, {record.scope.text, record.key.text});
    co_await send(std::move(record));
  }
  if (!stopped_ && active_.size() + 1 == active_max) wake();  // there was more than fits
}

Task<void> AsyncWorker::send(Record record) {
  const std::int64_t epoch = shared_.cache.epoch();
  const StoreResult<std::shared_ptr<Lease>> lease = co_await engine_.claim(record);
  if (lease && *lease) {
    const config::Route* named = shared_.routes.named(record.route);
    const config::RoutePolicy& policy =
        named == nullptr ? shared_.routes.fallback().policy : named->policy;
    (*lease)->settle = {policy.response_bytes_max, policy.resource_type, policy.resource_id,
                        pause_after(record, *(*lease)->record)};
    Stored stored(record, policy.forward_key, shared_.pseudonym, upstream_.authority());
    http::CallOptions options;
    options.connect_timeout = policy.upstream_connect_timeout;
    options.idle_max = policy.upstream_idle;
    options.sender = sender_of(record);
    // Nobody waits for a large one: its body is dropped.
    read_answers(options, policy, shared_.memory);
    http::UpstreamCall call(upstream_, stored, options);
    Executed executed = co_await engine_.execute(*lease, call);
    log(**lease, executed, call.took());
    co_await keep_recording(executed);
    if (executed.settlement) {
      const Record& now = *executed.settlement->record;
      if (!is_open(now)) shared_.limits.closed(now.scope);
      shared_.cache.keep(now, request_id(now), epoch);
    }
  }
}

void AsyncWorker::log(const Lease& lease, const Executed& executed, Duration upstream_took) {
  const Record& record = *lease.record;
  const std::string id = request_id(record);
  LogLine line;
  line.request_id = id;
  line.scope = record.scope.text;
  line.client = "worker";
  line.method = record.method;
  line.path = record.path;
  line.route = record.route;
  line.key = log_name(record.scope, record.key);
  line.decision = to_text(DecisionKind::execute);
  line.evidence = to_text(evidence_of(executed.outcome));
  if (const auto* none = std::get_if<NotSent>(&executed.outcome)) line.trouble = none->why;
  if (const auto* lost = std::get_if<Lost>(&executed.outcome)) line.trouble = lost->why;
  if (!executed.settlement) line.trouble = "the outcome could not be recorded yet";
  if (const auto* answer = std::get_if<Answered>(&executed.outcome)) {
    line.status = answer->response.status;
  }
  line.upstream_took = upstream_took;
  shared_.log.write(line);
}

// An outcome in hand is not thrown away because the store is: nobody could get it again. It is
// tried until it is recorded or the drain ends, for which this counts as busy. Nothing new is
// claimed meanwhile that would have to be remembered as well: there are `active_max` at most.
Task<void> AsyncWorker::keep_recording(Executed& executed) {
  while (!executed.settlement && executed.lease) {
    co_await clock_.sleep_until(clock_.now() + record_again_after);
    StoreResult<Settlement> settled = co_await engine_.settle(*executed.lease, executed.outcome);
    if (settled) executed.settlement = std::move(*settled);
    if (!settled && settled.error() == StoreError::unreadable) {
      shared_.log.say("warning", "an outcome is lost: its record cannot be read");
      co_return;
    }
  }
}

// Exponential, with full jitter. Written with the record, so that no other node is quicker.
Duration AsyncWorker::pause_after(const Record& waited, const Record& claimed) {
  Duration longest = pause_first * (1 << std::clamp(waited.attempt - 1, 0, 10));
  // Tries that could not be sent are not counted, so the time that they took makes it grow.
  const auto* held = std::get_if<InProgress>(&claimed.state);
  if (held != nullptr && was_not_sent(waited)) {
    longest = std::max(longest, held->locked_at - waited.created_at);
  }
  longest = std::min<Duration>(longest, pause_max);
  const auto chance = entropy_.below(static_cast<std::uint64_t>(longest.count()) + 1);
  return Duration(static_cast<std::int64_t>(chance));
}

}  // namespace pawl::gateway
