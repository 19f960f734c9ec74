// What an operator asks and orders about messages of the outbox.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/operator/refusal.hpp"
#include "src/ports/outbox_store.hpp"

namespace pawl {

OrRefusal<OutboxStatus> outbox_status_named(const std::string& status);

struct OutboxListing {
  Instant now{};  // the store's
  std::vector<OutboxRow> rows;
};
struct OutboxMessage {
  Instant now{};
  OutboxRow row;
};

Task<OrRefusal<OutboxListing>> list_outbox(Store& store, OutboxStore& outbox, OutboxQuery query);
Task<OrRefusal<OutboxMessage>> show_outbox(Store& store, OutboxStore& outbox, std::string id);

struct OutboxChange {
  std::string id;
  OutboxOrder order;
  OrderedBy by;
};
std::optional<Refusal> check_outbox_reason(const std::string& reason);
// The message after the order.
Task<OrRefusal<OutboxMessage>> change_outbox(Store& store, OutboxStore& outbox,
                                             OutboxChange change);

}  // namespace pawl
