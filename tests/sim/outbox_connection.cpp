#include "tests/sim/worker_stores.hpp"

namespace pawl::sim {
namespace {

using Table = memory::MemoryOutboxStore;

std::string in_words(const OutboxRow& row) {
  return "message " + row.id + " of " + text_of({row.scope, row.key}) + " is " +
         std::string(to_text(row.status)) + " " + row.last_error;
}

}  // namespace

Task<StoreResult<OutboxClaimed>> OutboxConnection::claim(OutboxClaim claim) {
  std::string what = claim.in_doubt ? "looks for messages in doubt" : "looks for messages";
  auto statement = [claim = std::move(claim)](Table& table) { return table.claim(claim); };
  return table_.ask<OutboxClaimed>(std::move(what), "outbox.claim", true, std::move(statement));
}

Task<StoreResult<bool>> OutboxConnection::write(OutboxWrite write) {
  std::string what = in_words(write.next);
  auto statement = [write = std::move(write)](Table& table) { return table.write(write); };
  return table_.ask<bool>(std::move(what), "outbox.write", true, std::move(statement));
}

Task<StoreResult<OutboxCounts>> OutboxConnection::count() {
  auto statement = [](Table& table) { return table.count(); };
  return table_.ask<OutboxCounts>("counts messages", "outbox.count", false, std::move(statement));
}

Task<StoreResult<std::vector<OutboxRow>>> OutboxConnection::list(OutboxQuery query) {
  auto statement = [query = std::move(query)](Table& table) { return table.list(query); };
  return table_.ask<std::vector<OutboxRow>>("lists messages", "outbox.list", false,
                                            std::move(statement));
}

Task<StoreResult<std::optional<OutboxRow>>> OutboxConnection::find(std::string id) {
  auto statement = [id = std::move(id)](Table& table) { return table.find(id); };
  return table_.ask<std::optional<OutboxRow>>("reads a message", "outbox.find", false,
                                              std::move(statement));
}

Task<StoreResult<OutboxStore::Changed>> OutboxConnection::change(std::string id,
                                                                 OutboxAction action,
                                                                 OutboxAuthor author,
                                                                 Transition transition) {
  std::string what = "message " + id + " is resolved: " + author.reason;
  auto statement = [id = std::move(id), action, author = std::move(author),
                    transition = std::move(transition)](Table& table) {
    return table.change(id, action, author, transition);
  };
  return table_.ask<Changed>(std::move(what), "outbox.change", true, std::move(statement));
}

}  // namespace pawl::sim
