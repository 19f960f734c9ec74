#include "src/adapters/postgres/evidence.hpp"

#include "src/adapters/postgres/row.hpp"
#include "src/core/sha256.hpp"

namespace pawl::postgres {
namespace {

std::string evidence_id(const LateEvidence& evidence) {
  std::string all;
  const auto add = [&](std::string_view part) {
    all += std::to_string(part.size()) + ':' + std::string(part);
  };
  for (const std::string& part :
       {evidence.key.text, std::to_string(evidence.fence.number), evidence.owner.text,
        evidence.fingerprint.text, std::to_string(evidence.attempt), evidence.detail}) {
    add(part);
  }
  add(to_text(evidence.evidence));
  if (evidence.response) {
    add(std::to_string(evidence.response->status));
    add(std::to_string(evidence.response->schema_version));
    add(encode_headers(evidence.response->headers));
    add(evidence.response->body ? "body" : "withheld");
    add(evidence.response->body.value_or(""));
  }
  const Digest digest = sha256(all);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

template <class Fill>
Parameter array_of_one(TypeId type, Fill fill) {
  ArrayBuilder array(type);
  fill(array);
  return std::move(array).finish();
}

}  // namespace

Query evidence_query(const LateEvidence& evidence) {
  Query query{StatementId::keep_evidence, {}};
  const auto add = [&](TypeId type, auto fill) {
    query.parameters.push_back(array_of_one(type, fill));
  };
  const auto text = [&](const std::string& value) {
    add(type::text_array, [&](ArrayBuilder& array) { array.text(value); });
  };
  const StoredResponse* response = evidence.response ? &*evidence.response : nullptr;
  add(type::text_array, [&](ArrayBuilder& array) { array.bytes(evidence.scope.text); });
  add(type::bytes_array, [&](ArrayBuilder& array) { array.bytes(evidence_id(evidence)); });
  add(type::text_array, [&](ArrayBuilder& array) { array.bytes(evidence.key.text); });
  add(type::int64_array, [&](ArrayBuilder& array) { array.int64(evidence.fence.number); });
  text(evidence.owner.text);
  text(evidence.fingerprint.text);
  add(type::int32_array, [&](ArrayBuilder& array) { array.int32(evidence.attempt); });
  text(std::string(to_text(evidence.evidence)));
  add(type::int32_array, [&](ArrayBuilder& array) {
    response != nullptr ? array.int32(response->status) : array.null();
  });
  add(type::json_array, [&](ArrayBuilder& array) {
    response != nullptr ? array.json(encode_headers(response->headers)) : array.null();
  });
  add(type::bytes_array, [&](ArrayBuilder& array) {
    response != nullptr && response->body ? array.bytes(*response->body) : array.null();
  });
  add(type::int32_array, [&](ArrayBuilder& array) {
    response != nullptr ? array.int32(response->schema_version) : array.null();
  });
  text(evidence.detail);
  return query;
}

}  // namespace pawl::postgres
