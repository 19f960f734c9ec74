#include "src/adapters/sealed/sealed_reconciliation_store.hpp"

#include "src/adapters/sealed/sealed_records.hpp"
#include "src/core/encoding.hpp"

namespace pawl::sealed {
namespace {

using namespace std::chrono_literals;

// Events are kept as text: an envelope is written in base64, and named by its type.
constexpr std::string_view sealed_type = "application/vnd.pawl.sealed";
constexpr Duration unreadable_pause = 10min;
constexpr const char* not_readable = " (its answer is sealed with a key that is not here)";
constexpr const char* was_erased = " (its answer was erased with its scope's key)";

bool is_sealed_event(const WebhookEvent& event) {
  const auto type = find_header(event.response.headers, "Content-Type");
  return type && *type == sealed_type;
}

// No caller's: scopes begin with their kind.
Scope sealed_under(const WebhookEvent& event) {
  return event.scope.text.empty() ? Scope{"store"} : event.scope;
}

// What is in clear columns still proves what became of the request: its status, and that it is
// final.
WebhookEvent without_answer(WebhookEvent event) {
  event.response.headers.clear();
  event.response.body.reset();
  return event;
}

std::string place_of_event(const WebhookEvent& event) {
  return place_of(
      {"event", event.scope.text, event.key.text, event.subject, event.source, event.id});
}

}  // namespace

Task<StoreResult<bool>> SealedReconciliationStore::keep_event(WebhookEvent event) {
  if (keys_->on()) {
    const StoreResult<SealingKey> key = co_await keys_->to_seal_now(sealed_under(event));
    if (!key) co_return Unexpected{key.error()};
    const std::string clear = encode_message({{}, event.response.headers, event.response.body});
    event.response.headers = {{"Content-Type", std::string(sealed_type)}};
    event.response.body = to_base64(seal(*key->key, place_of_event(event), clear));
  }
  co_return co_await store_->keep_event(std::move(event));
}

Task<StoreResult<std::optional<WebhookEvent>>> SealedReconciliationStore::opened(
    WebhookEvent event) {
  if (!is_sealed_event(event)) co_return std::optional<WebhookEvent>(std::move(event));
  std::optional<std::string> envelope =
      from_base64(event.response.body.value_or(""), Base64Rules::strict);
  if (!envelope) co_return Unexpected{StoreError::unreadable};
  std::string place = place_of_event(event);
  const StoreResult<std::optional<std::string>> clear =
      co_await opened_text(*keys_, sealed_under(event), std::move(place), std::move(*envelope));
  if (!clear) co_return Unexpected{clear.error()};
  if (!*clear) co_return std::optional<WebhookEvent>();
  std::optional<Message> message = decode_message(**clear);
  if (!message) co_return Unexpected{StoreError::unreadable};
  event.response.headers = std::move(message->headers);
  event.response.body = std::move(message->body);
  co_return std::optional<WebhookEvent>(std::move(event));
}

Task<StoreResult<std::vector<WebhookEvent>>> SealedReconciliationStore::events_of(
    std::string subject) {
  StoreResult<std::vector<WebhookEvent>> events = co_await store_->events_of(std::move(subject));
  if (!events) co_return events;
  std::vector<WebhookEvent> all;
  for (WebhookEvent& event : *events) {
    StoreResult<std::optional<WebhookEvent>> one = co_await opened(event);
    if (!one) co_return Unexpected{one.error()};
    all.push_back(*one ? std::move(**one) : without_answer(std::move(event)));
  }
  co_return all;
}

Task<StoreResult<std::vector<WebhookEvent>>> SealedReconciliationStore::waiting_events(
    Instant now, std::size_t events_max) {
  StoreResult<std::vector<WebhookEvent>> events = co_await store_->waiting_events(now, events_max);
  if (!events) co_return events;
  std::vector<WebhookEvent> all;
  for (WebhookEvent& event : *events) {
    StoreResult<std::optional<WebhookEvent>> one = co_await opened(event);
    if (one) {
      all.push_back(*one ? std::move(**one) : without_answer(std::move(event)));
    } else if (one.error() == StoreError::unreadable) {
      co_await store_->postpone(std::move(event), now + unreadable_pause);
    } else {
      co_return Unexpected{one.error()};
    }
  }
  co_return all;
}

Task<StoreResult<std::vector<LateEvidence>>> SealedReconciliationStore::evidence_of(Scope scope,
                                                                                    Key key) {
  StoreResult<std::vector<LateEvidence>> kept =
      co_await store_->evidence_of(std::move(scope), std::move(key));
  if (!kept) co_return kept;
  for (LateEvidence& one : *kept) {
    if (!one.response) continue;
    std::string place = place_of_answer("evidence", one.scope, one.key, one.fence);
    StoreResult<std::optional<StoredResponse>> answer =
        co_await opened_answer(*keys_, one.scope, std::move(place), std::move(*one.response));
    one.response.reset();
    if (answer && *answer) {
      one.response = std::move(**answer);
    } else {
      one.detail += answer ? was_erased : not_readable;
    }
  }
  co_return kept;
}

}  // namespace pawl::sealed
