// The fingerprint: what a request means, hashed. The same meaning under the same key is a retry;
// another meaning is a client's mistake that must not be answered with another payment's answer.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/json.hpp"

namespace pawl {

// Raised whenever equal requests would hash differently than before. Old versions stay verifiable.
inline constexpr int fingerprint_version = 1;
// Of multipart bodies that are read as parts. Version 1 took their bytes, with the boundary that
// many clients make anew for every try: what was stored so still verifies so.
inline constexpr int multipart_fingerprint_version = 2;

// As stored: "version.secret-id.hash", e.g. "1.-.9f86d0...". The secret id is "-" without a secret.
struct Fingerprint {
  std::string text;
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

// What a client sent, as far as its meaning goes. Views: the caller keeps the bytes alive.
struct RequestContent {
  std::string_view method;
  std::string_view path;
  std::string_view query;         // as sent, without '?'
  std::string_view content_type;  // as sent, parameters and all; empty if absent
  std::string_view body;
};

// Which parts of a JSON body count. `include` empty: all of it. `exclude` is applied after
// `include`. A pointer that leads nowhere is no error: the field is absent. Other bodies always
// count whole.
struct FingerprintRules {
  std::vector<json::Pointer> include;
  std::vector<json::Pointer> exclude;
  friend bool operator==(const FingerprintRules&, const FingerprintRules&) = default;
};

// With a secret, a reader of the store cannot test guesses at what a body said.
struct FingerprintSecret {
  std::string id;  // letters, digits, '-' and '_'; never "-" alone
  std::string bytes;
};

// Newest first. The first one writes, all of them verify.
using FingerprintSecrets = std::vector<FingerprintSecret>;

struct Fingerprinted {
  std::string canonical;  // the body's canonical form: what was hashed of it
  Fingerprint fingerprint;
};

// The fingerprint under the current version and the newest secret (none: plain SHA-256).
//   application/json and +json: canonical JSON with exact numbers, after the rules; bad JSON is an
//   error application/x-www-form-urlencoded: decoded pairs sorted by name, repeated names in their
//   order
//   multipart/*: each part's header fields and bytes, in order, without the boundary; where that
//   cannot be decided, the bytes
//   anything else, and any empty body: the bytes
Expected<Fingerprinted, json::Error> fingerprint(const RequestContent& content,
                                                 const FingerprintRules& rules,
                                                 const FingerprintSecrets& secrets);

// Is `stored` the fingerprint of this content, under the version and secret that `stored` names and
// the rules that were in force then? False for a version or secret that is not known any more, and
// for a body that is not what its media type says. Compares in constant time.
bool matches(const Fingerprint& stored, const RequestContent& content,
             const FingerprintRules& rules_then, const FingerprintSecrets& secrets);

// Does a body of this media type have to be JSON?
bool is_json(std::string_view content_type);

}  // namespace pawl
