#include "src/adapters/sealed/sealed_outbox_store.hpp"

#include "src/adapters/sealed/sealed_records.hpp"
#include "src/core/encoding.hpp"
#include "src/core/sealed.hpp"

namespace pawl::sealed {
namespace {

// No header that can be sent has such a name.
const Headers sealed_mark{{std::string(sealed_target), ""}};

bool is_sealed_message(const OutboxRow& row) { return row.headers == sealed_mark; }

std::string place_of_message(const OutboxRow& row) {
  return place_of({"outbox", row.scope.text, row.id});
}

}  // namespace

// False: not now, and perhaps later or elsewhere. What was erased is opened as unreadable.
Task<bool> SealedOutboxStore::open(OutboxRow& row) {
  if (!is_sealed_message(row)) co_return true;
  std::string place = place_of_message(row);
  std::string envelope = from_base64(row.body, Base64Rules::strict).value_or("");
  const StoreResult<std::optional<std::string>> clear =
      co_await opened_text(*keys_, row.scope, std::move(place), std::move(envelope));
  std::optional<Message> message =
      clear && *clear ? decode_message(**clear) : std::optional<Message>();
  row.readable = message.has_value();
  row.headers = message ? std::move(message->headers) : Headers{};
  row.body = message ? std::move(message->body).value_or("") : std::string();
  co_return clear.has_value();
}

// Best effort: the next claim, after a failure, does the same.
Task<void> SealedOutboxStore::seal_in_place(const OutboxRow& row) {
  const StoreResult<SealingKey> key = co_await keys_->to_seal_now(row.scope);
  if (!key) co_return;
  OutboxRow sealed;
  sealed.scope = row.scope;
  sealed.id = row.id;
  sealed.headers = sealed_mark;
  const std::string clear = encode_message({{}, row.headers, row.body});
  sealed.body = to_base64(seal(*key->key, place_of_message(row), clear));
  std::string digest = sealed_digest(row.id, row.body);
  const int generation = key->key->generation;
  co_await keys_->store().seal_message(std::move(sealed), std::move(digest), generation);
}

Task<StoreResult<OutboxClaimed>> SealedOutboxStore::claim(OutboxClaim claim) {
  StoreResult<OutboxClaimed> claimed = co_await store_->claim(std::move(claim));
  if (!claimed) co_return claimed;
  std::vector<OutboxRow> rows;
  for (OutboxRow& row : claimed->rows) {
    const bool was_sealed = is_sealed_message(row);
    if (!was_sealed && keys_->on() && row.readable) co_await seal_in_place(row);
    // A message whose key is not here just now is no dead letter: its claim lapses, and a node that
    // has the key may take it.
    const bool is_open = co_await open(row);
    if (is_open) rows.push_back(std::move(row));
  }
  claimed->rows = std::move(rows);
  co_return claimed;
}

Task<StoreResult<std::vector<OutboxRow>>> SealedOutboxStore::list(OutboxQuery query) {
  StoreResult<std::vector<OutboxRow>> rows = co_await store_->list(std::move(query));
  if (!rows) co_return rows;
  for (OutboxRow& row : *rows) {
    if (is_sealed_message(row)) row.headers.clear();
  }
  co_return rows;
}

Task<StoreResult<std::optional<OutboxRow>>> SealedOutboxStore::find(std::string id) {
  StoreResult<std::optional<OutboxRow>> found = co_await store_->find(std::move(id));
  if (found && *found) co_await open(**found);
  co_return found;
}

}  // namespace pawl::sealed
