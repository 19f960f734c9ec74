#include "src/operator/resolve_key.hpp"

#include "src/core/recovery_point.hpp"

namespace pawl {
namespace {

std::string not_resolved(const std::string& why) { return "not resolved: " + why; }

// Which attempt the record is at, and how to see what is known of it.
std::string in_force(const Record& record) {
  return "it is at attempt " + std::to_string(record.attempt) + " now, under fence " +
         std::to_string(record.fence.number) + ". Look at that one first: pawl keys show";
}

// "Not executed" lets it run again, and so it must say of which attempt it was found: another
// operator may have said the same before, and a later attempt may have executed since.
Task<Refusal> why_fence_is_needed(Store& store, KeyName name) {
  const OrRefusal<std::optional<Record>> found = co_await find_record(store, std::move(name));
  std::string why;
  if (!found) {
    why = found.error().sentence;
  } else if (!*found || status_of(**found) != Status::unknown) {
    why = why_not_unknown(*found);
  } else {
    why = "say which attempt you investigated: --fence N. " + in_force(**found);
  }
  co_return malformed(not_resolved(why)).error;
}

std::string why_refused(ResolveRefusal refusal, const std::optional<Record>& current,
                        const std::optional<Fence>& about) {
  if (refusal == ResolveRefusal::too_early) {
    return "an owner may still be sending it; not executed is accepted from upstream_timeout "
           "after the lease's end on (pawl keys show says when)";
  }
  if (refusal == ResolveRefusal::bad_response) {
    return "it is a half-done flow of libpawl, and no call of it is recorded as sent: the service "
           "that runs the flow must finish it";
  }
  if (current && about && current->fence.number != about->number) {
    return "what you found is about fence " + std::to_string(about->number) +
           ", and since then the key was executed again: " + in_force(*current);
  }
  return why_not_unknown(current);
}

Task<Refusal> why_not_resolved(Store& store, ResolveFailure failure, KeyName name,
                               std::optional<Fence> about) {
  if (const auto* error = std::get_if<StoreError>(&failure)) {
    const std::string why = "the store: " + std::string(to_text(*error));
    co_return unavailable(not_resolved(why + ". Look with pawl keys show, then repeat")).error;
  }
  const auto* refusal = std::get_if<ResolveRefusal>(&failure);
  if (refusal == nullptr) co_return refused(not_resolved(why_not_unknown(std::nullopt))).error;
  const StoreResult<std::optional<Record>> found =
      co_await store.find(std::move(name.scope), std::move(name.key));
  const std::optional<Record> current = found ? *found : std::nullopt;
  co_return refused(not_resolved(why_refused(*refusal, current, about))).error;
}

Finding finding_of(ResolveOrder& order) {
  if (order.not_executed) return FoundNotExecuted{};
  FoundCompleted found;
  found.response.status = order.response_status;
  found.response.body = "";
  if (order.body) {
    found.response.body = std::move(*order.body);
    found.response.headers = {{"Content-Type", order.content_type}};
  }
  return found;
}

// The record is settled; its case only follows. What went wrong with that; empty: nothing.
Task<std::string> close_case(KeyPorts ports, const Record& record, bool happened, OrderedBy by) {
  const std::string warning = "it is resolved; its history was not: ";
  const OrRefusal<Instant> now = co_await time_of(ports.store);
  if (!now) co_return warning + now.error().sentence;
  CaseChange change;
  change.state = happened ? CaseState::closed : CaseState::released;
  change.next_at = *now;
  change.note = CaseNote{*now, record.fence, "operator", happened ? "completed" : "not_executed",
                         by.actor + ": " + by.reason};
  const CaseId id{record.scope, record.key, record.fence};
  const StoreResult<Done> noted = co_await ports.cases.change(id, change);
  if (!noted) co_return warning + port_failed(ports.cases, noted.error()).error.sentence;
  co_return std::string();
}

}  // namespace

std::optional<Refusal> check_resolve(const ResolveOrder& order) {
  if (std::optional<Refusal> wrong = check_reason(order.by.reason)) return wrong;
  if (order.completed == order.not_executed) {
    return malformed("say what you found: --completed or --not-executed").error;
  }
  if (order.not_executed) {
    const bool more = order.response_status != 0 || order.body.has_value();
    if (more) return malformed("--status and --body go with --completed").error;
    return std::nullopt;
  }
  if (order.response_status < 200 || order.response_status > 599) {
    return malformed(
               "--completed needs --status, the HTTP status its client is to be given: 200 to 599")
        .error;
  }
  return std::nullopt;
}

Task<OrRefusal<ResolvedKey>> resolve_key(KeyPorts ports, Engine& engine, ResolveOrder order) {
  if (const std::optional<Refusal> wrong = check_resolve(order)) co_return Unexpected{*wrong};
  if (order.not_executed && !order.fence) {
    Refusal needed = co_await why_fence_is_needed(ports.store, order.name);
    co_return Unexpected{std::move(needed)};
  }
  const std::string actor = "operator " + order.by.actor;
  Finding finding = finding_of(order);
  Expected<Record, ResolveFailure> resolved = co_await engine.resolve(
      order.name.scope, order.name.key, std::move(finding), actor, order.by.reason, order.fence);
  if (!resolved) {
    Refusal why = co_await why_not_resolved(ports.store, resolved.error(), order.name, order.fence);
    co_return Unexpected{std::move(why)};
  }
  ResolvedKey done;
  done.record = std::move(*resolved);
  done.warning = co_await close_case(ports, done.record, order.completed, order.by);
  co_return done;
}

std::string resolved_text(const ResolvedKey& resolved) {
  std::string text = "resolved: it is now " + std::string(to_text(status_of(resolved.record)));
  if (is_half_done(resolved.record)) text += ", and its flow goes on where it had stopped";
  return text + "\n";
}

}  // namespace pawl
