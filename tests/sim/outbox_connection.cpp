#include "tests/sim/connection_call.hpp"
#include "tests/sim/worker_stores.hpp"

namespace pawl::sim {
namespace {

using Table = memory::MemoryOutboxStore;

std::string in_words(const OutboxRow& row) {
  return "message " + row.id + " of " + text_of({row.scope, row.key}) + " is " +
         std::string(to_text(row.status)) + " " + row.last_error;
}

}  // namespace

template <class T, class Statement>
Task<StoreResult<T>> OutboxConnection::ask(std::string what, const char* place, bool writes,
                                           Statement statement) {
  std::function<StoreResult<T>()> apply = [&server = link_.server(),
                                           statement = std::move(statement)] {
    return server.run(statement(server.outbox()));
  };
  if (!link_.tells()) what.clear();
  co_return co_await link_.ask<T>(std::move(what), place, writes, std::move(apply));
}

Task<StoreResult<OutboxClaimed>> OutboxConnection::claim(OutboxClaim claim) {
  std::string what = claim.in_doubt ? "looks for messages in doubt" : "looks for messages";
  auto statement = [claim = std::move(claim)](Table& table) { return table.claim(claim); };
  return ask<OutboxClaimed>(std::move(what), "outbox.claim", true, std::move(statement));
}

Task<StoreResult<bool>> OutboxConnection::write(OutboxWrite write) {
  std::string what = in_words(write.next);
  auto statement = [write = std::move(write)](Table& table) { return table.write(write); };
  return ask<bool>(std::move(what), "outbox.write", true, std::move(statement));
}

Task<StoreResult<OutboxCounts>> OutboxConnection::count() {
  auto statement = [](Table& table) { return table.count(); };
  return ask<OutboxCounts>("counts messages", "outbox.count", false, std::move(statement));
}

Task<StoreResult<std::vector<OutboxRow>>> OutboxConnection::list(OutboxQuery query) {
  auto statement = [query = std::move(query)](Table& table) { return table.list(query); };
  return ask<std::vector<OutboxRow>>("lists messages", "outbox.list", false, std::move(statement));
}

Task<StoreResult<std::optional<OutboxRow>>> OutboxConnection::find(std::string id) {
  auto statement = [id = std::move(id)](Table& table) { return table.find(id); };
  return ask<std::optional<OutboxRow>>("reads a message", "outbox.find", false,
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
  return ask<Changed>(std::move(what), "outbox.change", true, std::move(statement));
}

}  // namespace pawl::sim
