#include "pawl/types/fingerprint.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "src/core/canonical_append.hpp"
#include "src/core/field_syntax.hpp"
#include "src/core/form.hpp"
#include "src/core/multipart.hpp"
#include "src/core/sha256.hpp"

namespace pawl {
namespace {

constexpr std::string_view domain = "pawl-fingerprint";
constexpr std::string_view no_secret = "-";
constexpr std::size_t hash_characters = 64;
// Of forms, and of multipart bodies that cannot be read as parts. Version 1 took different bodies
// for one: what was stored so still verifies so.
constexpr int form_version = 3;

// What was hashed of a body. `extent` keeps a selection apart from a body that happens to look like
// one.
struct Body {
  std::string_view extent;
  std::string canonical;
  int version = fingerprint_version;
  std::string type = {};  // where it is not the media type that is hashed
};

// "Application/JSON ; charset=utf-8" is "application/json".
std::string media_type_of(std::string_view content_type) {
  return lowered(trimmed(content_type.substr(0, content_type.find(';'))));
}

bool is_json_type(std::string_view media_type) {
  return media_type == "application/json" || media_type.ends_with("+json");
}

// Is `inner` the value `outer` points to, or inside it?
bool covers(const json::Pointer& outer, const json::Pointer& inner) {
  return outer.tokens.size() <= inner.tokens.size() &&
         std::equal(outer.tokens.begin(), outer.tokens.end(), inner.tokens.begin());
}

bool is_excluded(const json::Pointer& pointer, const FingerprintRules& rules) {
  return std::ranges::any_of(rules.exclude, [&pointer](const json::Pointer& excluded) {
    return covers(excluded, pointer);
  });
}

// Resolved before anything is left out, so that an index means the item the client sent there.
std::vector<const json::Value*> excluded_values(const json::Value& document,
                                                const FingerprintRules& rules) {
  std::vector<const json::Value*> values;
  for (const json::Pointer& pointer : rules.exclude)
    if (const json::Value* value = json::resolve(document, pointer)) values.push_back(value);
  return values;
}

Body whole_document(const json::Value& document, const FingerprintRules& rules,
                    std::size_t text_bytes) {
  Body body{.extent = "whole", .canonical = {}, .version = fingerprint_version};
  if (is_excluded({}, rules)) return body;
  body.canonical.reserve(text_bytes);
  json::append_canonical(body.canonical, document, json::Numbers::exact,
                         excluded_values(document, rules));
  return body;
}

// An object that maps the text of each pointer to the value it leads to.
Body selection(const json::Value& document, const FingerprintRules& rules) {
  std::vector<std::pair<std::string, const json::Value*>> found;
  for (const json::Pointer& pointer : rules.include) {
    const json::Value* value = json::resolve(document, pointer);
    if (value != nullptr && !is_excluded(pointer, rules))
      found.emplace_back(json::to_text(pointer), value);
  }
  std::ranges::sort(found, json::utf16_less, &decltype(found)::value_type::first);
  found.erase(std::unique(found.begin(), found.end()), found.end());

  const std::vector<const json::Value*> excluded = excluded_values(document, rules);
  Body body{.extent = "selection", .canonical = "{", .version = fingerprint_version};
  for (const auto& [pointer, value] : found) {
    if (body.canonical.size() > 1) body.canonical.push_back(',');
    json::append_quoted(body.canonical, pointer);
    body.canonical.push_back(':');
    json::append_canonical(body.canonical, *value, json::Numbers::exact, excluded);
  }
  body.canonical.push_back('}');
  return body;
}

Body form_body(std::string_view body) {
  std::optional<std::string> pairs = ordered_form(body);
  // The extent keeps bytes apart from pairs that happen to look like them.
  if (!pairs) return {.extent = "bytes", .canonical = std::string(body), .version = form_version};
  return {.extent = "whole", .canonical = std::move(*pairs), .version = form_version};
}

// `newest`: the version under which it is read. Version 1 took what is in parts as bytes.
Expected<Body, json::Error> canonical_body(const RequestContent& content,
                                           std::string_view media_type,
                                           const FingerprintRules& rules, int newest) {
  const std::string_view body = content.body;
  if (!body.empty() && is_json_type(media_type)) {
    const auto document = json::read(body);
    if (!document) return Unexpected{document.error()};
    return rules.include.empty() ? whole_document(*document, rules, body.size())
                                 : selection(*document, rules);
  }
  Body whole{.extent = "whole", .canonical = {}, .version = fingerprint_version};
  if (media_type == "application/x-www-form-urlencoded") {
    if (newest >= form_version) return form_body(body);
    whole.canonical = canonical_form(body);
    return whole;
  }
  const bool multipart = media_type.starts_with("multipart/");
  if (multipart && newest >= multipart_fingerprint_version) {
    if (const auto read = read_multipart(content.content_type, body)) {
      return Body{.extent = "parts",
                  .canonical = canonical_multipart(*read),
                  .version = multipart_fingerprint_version};
    }
  }
  whole.canonical = std::string(body);
  // Which parts the bytes are is for the boundary to say.
  if (multipart && newest >= form_version && !body.empty()) {
    whole.version = form_version;
    whole.type = trimmed(content.content_type);
  }
  return whole;
}

void append_length(std::string& into, std::uint64_t length) {
  std::array<char, 8> bytes;
  for (std::size_t i = bytes.size(); i > 0; --i, length >>= 8)
    bytes[i - 1] = static_cast<char>(length & 0xFF);
  into.append(bytes.data(), bytes.size());
}

// Each field behind its length: no two lists of fields give the same bytes.
std::string hashed_bytes(const RequestContent& content, std::string_view media_type,
                         const Body& body) {
  const std::string version = std::to_string(body.version);
  const std::array<std::string_view, 8> fields = {domain,       version,       content.method,
                                                  content.path, content.query, media_type,
                                                  body.extent,  body.canonical};
  std::size_t size = 0;
  for (const std::string_view field : fields) size += sizeof(std::uint64_t) + field.size();
  std::string bytes;
  bytes.reserve(size);
  for (const std::string_view field : fields) {
    append_length(bytes, field.size());
    bytes += field;
  }
  return bytes;
}

// `secret` may be nullptr: then guesses can be tested against the hash.
Expected<Fingerprinted, json::Error> fingerprint_under(const RequestContent& content,
                                                       const FingerprintRules& rules,
                                                       const FingerprintSecret* secret,
                                                       int newest = form_version) {
  const std::string media_type = media_type_of(content.content_type);
  Expected<Body, json::Error> body = canonical_body(content, media_type, rules, newest);
  if (!body) return Unexpected{body.error()};
  const std::string bytes =
      hashed_bytes(content, body->type.empty() ? media_type : body->type, *body);
  const Digest digest = secret != nullptr ? hmac_sha256(secret->bytes, bytes) : sha256(bytes);

  std::string text = std::to_string(body->version);
  text.push_back('.');
  text += secret != nullptr ? std::string_view(secret->id) : no_secret;
  text.push_back('.');
  text += hex(digest);
  return Fingerprinted{.canonical = std::move(body->canonical),
                       .fingerprint = {.text = std::move(text)}};
}

// Which version and secret a stored fingerprint names; nothing if it is not well-formed.
struct StoredNames {
  std::string_view version;
  std::string_view secret_id;
};

std::optional<StoredNames> names_in(std::string_view text) {
  const auto first = text.find('.');
  const auto last = text.rfind('.');
  if (first == text.npos || first == last) return std::nullopt;
  if (text.size() - (last + 1) != hash_characters) return std::nullopt;
  return StoredNames{.version = text.substr(0, first),
                     .secret_id = text.substr(first + 1, last - (first + 1))};
}

}  // namespace

Expected<Fingerprinted, json::Error> fingerprint(const RequestContent& content,
                                                 const FingerprintRules& rules,
                                                 const FingerprintSecrets& secrets) {
  return fingerprint_under(content, rules, secrets.empty() ? nullptr : &secrets.front());
}

bool matches(const Fingerprint& stored, const RequestContent& content,
             const FingerprintRules& rules_then, const FingerprintSecrets& secrets) {
  const auto names = names_in(stored.text);
  if (!names) return false;
  int version = form_version;
  while (version >= fingerprint_version && names->version != std::to_string(version)) --version;
  if (version < fingerprint_version) return false;
  const FingerprintSecret* secret = nullptr;
  if (names->secret_id != no_secret) {
    const auto known = std::ranges::find(secrets, names->secret_id, &FingerprintSecret::id);
    if (known == secrets.end()) return false;
    secret = &*known;
  }
  const auto expected = fingerprint_under(content, rules_then, secret, version);
  return expected && equal_constant_time(expected->fingerprint.text, stored.text);
}

bool is_json(std::string_view content_type) { return is_json_type(media_type_of(content_type)); }

}  // namespace pawl
