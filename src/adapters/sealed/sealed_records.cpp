#include "src/adapters/sealed/sealed_records.hpp"

#include "src/core/sealed.hpp"

namespace pawl::sealed {
namespace {

// Of one life of its key: a takeover, by whatever means, keeps the request.
std::string place_of_request(const Record& record) {
  const auto life = std::to_string(record.created_at.time_since_epoch().count());
  return place_of({"request", record.scope.text, record.key.text, life});
}

std::string place_of_response(const Record& record) {
  return place_of_answer("response", record.scope, record.key, record.fence);
}

}  // namespace

std::string place_of_answer(std::string_view column, const Scope& scope, const Key& key,
                            Fence fence) {
  return place_of({column, scope.text, key.text, std::to_string(fence.number)});
}

StoredResponse sealed_answer(const DataKey& key, std::string_view place,
                             const StoredResponse& response) {
  const std::string clear = encode_message({{}, response.headers, response.body});
  return {response.status, {}, seal(key, place, clear), sealed_response_version};
}

bool has_sealed(const Record& record) {
  const auto* done = std::get_if<Completed>(&record.state);
  return (done != nullptr && is_sealed(done->response)) ||
         (record.request && is_sealed(*record.request));
}

bool has_clear(const Record& record) {
  const auto* done = std::get_if<Completed>(&record.state);
  return (done != nullptr && !is_sealed(done->response)) ||
         (record.request && !is_sealed(*record.request));
}

void seal_record(const DataKey& key, Record& record) {
  auto* done = std::get_if<Completed>(&record.state);
  if (done != nullptr && !is_sealed(done->response)) {
    done->response = sealed_answer(key, place_of_response(record), done->response);
  }
  if (record.request && !is_sealed(*record.request)) {
    const std::string clear = encode_message(
        {record.request->target, record.request->headers, std::move(record.request->body)});
    record.request =
        StoredRequest{std::string(sealed_target), {}, seal(key, place_of_request(record), clear)};
  }
}

Task<StoreResult<std::optional<std::string>>> opened_text(DataKeys& keys, Scope scope,
                                                          std::string place, std::string envelope) {
  const std::optional<int> generation = generation_of(envelope);
  if (!generation) co_return Unexpected{StoreError::unreadable};
  const StoreResult<SharedKey> key = co_await keys.to_open(std::move(scope), *generation);
  if (!key) co_return Unexpected{key.error()};
  if (!*key) co_return std::optional<std::string>();
  std::optional<std::string> clear = unseal(**key, place, envelope);
  if (!clear) co_return Unexpected{StoreError::unreadable};
  co_return std::move(clear);
}

Task<StoreResult<std::optional<StoredResponse>>> opened_answer(DataKeys& keys, Scope scope,
                                                               std::string place,
                                                               StoredResponse sealed) {
  if (!is_sealed(sealed)) co_return std::optional<StoredResponse>(std::move(sealed));
  std::string envelope = sealed.body.value_or("");
  const StoreResult<std::optional<std::string>> clear =
      co_await opened_text(keys, std::move(scope), std::move(place), std::move(envelope));
  if (!clear) co_return Unexpected{clear.error()};
  if (!*clear) co_return std::optional<StoredResponse>();
  std::optional<Message> message = decode_message(**clear);
  if (!message) co_return Unexpected{StoreError::unreadable};
  StoredResponse opened{sealed.status, std::move(message->headers), std::move(message->body),
                        response_schema_version};
  co_return std::optional<StoredResponse>(std::move(opened));
}

Task<StoreResult<Record>> opened_record(DataKeys& keys, Record record) {
  if (record.request && is_sealed(*record.request)) {
    std::string place = place_of_request(record);
    std::string envelope = std::move(record.request->body);
    const StoreResult<std::optional<std::string>> clear =
        co_await opened_text(keys, record.scope, std::move(place), std::move(envelope));
    if (!clear) co_return Unexpected{clear.error()};
    const bool finished = status_of(record) == Status::completed;
    if (!*clear && !finished) co_return Unexpected{StoreError::unreadable};
    std::optional<Message> message = *clear ? decode_message(**clear) : std::nullopt;
    if (*clear && !message) co_return Unexpected{StoreError::unreadable};
    record.request.reset();
    if (message) {
      record.request = StoredRequest{std::move(message->target), std::move(message->headers),
                                     std::move(message->body).value_or("")};
    }
  }
  auto* done = std::get_if<Completed>(&record.state);
  if (done != nullptr && is_sealed(done->response)) {
    std::string place = place_of_response(record);
    StoreResult<std::optional<StoredResponse>> answer =
        co_await opened_answer(keys, record.scope, std::move(place), std::move(done->response));
    if (!answer) co_return Unexpected{answer.error()};
    if (*answer) {
      done->response = std::move(**answer);
    } else {
      record.state = Expired{};
      record.request.reset();
    }
  }
  co_return record;
}

}  // namespace pawl::sealed
