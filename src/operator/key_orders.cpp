#include "src/operator/key_orders.hpp"

#include "src/core/dead_letter.hpp"

namespace pawl {
namespace {

// What must be true of a record that is forgotten; empty where it is.
std::string why_not_purged(const Record& record, bool forget_answer) {
  switch (status_of(record)) {
    case Status::in_progress: return "an owner is executing it";
    case Status::pending: return "it waits for a worker and would never be executed";
    case Status::unknown:
      return "its outcome is unknown: the next request with this key would execute it, perhaps "
             "again. Resolve it first";
    case Status::completed:
      if (forget_answer) return {};
      return "it is completed: without its answer the next request with this key executes it "
             "AGAIN. If that is what you want, say --forget-answer";
    case Status::failed_retryable:
    case Status::expired: return {};
  }
  return "its state does not allow it";
}

Unexpected<Refusal> not_purged(const std::string& why) { return refused("not purged: " + why); }

const char* name_of(DeadLetterAction action) {
  return action == DeadLetterAction::retry ? "retry" : "discard";
}

std::string done_by(DeadLetterAction action) {
  return action == DeadLetterAction::retry ? "retried" : "discarded";
}

// As it will be; nothing where it is no dead letter.
std::optional<Record> handled(const std::optional<Record>& record, DeadLetterAction action,
                              Instant now) {
  if (!record) return std::nullopt;
  return action == DeadLetterAction::retry ? requeued(*record, now) : discarded(*record, now);
}

}  // namespace

Task<OrRefusal<Done>> purge_key(KeyPorts ports, PurgeOrder order) {
  if (const auto wrong = check_reason(order.by.reason)) co_return Unexpected{*wrong};
  const OrRefusal<std::optional<Record>> found = co_await find_record(ports.store, order.name);
  if (!found) co_return Unexpected{found.error()};
  if (!*found) co_return not_purged(no_such_record);
  const Record& record = **found;
  const std::string why = why_not_purged(record, order.forget_answer);
  if (!why.empty()) co_return not_purged(why);
  const AuditEntry audit = audit_of(order.by, "purge");
  const Guard expected = guard_of(record);
  const StoreResult<bool> purged =
      co_await ports.directory.purge(record.scope, record.key, expected, audit);
  if (!purged) co_return port_failed(ports.directory, purged.error());
  if (!*purged) co_return not_purged(lost_race);
  co_return Done{};
}

Task<OrRefusal<Status>> handle_dead_letter(KeyPorts ports, DeadLetterOrder order) {
  if (const auto wrong = check_reason(order.by.reason)) co_return Unexpected{*wrong};
  const OrRefusal<Instant> now = co_await time_of(ports.store);
  if (!now) co_return Unexpected{now.error()};
  const OrRefusal<std::optional<Record>> found = co_await find_record(ports.store, order.name);
  if (!found) co_return Unexpected{found.error()};
  const std::string refusal = "not " + done_by(order.action) + ": ";
  std::optional<Record> next = handled(*found, order.action, *now);
  if (!next) {
    const std::string status =
        *found ? "it is " + std::string(to_text(status_of(**found))) : std::string(no_such_record);
    co_return refused(refusal + "only accepted work that is out of attempts can be; " + status +
                      ". pawl keys list --dead");
  }
  const Status became = status_of(*next);
  Replacement change{std::move(*next), guard_of(**found),
                     audit_of(order.by, name_of(order.action))};
  const StoreResult<Written> written = co_await ports.store.replace_one(std::move(change));
  if (!written) co_return store_failed(written.error());
  if (!written->mine) co_return refused(refusal + lost_race);
  co_return became;
}

std::string dead_letter_text(DeadLetterAction action, Status became) {
  return done_by(action) + ": it is now " + std::string(to_text(became)) + "\n";
}

Task<OrRefusal<Done>> reopen_key(KeyPorts ports, ReopenOrder order) {
  if (const auto wrong = check_reason(order.by.reason)) co_return Unexpected{*wrong};
  const OrRefusal<Instant> now = co_await time_of(ports.store);
  if (!now) co_return Unexpected{now.error()};
  const OrRefusal<std::optional<Record>> found = co_await find_record(ports.store, order.name);
  if (!found) co_return Unexpected{found.error()};
  const auto* unknown = *found ? std::get_if<Unknown>(&(*found)->state) : nullptr;
  if (unknown == nullptr) co_return refused("not asked: " + why_not_unknown(*found));
  const CaseNote note{*now, (*found)->fence, "operator", "asked again",
                      order.by.actor + ": " + order.by.reason};
  const StoreResult<bool> reopened =
      co_await ports.cases.reopen(order.name.scope, order.name.key, note);
  if (!reopened) co_return port_failed(ports.cases, reopened.error());
  if (!*reopened) co_return refused("not asked: it is no dead letter; its source is being asked");
  Record next = **found;
  next.state = Unknown{.reconcile_after = *now,
                       .locked_until = unknown->locked_until,
                       .locked_at = unknown->locked_at};
  Replacement change{std::move(next), guard_of(**found), audit_of(order.by, "ask")};
  const StoreResult<Written> written = co_await ports.store.replace_one(std::move(change));
  if (!written) co_return store_failed(written.error());
  co_return Done{};
}

}  // namespace pawl
