#include "pawl/types/policy.hpp"

#include <charconv>

#include "pawl/types/json.hpp"
#include "src/core/json_writer.hpp"

namespace pawl {

Policy default_policy(Profile profile, bool transactional) {
  Policy policy;
  policy.profile = profile;
  switch (profile) {
    case Profile::ietf: break;
    case Profile::stripe:
      policy.on_server_error = OnServerError::store;
      policy.retention = std::chrono::hours(24);
      break;
    case Profile::strict:
      policy.on_refusal = OnRefusal::hold;
      policy.expired = WhenExpired::tombstone;
      break;
  }
  policy.transactional = transactional;
  if (transactional) policy.on_lease_expiry = OnLeaseExpiry::retry;
  return policy;
}

namespace {

// The stored form, version 1. A field that is absent has the value it has in `frozen()`: whoever
// changes a default of StoredPolicy must spell out the old one there, or every stored record would
// silently change its meaning. A field added later needs a new version.
constexpr int stored_version = 1;

StoredPolicy frozen() {
  StoredPolicy policy;
  policy.on_server_error = OnServerError::retry;
  return policy;
}

class Writer {
 public:
  void text(std::string_view name, std::string_view value) { out_.text(name, value); }
  void number(std::string_view name, std::int64_t value) { out_.number(name, value); }
  void raw(std::string_view name, std::string_view value) { out_.raw(name, value); }
  template <class Enum>
  void choice(std::string_view name, Enum value, Enum usual) {
    if (value != usual) text(name, to_text(value));
  }
  void duration(std::string_view name, Duration value, Duration usual) {
    if (value != usual) number(name, value.count());
  }
  void pointers(std::string_view name, const std::vector<json::Pointer>& list) {
    if (list.empty()) return;
    std::string items;
    for (const json::Pointer& pointer : list) {
      items += items.empty() ? '[' : ',';
      items += json::quote(json::to_text(pointer));
    }
    raw(name, items + ']');
  }
  std::string finish() && { return std::move(out_).done(); }

 private:
  JsonObject out_;
};

using Trouble = std::optional<std::string>;

template <class Enum>
Trouble read_choice(const json::Value& value, Enum& into) {
  const std::optional<Enum> choice =
      value.kind == json::Kind::string ? from_text<Enum>(value.text) : std::nullopt;
  if (!choice) return "value";
  into = *choice;
  return std::nullopt;
}

Trouble read_number(const json::Value& value, std::int64_t& into) {
  const char* end = value.text.data() + value.text.size();
  if (value.kind != json::Kind::number) return "value";
  const auto [stopped, error] = std::from_chars(value.text.data(), end, into);
  if (error != std::errc{} || stopped != end) return "value";
  return std::nullopt;
}

Trouble read_duration(const json::Value& value, Duration& into) {
  std::int64_t count = 0;
  if (Trouble trouble = read_number(value, count)) return trouble;
  // Longer than any record is kept; and now + it still fits into an Instant.
  constexpr Duration longest = std::chrono::years(100);
  if (count < 0 || Duration(count) > longest) return "value";
  into = Duration(count);
  return std::nullopt;
}

Trouble read_pointers(const json::Value& value, std::vector<json::Pointer>& into) {
  if (value.kind != json::Kind::array) return "value";
  for (const json::Value& item : value.items) {
    if (item.kind != json::Kind::string) return "value";
    Expected<json::Pointer, json::Error> pointer = json::parse_pointer(item.text);
    if (!pointer) return "value";
    into.push_back(std::move(*pointer));
  }
  return std::nullopt;
}

Trouble read_member(std::string_view name, const json::Value& value, StoredPolicy& policy) {
  if (name == "mode") return read_choice(value, policy.mode);
  if (name == "on_lease_expiry") return read_choice(value, policy.on_lease_expiry);
  if (name == "on_server_error") return read_choice(value, policy.on_server_error);
  if (name == "on_refusal") return read_choice(value, policy.on_refusal);
  if (name == "retention_from") return read_choice(value, policy.retention_from);
  if (name == "expired") return read_choice(value, policy.expired);
  if (name == "lease_us") return read_duration(value, policy.lease);
  if (name == "upstream_timeout_us") return read_duration(value, policy.upstream_timeout);
  if (name == "retention_us") return read_duration(value, policy.retention);
  if (name == "tombstone_for_us") return read_duration(value, policy.tombstone_for);
  if (name == "max_attempts") {
    std::int64_t count = 0;
    if (Trouble trouble = read_number(value, count)) return trouble;
    if (count < 1 || count > 1'000'000) return "value";
    policy.max_attempts = static_cast<int>(count);
    return std::nullopt;
  }
  if (name == "include") return read_pointers(value, policy.fingerprint.include);
  if (name == "exclude") return read_pointers(value, policy.fingerprint.exclude);
  if (name == "credentials" && value.kind == json::Kind::string) {
    policy.credentials = value.text;
    return std::nullopt;
  }
  if (name == "sent_key") return read_choice(value, policy.sent_key.emplace());
  if (name == "source" && value.kind == json::Kind::string) {
    policy.source = value.text;
    return std::nullopt;
  }
  if (name == "transactional" && value.kind == json::Kind::boolean) {
    policy.transactional = value.boolean;
    return std::nullopt;
  }
  return "name";
}

}  // namespace

std::string encode(const StoredPolicy& policy) {
  static const StoredPolicy usual = frozen();
  Writer writer;
  writer.number("v", stored_version);
  writer.choice("mode", policy.mode, usual.mode);
  if (policy.transactional != usual.transactional) {
    writer.raw("transactional", policy.transactional ? "true" : "false");
  }
  writer.choice("on_lease_expiry", policy.on_lease_expiry, usual.on_lease_expiry);
  writer.choice("on_server_error", policy.on_server_error, usual.on_server_error);
  writer.choice("on_refusal", policy.on_refusal, usual.on_refusal);
  writer.duration("lease_us", policy.lease, usual.lease);
  writer.duration("upstream_timeout_us", policy.upstream_timeout, usual.upstream_timeout);
  writer.duration("retention_us", policy.retention, usual.retention);
  writer.choice("retention_from", policy.retention_from, usual.retention_from);
  writer.choice("expired", policy.expired, usual.expired);
  writer.duration("tombstone_for_us", policy.tombstone_for, usual.tombstone_for);
  if (policy.max_attempts != usual.max_attempts) {
    writer.number("max_attempts", policy.max_attempts);
  }
  if (!policy.credentials.empty()) writer.text("credentials", policy.credentials);
  if (policy.sent_key) writer.text("sent_key", to_text(*policy.sent_key));
  if (!policy.source.empty()) writer.text("source", policy.source);
  writer.pointers("include", policy.fingerprint.include);
  writer.pointers("exclude", policy.fingerprint.exclude);
  return std::move(writer).finish();
}

Expected<StoredPolicy, std::string> decode_policy(std::string_view text) {
  const Expected<json::Value, json::Error> document = json::read(text);
  if (!document) return Unexpected{"policy: " + document.error().what};
  const json::Value* version = document->find("v");
  std::int64_t number = 0;
  if (version == nullptr || read_number(*version, number)) {
    return Unexpected{std::string("policy: no version")};
  }
  if (number != stored_version) {
    return Unexpected{"policy: version " + std::to_string(number) + " is not known here"};
  }
  StoredPolicy policy = frozen();
  for (const auto& [name, value] : document->members) {
    if (name == "v") continue;
    if (const Trouble trouble = read_member(name, value, policy)) {
      return Unexpected{"policy: unknown " + *trouble + " at \"" + name + "\""};
    }
  }
  return policy;
}

}  // namespace pawl
