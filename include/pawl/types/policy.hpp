// What a route wants. Every setting of design section 6 that bears on a decision, with its default.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "pawl/types/fingerprint.hpp"
#include "pawl/types/key.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

enum class Profile { ietf, stripe, strict };
enum class KeyRequirement { required, optional, off };
enum class WhenInFlight { conflict, accepted, wait };
enum class OnLeaseExpiry { unknown, retry, resume };
enum class OnServerError { retry, hold, store };
enum class OnRefusal { release, hold };
enum class RetentionFrom { completed, created };
enum class WhenExpired { remove, tombstone };
enum class Mode { sync, async, observe };
enum class ForwardKey { same, derived };

// The part of a policy that is stored with an attempt: it was accepted under these rules, and it is
// settled, swept and reaped under them whatever the configuration says by then.
struct StoredPolicy {
  Mode mode = Mode::sync;
  bool transactional = false;
  OnLeaseExpiry on_lease_expiry = OnLeaseExpiry::unknown;
  OnServerError on_server_error = OnServerError::hold;
  OnRefusal on_refusal = OnRefusal::release;
  Duration lease = std::chrono::seconds(30);
  Duration upstream_timeout = std::chrono::seconds(30);
  Duration retention = std::chrono::hours(48);
  RetentionFrom retention_from = RetentionFrom::completed;
  WhenExpired expired = WhenExpired::remove;
  Duration tombstone_for = std::chrono::days(30);
  FingerprintRules fingerprint;
  int max_attempts = 10;  // async: tries that may end without having been executed
  // Where no caller was chosen: a digest of the credentials that made the record. No other
  // credentials get its answer (design section 6). Empty where a caller was chosen.
  std::string credentials = {};
  // Under which key the provider is sent it, for as long as the record lives: under another one it
  // has never seen it. Empty: a gateway does not send it, or the record is of an earlier version.
  std::optional<ForwardKey> sent_key = {};
  // The source that can say what became of it, with the key that this one is asked by
  // (config::asked_as). Empty: none was named, or the record is of an earlier version.
  std::string source = {};

  friend bool operator==(const StoredPolicy&, const StoredPolicy&) = default;
};

struct Policy : StoredPolicy {
  Profile profile = Profile::ietf;
  KeyRequirement key = KeyRequirement::required;
  KeyRules key_rules;
  WhenInFlight in_flight = WhenInFlight::conflict;
  std::size_t response_bytes_max = std::size_t{1} << 20;
  std::string resource_type;  // what the route makes, and where its answer names it:
  std::string resource_id;    // "header:NAME" or a JSON pointer
};

// A profile is a named set of defaults. A transactional route may be retried after a lapsed lease:
// its old owner can no longer complete (design section 7).
Policy default_policy(Profile profile, bool transactional = false);

// As the `policy` column holds it: a JSON object that names only what differs from StoredPolicy{}
// as it was in version 1 (those defaults are frozen; see policy.cpp).
std::string encode(const StoredPolicy& policy);
// Refuses what it does not understand, newer versions included: a record is never reinterpreted.
Expected<StoredPolicy, std::string> decode_policy(std::string_view text);

template <>
struct Names<Profile> {
  static constexpr NameTable<Profile, 3> table{
      {{Profile::ietf, "ietf"}, {Profile::stripe, "stripe"}, {Profile::strict, "strict"}}};
};
template <>
struct Names<KeyRequirement> {
  static constexpr NameTable<KeyRequirement, 3> table{{{KeyRequirement::required, "required"},
                                                       {KeyRequirement::optional, "optional"},
                                                       {KeyRequirement::off, "off"}}};
};
template <>
struct Names<WhenInFlight> {
  static constexpr NameTable<WhenInFlight, 3> table{{{WhenInFlight::conflict, "conflict"},
                                                     {WhenInFlight::accepted, "accepted"},
                                                     {WhenInFlight::wait, "wait"}}};
};
template <>
struct Names<OnLeaseExpiry> {
  static constexpr NameTable<OnLeaseExpiry, 3> table{{{OnLeaseExpiry::unknown, "unknown"},
                                                      {OnLeaseExpiry::retry, "retry"},
                                                      {OnLeaseExpiry::resume, "resume"}}};
};
template <>
struct Names<OnServerError> {
  static constexpr NameTable<OnServerError, 3> table{{{OnServerError::retry, "retry"},
                                                      {OnServerError::hold, "hold"},
                                                      {OnServerError::store, "store"}}};
};
template <>
struct Names<OnRefusal> {
  static constexpr NameTable<OnRefusal, 2> table{
      {{OnRefusal::release, "release"}, {OnRefusal::hold, "hold"}}};
};
template <>
struct Names<RetentionFrom> {
  static constexpr NameTable<RetentionFrom, 2> table{
      {{RetentionFrom::completed, "completed"}, {RetentionFrom::created, "created"}}};
};
template <>
struct Names<WhenExpired> {
  static constexpr NameTable<WhenExpired, 2> table{
      {{WhenExpired::remove, "delete"}, {WhenExpired::tombstone, "tombstone"}}};
};
template <>
struct Names<Mode> {
  static constexpr NameTable<Mode, 3> table{
      {{Mode::sync, "sync"}, {Mode::async, "async"}, {Mode::observe, "observe"}}};
};
template <>
struct Names<ForwardKey> {
  static constexpr NameTable<ForwardKey, 2> table{
      {{ForwardKey::same, "same"}, {ForwardKey::derived, "derived"}}};
};
template <>
struct Names<KeySyntax> {
  static constexpr NameTable<KeySyntax, 3> table{
      {{KeySyntax::either, "either"}, {KeySyntax::ietf, "ietf"}, {KeySyntax::bare, "bare"}}};
};

}  // namespace pawl
