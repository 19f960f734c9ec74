#include "src/operator/outbox_orders.hpp"

namespace pawl {
namespace {

Unexpected<Refusal> no_such_row(const std::string& id) {
  return refused("there is no outbox row " + id);
}

}  // namespace

OrRefusal<OutboxStatus> outbox_status_named(const std::string& status) {
  const std::optional<OutboxStatus> named = from_text<OutboxStatus>(status);
  if (named) return *named;
  return malformed("--status is \"" + status +
                   "\"; it must be pending, sending, done, dead or unknown");
}

Task<OrRefusal<OutboxListing>> list_outbox(Store& store, OutboxStore& outbox, OutboxQuery query) {
  StoreResult<std::vector<OutboxRow>> rows = co_await outbox.list(std::move(query));
  if (!rows) co_return port_failed(outbox, rows.error());
  const OrRefusal<Instant> now = co_await time_of(store);
  if (!now) co_return Unexpected{now.error()};
  co_return OutboxListing{*now, std::move(*rows)};
}

Task<OrRefusal<OutboxMessage>> show_outbox(Store& store, OutboxStore& outbox, std::string id) {
  StoreResult<std::optional<OutboxRow>> row = co_await outbox.find(id);
  if (!row) co_return port_failed(outbox, row.error());
  if (!*row) co_return no_such_row(id);
  const OrRefusal<Instant> now = co_await time_of(store);
  if (!now) co_return Unexpected{now.error()};
  co_return OutboxMessage{*now, std::move(**row)};
}

std::optional<Refusal> check_outbox_reason(const std::string& reason) {
  if (reason.find_first_not_of(" \t") != std::string::npos) return std::nullopt;
  return malformed("--reason is empty; say why, for readers of the audit").error;
}

Task<OrRefusal<OutboxMessage>> change_outbox(Store& store, OutboxStore& outbox,
                                             OutboxChange change) {
  if (const auto wrong = check_outbox_reason(change.by.reason)) co_return Unexpected{*wrong};
  // By value: it is called on a thread of the store's.
  const OutboxStore::Transition transition =
      [order = change.order](const OutboxRow& before, Instant now) -> OutboxStore::Changed {
    Expected<OutboxRow, std::string> after = ordered(before, order, now);
    if (after) return std::move(*after);
    return Unexpected{OutboxRefusal{OutboxRefusal::Kind::by_transition, after.error()}};
  };
  const OutboxAuthor author{change.by.actor, change.by.reason};
  StoreResult<OutboxStore::Changed> changed =
      co_await outbox.change(change.id, change.order.action, author, transition);
  if (!changed) {
    const Refusal failed = port_failed(outbox, changed.error()).error;
    co_return unavailable(change.id + ": " + failed.sentence);
  }
  if (!*changed) {
    const OutboxRefusal& refusal = changed->error();
    if (refusal.kind == OutboxRefusal::Kind::no_such_row) co_return no_such_row(change.id);
    co_return refused(change.id + ": " + refusal.why);
  }
  const OrRefusal<Instant> now = co_await time_of(store);
  if (!now) co_return Unexpected{now.error()};
  co_return OutboxMessage{*now, std::move(**changed)};
}

}  // namespace pawl
