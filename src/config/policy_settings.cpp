#include "src/config/policy_settings.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "src/config/address.hpp"
#include "src/config/known_names.hpp"

namespace pawl::config {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Range<Duration> any_age{seconds(1), longest};
constexpr Range<Duration> lease_range{seconds(1), hours(24)};
constexpr Range<Duration> timeout_range{milliseconds(1), hours(24)};
constexpr Range<Duration> window_range{milliseconds(1), hours(1)};
constexpr Range<std::size_t> body_range{1, std::size_t{1} << 30};
constexpr Range<std::size_t> count_range{1, 1'000'000};
constexpr Range<std::size_t> key_length_range{1, key_bytes_max};
constexpr Range<std::size_t> active_range{1, 1'000'000'000};

std::string request_time(std::string_view text) {
  constexpr std::string_view prefix = "header:";
  const bool header = text.starts_with(prefix) && is_header_name(text.substr(prefix.size()));
  if (text.empty() || text == "jwt:iat" || header) return {};
  return "it must be \"jwt:iat\" or \"header:\" and a header's name, like \"header:X-Sent-At\"";
}

std::optional<std::vector<json::Pointer>> pointers_in(Value value, Diagnostics& findings) {
  const std::optional<std::vector<std::string>> texts = strings_in(value, false, findings);
  if (!texts) return std::nullopt;
  std::vector<json::Pointer> pointers;
  for (std::size_t i = 0; i < texts->size(); ++i) {
    Expected<json::Pointer, json::Error> pointer = json::parse_pointer((*texts)[i]);
    if (pointer) {
      pointers.push_back(std::move(*pointer));
    } else {
      complain({value.name, value.node.items[i]},
               "it must be a JSON pointer, like \"/client/sent_at\": " + pointer.error().what +
                   " at byte " + std::to_string(pointer.error().at_byte),
               findings);
    }
  }
  if (pointers.size() != texts->size()) return std::nullopt;
  return pointers;
}

std::optional<FingerprintRules> rules_in(Value value, Diagnostics& findings) {
  if (value.node.kind != Kind::table) {
    complain(value, "it must be a table, like { exclude = [\"/sent_at\"] }", findings);
    return std::nullopt;
  }
  check_names(value.node, fingerprint_table, findings);
  FingerprintRules rules;
  const auto list = [&](std::string_view name, std::vector<json::Pointer>& into) {
    const Node* node = value.node.find(name);
    if (node == nullptr) return;
    if (auto found = pointers_in({name, *node}, findings)) into = std::move(*found);
  };
  list("include", rules.include);
  list("exclude", rules.exclude);
  return rules;
}

std::string show_rules(const FingerprintRules& rules) {
  const auto texts = [](const std::vector<json::Pointer>& pointers) {
    std::vector<std::string> list;
    list.reserve(pointers.size());
    for (const json::Pointer& pointer : pointers) list.push_back(json::to_text(pointer));
    return show_strings(list);
  };
  return "{ include = " + texts(rules.include) + ", exclude = " + texts(rules.exclude) + " }";
}

std::optional<int> attempts_in(Value value, Diagnostics& findings) {
  const std::optional<std::size_t> count = count_in(value, {1, 1000}, findings);
  if (!count) return std::nullopt;
  return static_cast<int>(*count);
}

std::optional<std::vector<std::string>> header_names_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> names = strings_in(value, false, findings);
  if (!names) return std::nullopt;
  for (const std::string& name : *names) {
    const bool is_name = !name.empty() && std::ranges::all_of(name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (is_name) continue;
    complain(value, "each must be a header's name, like \"Content-Type\"", findings);
    return std::nullopt;
  }
  return names;
}

bool is_key_place(const std::string& text) {
  const std::optional<std::string_view> header = header_in(text);
  if (header) return is_header_name(*header);
  return text.starts_with('/') && json::parse_pointer(text).has_value();
}

std::optional<std::vector<std::string>> key_places_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> places = strings_in(value, false, findings);
  if (!places) return std::nullopt;
  const bool good = !places->empty() && std::ranges::all_of(*places, is_key_place);
  if (good) return places;
  complain(value,
           "it must list the places where a request may have its key: \"header:\" and a header's "
           "name, or a JSON pointer into the body, like [\"header:Idempotency-Key\", "
           "\"/idempotency_key\"]",
           findings);
  return std::nullopt;
}

std::optional<std::vector<std::string>> guarded_methods_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> named = strings_in(value, false, findings);
  if (!named) return std::nullopt;
  static constexpr std::array<std::string_view, 4> effective{"POST", "PATCH", "PUT", "DELETE"};
  const auto may_be_guarded = [](const std::string& method) {
    return std::ranges::find(effective, method) != effective.end();
  };
  if (!named->empty() && std::ranges::all_of(*named, may_be_guarded)) return named;
  complain(value,
           "it must list some of POST, PATCH, PUT and DELETE: the others change nothing that a key "
           "could guard",
           findings);
  return std::nullopt;
}

using P = RoutePolicy;

Settings<P> make_settings() {
  const auto rate = [](std::string_view name, auto member) {
    return or_off<P>(name, member, rate_in, show_rate);
  };
  const auto age_in = [](Value value, Diagnostics& findings) {
    return duration_in(value, any_age, findings);
  };
  const auto active_in = [](Value value, Diagnostics& findings) {
    return count_in(value, active_range, findings);
  };
  const auto show_age = [](Duration shown) { return quote(to_text(shown)); };
  const auto show_count = [](std::size_t shown) { return std::to_string(shown); };
  return {
      choice<P>("profile", &P::profile),
      choice<P>("key", &P::key),
      setting<P>("key_from", &P::key_from, key_places_in, show_strings),
      setting<P>("methods", &P::methods, guarded_methods_in, show_strings),
      choice<P>(
          "key_syntax", [](auto& p) -> auto& { return p.key_rules.syntax; }),
      count<P>(
          "min_key_length", [](auto& p) -> auto& { return p.key_rules.length_min; },
          key_length_range),
      flag<P>(
          "refuse_pii_keys", [](auto& p) -> auto& { return p.key_rules.refuse_pii; }),
      choice<P>("key_scope", &P::key_scope),
      choice<P>("mode", &P::mode),
      flag<P>("transactional", &P::transactional),
      choice<P>("in_flight", &P::in_flight),
      duration<P>("wait_limit", &P::wait_limit, window_range),
      count<P>("waiters", &P::waiters, count_range),
      choice<P>("on_lease_expiry", &P::on_lease_expiry),
      choice<P>("on_server_error", &P::on_server_error),
      choice<P>("on_refusal", &P::on_refusal),
      duration<P>("lease", &P::lease, lease_range),
      duration<P>("retention", &P::retention, any_age),
      choice<P>("retention_from", &P::retention_from),
      choice<P>("expired", &P::expired),
      duration<P>("tombstone_for", &P::tombstone_for, any_age),
      choice<P>("forward_key", &P::forward_key),
      choice<P>("near_duplicates", &P::near_duplicates),
      duration<P>("near_duplicate_window", &P::near_duplicate_window, window_range),
      or_off<P>("max_request_age", &P::max_request_age, age_in, show_age),
      text<P>("request_time", &P::request_time, request_time),
      setting<P>("fingerprint", &P::fingerprint, rules_in, show_rules),
      size<P>("body_limit", &P::body_limit, body_range),
      size<P>("response_limit", &P::response_bytes_max, body_range),
      rate("new_keys_per_second", &P::new_keys_per_second),
      rate("lookups_per_second", &P::lookups_per_second),
      or_off<P>("active_keys", &P::active_keys, active_in, show_count),
      duration<P>("upstream_timeout", &P::upstream_timeout, timeout_range),
      duration<P>("upstream_connect_timeout", &P::upstream_connect_timeout, timeout_range),
      duration<P>("upstream_idle", &P::upstream_idle, {seconds(0), hours(1)}),
      choice<P>("until_close", &P::until_close),
      flag<P>("delete_body", &P::delete_body),
      setting<P>(
          "max_attempts", [](auto& p) -> auto& { return p.max_attempts; }, attempts_in,
          [](int shown) { return std::to_string(shown); }),
      setting<P>("request_headers", &P::request_headers, header_names_in, show_strings),
      text<P>("resource_type", &P::resource_type, any_text),
      text<P>("resource_id", &P::resource_id, place_in_answer),
      text<P>("reconcile", &P::reconcile, any_text),
  };
}

// The first of these that the table sets.
const Node* first_of(const Node& table, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const Node* node = table.find(name)) return node;
  }
  return nullptr;
}

void check_key_from(const Node& table, const RoutePolicy& policy, Diagnostics& findings) {
  if (const Node* node = first_of(table, {"key_from", "key", "mode"});
      node != nullptr && has_body_key(policy)) {
    if (policy.key == KeyRequirement::optional) {
      findings.error(
          node->at,
          "'key_from' reads the body, and with key = \"optional\" whether a request is "
          "guarded must be known before; make the key required, or read it from a header");
    }
    if (policy.mode == Mode::observe) {
      findings.error(node->at,
                     "'key_from' reads the body, which mode = \"observe\" does not wait for; read "
                     "the key from a header");
    }
  }
  const bool usual = policy.key_from == RoutePolicy{}.key_from;
  if (const Node* node = first_of(table, {"key_from", "forward_key"});
      node != nullptr && !usual && policy.forward_key == ForwardKey::derived) {
    findings.error(node->at,
                   "forward_key = \"derived\" replaces Idempotency-Key alone: the service would be "
                   "sent the client's own key too, where 'key_from' has it");
  }
}

}  // namespace

std::optional<std::string_view> header_in(std::string_view key_place) {
  constexpr std::string_view prefix = "header:";
  if (!key_place.starts_with(prefix)) return std::nullopt;
  return key_place.substr(prefix.size());
}

bool has_body_key(const RoutePolicy& policy) {
  return !std::ranges::all_of(
      policy.key_from, [](const std::string& place) { return header_in(place).has_value(); });
}

bool guards(const RoutePolicy& policy, std::string_view method) {
  return std::ranges::find(policy.methods, method) != policy.methods.end();
}

const Settings<RoutePolicy>& policy_settings() {
  static const Settings<RoutePolicy> settings = make_settings();
  return settings;
}

RoutePolicy read_policy(std::span<const Node* const> tables, Diagnostics& findings) {
  Diagnostics heard_before("");
  RoutePolicy chosen;
  for (const Node* table : tables) {
    read_settings(*table, policy_settings(), chosen, heard_before);
  }
  RoutePolicy policy;
  static_cast<Policy&>(policy) = default_policy(chosen.profile, chosen.transactional);
  for (const Node* table : tables) {
    Diagnostics& audience = table == tables.back() ? findings : heard_before;
    read_settings(*table, policy_settings(), policy, audience);
  }
  return policy;
}

void check_proxied(const Node& table, const RoutePolicy& policy, Diagnostics& findings) {
  if (const Node* node = table.find("on_lease_expiry");
      node != nullptr && policy.on_lease_expiry == OnLeaseExpiry::resume) {
    complain({"on_lease_expiry", *node},
             "a proxied request has no recovery point to resume from (flows of libpawl and the key "
             "API have); it "
             "must be \"unknown\" or \"retry\"",
             findings);
  }
}

void check_policy(const Node& table, const RoutePolicy& policy, const Caller& caller,
                  Diagnostics& findings) {
  if (const Node* node = first_of(table, {"max_request_age", "request_time"});
      node != nullptr && policy.max_request_age) {
    if (policy.request_time.empty()) {
      findings.error(node->at,
                     "'max_request_age' needs 'request_time', which says where a request carries "
                     "its time: \"jwt:iat\" or \"header:NAME\"");
    } else if (policy.request_time == "jwt:iat" && caller.from != CallerFrom::jwt) {
      findings.error(node->at,
                     "'request_time' is \"jwt:iat\", but callers bring no token; set [caller] from "
                     "= \"jwt\", or use \"header:NAME\"");
    }
  }
  if (const Node* node = first_of(table, {"max_request_age", "retention"});
      node != nullptr && policy.max_request_age && *policy.max_request_age * 2 > policy.retention) {
    findings.error(node->at, "'max_request_age' is " + to_text(*policy.max_request_age) +
                                 ", more than half of 'retention', which is " +
                                 to_text(policy.retention) +
                                 ": a request could be sent again after its key was forgotten, and "
                                 "still be young enough");
  }
  if (const Node* node = first_of(table, {"resource_type", "resource_id"});
      node != nullptr && policy.resource_type.empty() != policy.resource_id.empty()) {
    findings.error(node->at,
                   "'resource_type' and 'resource_id' go together: what the route makes, "
                   "and where its answer names it");
  }
  check_key_from(table, policy, findings);
  if (const Node* node = table.find("retention"); node != nullptr && policy.retention < hours(1)) {
    findings.warn(node->at, "'retention' is " + to_text(policy.retention) +
                                ": a client that retries later than that is charged again; under "
                                "1h is shorter than many clients keep trying");
  }
}

}  // namespace pawl::config
