#include "src/config/caller.hpp"

#include <algorithm>
#include <initializer_list>

#include "src/config/address.hpp"
#include "src/config/known_names.hpp"
#include "src/core/encoding.hpp"

namespace pawl::config {
namespace {

using From = CallerFrom;

std::string word(From from) { return quote(pawl::to_text(from)); }

struct Row {
  From of;  // the way to know a caller that has this setting
  bool required;
  Setting<Caller> setting;
};

// Credentials go there, or the keys come from there that tokens are verified with: whoever is in
// between must not read or change them.
std::string endpoint(std::string_view text) {
  const Expected<Endpoint, std::string> parsed = parse_endpoint(text);
  if (!parsed) return parsed.error();
  const UpstreamUrl& address = parsed->address;
  const bool here = address.host == "localhost" || is_loopback(Address{address.host, address.port});
  return address.tls || here ? std::string()
                             : "it must be https:// unless it is on this machine: whoever is in "
                               "between could say who is who";
}

std::optional<std::vector<std::string>> claims_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> list = strings_in(value, true, findings);
  if (!list) return std::nullopt;
  // Their names are kept in the store, parted by blanks (scope_rule.cpp).
  const bool odd = std::ranges::any_of(*list, [](const std::string& claim) {
    return claim.empty() ||
           std::ranges::any_of(claim, [](char c) { return c <= ' ' || c > '~' || c == '='; });
  });
  if (!list->empty() && !odd) return list;
  complain(value,
           "it must name a claim, like \"org_id\" or [\"org_id\", \"sub\"], without blanks and '='",
           findings);
  return std::nullopt;
}

std::string show_claims(const std::vector<std::string>& claims) {
  return claims.size() == 1 ? quote(claims.front()) : show_strings(claims);
}

std::optional<std::vector<std::string>> header_names_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> names = strings_in(value, true, findings);
  if (!names) return std::nullopt;
  for (const std::string& name : *names) {
    const std::string must = header_name(name);
    if (must.empty()) continue;
    complain(value, must, findings);
    return std::nullopt;
  }
  return names;
}

std::optional<std::vector<std::string>> request_headers_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> names = header_names_in(value, findings);
  if (!names || !names->empty()) return names;
  complain(value, "it must name the headers that credentials come in", findings);
  return std::nullopt;
}

const std::vector<Row>& rows() {
  using C = Caller;
  constexpr Range<Duration> asking{std::chrono::milliseconds(1), std::chrono::minutes(1)};
  constexpr Range<Duration> cached{std::chrono::seconds(0), std::chrono::hours(1)};
  constexpr Range<Duration> leeway{std::chrono::seconds(0), std::chrono::hours(1)};
  static const std::vector<Row> all{
      {From::api_key, false, text<C>("header", &C::header, header_name)},
      {From::header, true, text<C>("header", &C::header, header_name)},
      {From::api_key, false, text<C>("keys_file", &C::keys_file, not_empty)},
      {From::header, true, setting<C>("trusted", &C::trusted, networks_in, show_strings)},
      {From::jwt, false, text<C>("jwks_file", &C::jwks_file, not_empty)},
      {From::jwt, false, text<C>("jwks_url", &C::jwks_url, endpoint)},
      {From::jwt, false, text<C>("secret_file", &C::secret_file, not_empty)},
      {From::jwt, false, setting<C>("tenant_claim", &C::tenant_claim, claims_in, show_claims)},
      {From::jwt, false, text<C>("issuer", &C::issuer, not_empty)},
      {From::jwt, false, text<C>("audience", &C::audience, not_empty)},
      {From::jwt, false, duration<C>("leeway", &C::leeway, leeway)},
      {From::mtls, true, text<C>("client_ca_file", &C::client_ca_file, not_empty)},
      {From::mtls, false, choice<C>("certificate_name", &C::certificate_name)},
      {From::subrequest, true, text<C>("url", &C::url, endpoint)},
      {From::subrequest, true, text<C>("scope_header", &C::scope_header, header_name)},
      {From::subrequest, false,
       setting<C>("request_headers", &C::request_headers, request_headers_in, show_strings)},
      {From::subrequest, false, duration<C>("timeout", &C::timeout, asking)},
      {From::subrequest, false, duration<C>("cache_for", &C::cache_for, cached)},
  };
  return all;
}

std::optional<std::vector<std::string>> credential_headers_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> names = header_names_in(value, findings);
  if (!names) return std::nullopt;
  for (std::string& name : *names) {
    std::ranges::transform(name, name.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
  }
  // In one order, whatever the file's: records keep a digest over all of them.
  std::ranges::sort(*names);
  names->erase(std::unique(names->begin(), names->end()), names->end());
  return names;
}

constexpr std::string_view credential_headers_name = "credential_headers";

// "\"api-key\" or \"header\"": every way that has a setting of this name.
std::string owners_of(std::string_view name) {
  if (name == "api_key") return word(From::api_key);
  std::string owners;
  for (const Row& row : rows()) {
    if (row.setting.name != name) continue;
    owners += (owners.empty() ? "" : " or ") + word(row.of);
  }
  return owners;
}

bool belongs(std::string_view name, std::optional<From> from) {
  if (name == "from") return true;
  if (name == credential_headers_name) return !from.has_value();
  if (name == "api_key") return from == From::api_key;
  return std::ranges::any_of(
      rows(), [&](const Row& row) { return row.setting.name == name && row.of == from; });
}

void check_belonging(const Node& table, std::optional<From> from, Diagnostics& findings) {
  for (const Member& member : table.members) {
    if (member.name == credential_headers_name && from) {
      findings.error(member.at,
                     "'credential_headers' is for where no 'from' is given; with from = " +
                         word(*from) + " it says who the caller is");
      continue;
    }
    const std::string owners = owners_of(member.name);
    if (belongs(member.name, from) || owners.empty()) continue;
    std::string what = "'" + member.name + "'";
    if (from) {
      what += " does not go with from = " + word(*from) + "; it is a setting of from = " + owners;
    } else {
      what += " needs from = " + owners + " in [caller]";
    }
    findings.error(member.at, what);
  }
}

// Exactly one of them.
void check_one_of(const Node& table, From from, std::initializer_list<std::string_view> names,
                  std::string_view in_words, Diagnostics& findings) {
  std::vector<const Node*> given;
  for (const std::string_view name : names) {
    if (const Node* node = table.find(name)) given.push_back(node);
  }
  const std::string which = "[caller] from = " + word(from);
  if (given.empty()) {
    findings.error(table.at, which + " needs " + std::string(in_words));
  } else if (given.size() > 1) {
    findings.error(given[1]->at, which + " takes " + std::string(in_words) +
                                     (names.size() == 2 ? ", not both" : ", one of them alone"));
  }
}

void check_complete(const Node& table, From from, Diagnostics& findings) {
  for (const Row& row : rows()) {
    if (row.of != from || !row.required || table.find(row.setting.name) != nullptr) continue;
    findings.error(table.at, "[caller] from = " + word(from) + " needs '" +
                                 std::string(row.setting.name) + "'");
  }
  if (from == From::api_key) {
    check_one_of(table, from, {"api_key", "keys_file"}, "[[caller.api_key]] or 'keys_file'",
                 findings);
  }
  if (from == From::jwt) {
    check_one_of(table, from, {"jwks_file", "jwks_url", "secret_file"},
                 "'jwks_file', 'jwks_url' or 'secret_file'", findings);
  }
}

// Scopes are kept in the store, a line each (scope_rule.cpp).
std::string scope_text(std::string_view text) {
  const bool odd = std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; });
  return odd ? "it must have no control characters in it" : not_empty(text);
}

// Of nothing: what `printf %s "$KEY"` gives where KEY is not set. Every client has that key.
constexpr std::string_view sha256_of_nothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

bool is_sha256(std::string_view text) { return text.size() == 64 && all_hex(text, HexCase::lower); }

// One [[caller.api_key]]. A key pasted in place of its hash must not end up in a log: no echo.
ApiKey read_api_key(const Node& table, Diagnostics& findings) {
  check_names(table, api_key_table, findings);
  ApiKey key;
  for (const std::string_view name : {"scope", "sha256"}) {
    if (table.find(name) == nullptr) {
      findings.error(table.at, "[[caller.api_key]] needs '" + std::string(name) + "'");
    }
  }
  if (const Node* node = table.find("scope")) {
    key.scope = text_in({"scope", *node}, scope_text, findings).value_or("");
  }
  if (const Node* node = table.find("sha256")) {
    std::string hash = node->kind == Kind::string ? node->text : std::string();
    std::ranges::transform(hash, hash.begin(), [](char c) {
      return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    if (hash == sha256_of_nothing) {
      complain_unquoted({"sha256", *node},
                        "it is the SHA-256 of an empty text, which is no key: was $KEY set?",
                        findings);
    } else if (is_sha256(hash)) {
      key.sha256 = hash;
    } else {
      complain_unquoted({"sha256", *node},
                        "it must be the 64 hexadecimal digits of the key's SHA-256, which `printf "
                        "%s \"$KEY\" | sha256sum` prints; never the key itself",
                        findings);
    }
  }
  return key;
}

}  // namespace

std::vector<std::string_view> caller_names() {
  std::vector<std::string_view> names{"from", "api_key", credential_headers_name};
  for (const Row& row : rows()) names.push_back(row.setting.name);
  return names;
}

std::vector<ApiKey> read_api_keys(const Node& list, Diagnostics& findings) {
  std::vector<ApiKey> keys;
  if (list.kind != Kind::array) {
    findings.error(list.at,
                   "'api_key' must be a list: write [[caller.api_key]], with two brackets");
    return keys;
  }
  for (const Node& item : list.items) {
    if (item.kind != Kind::table) {
      findings.error(item.at, "each [[caller.api_key]] must be a table with 'scope' and 'sha256'");
      continue;
    }
    ApiKey key = read_api_key(item, findings);
    const bool repeated =
        !key.sha256.empty() &&
        std::ranges::any_of(keys, [&](const ApiKey& other) { return other.sha256 == key.sha256; });
    if (repeated) {
      findings.error(item.at,
                     "this 'sha256' stands in an earlier [[caller.api_key]] already; one "
                     "key belongs to one scope");
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

Caller read_caller(const Node* table, Diagnostics& findings) {
  Caller caller;
  if (table == nullptr) return caller;
  check_names(*table, caller_table, findings);
  if (const Node* node = table->find("from")) {
    caller.from = choice_in<From>({"from", *node}, findings);
    if (!caller.from) return caller;  // what the others should be depends on it
  }
  check_belonging(*table, caller.from, findings);
  if (!caller.from) {
    if (const Node* node = table->find(credential_headers_name)) {
      auto names = credential_headers_in({credential_headers_name, *node}, findings);
      if (names) caller.credential_headers = std::move(*names);
    }
    return caller;
  }
  check_complete(*table, *caller.from, findings);
  for (const Row& row : rows()) {
    const Node* node = table->find(row.setting.name);
    if (row.of == caller.from && node != nullptr) row.setting.read(*node, caller, findings);
  }
  if (caller.from == From::api_key) {
    if (caller.header.empty()) caller.header = "Authorization";
    if (const Node* list = table->find("api_key")) caller.api_keys = read_api_keys(*list, findings);
  }
  return caller;
}

bool tells_apart(const Caller& caller) {
  if (!caller.from || caller.from == From::single) return false;
  if (caller.from != From::api_key || !caller.keys_file.empty()) return true;
  return std::ranges::any_of(caller.api_keys, [&](const ApiKey& key) {
    return key.scope != caller.api_keys.front().scope;
  });
}

std::string show_caller(const Caller& caller) {
  if (!caller.from && caller.credential_headers.empty()) return {};
  if (!caller.from) {
    return "\n[caller]\ncredential_headers = " + show_strings(caller.credential_headers) + "\n";
  }
  std::string text = "\n[caller]\nfrom = " + word(*caller.from) + "\n";
  for (const Row& row : rows()) {
    if (row.of != caller.from) continue;
    const std::string value = row.setting.show(caller);
    if (!value.empty()) text += std::string(row.setting.name) + " = " + value + "\n";
  }
  if (!caller.keys_file.empty()) return text;  // the keys stand there
  for (const ApiKey& key : caller.api_keys) {
    text += "\n[[caller.api_key]]\nscope = " + quote(key.scope) +
            "\nsha256 = " + quote(key.sha256) + "\n";
  }
  return text;
}

}  // namespace pawl::config
