#include "src/config/sources.hpp"

#include <algorithm>

#include "src/config/files.hpp"
#include "src/config/known_names.hpp"
#include "src/config/secrets.hpp"
#include "src/config/source_rules.hpp"
#include "src/config/source_tables.hpp"

namespace pawl::config {
namespace {

using std::chrono::days;
using std::chrono::milliseconds;
using std::chrono::seconds;

std::string source_name(std::string_view text) {
  const bool good = !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  return good ? std::string() : "it must be 1 to 64 letters, digits, - and _, like \"provider\"";
}

std::optional<int> small_in(Value value, Diagnostics& findings) {
  const std::optional<std::size_t> count = count_in(value, {1, 1000}, findings);
  if (!count) return std::nullopt;
  return static_cast<int>(*count);
}

std::optional<std::vector<std::string>> scopes_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> scopes = strings_in(value, true, findings);
  if (!scopes) return std::nullopt;
  const bool bad = std::ranges::any_of(*scopes, [](const std::string& scope) {
    const std::size_t star = scope.find('*');
    return scope.empty() || (star != std::string::npos && star + 1 != scope.size());
  });
  if (!bad) return scopes;
  complain(value,
           "each must be a scope as `pawl keys list` shows it, or the beginning of some and a *, "
           "like \"caller:tenant-a\" or \"api:*\"",
           findings);
  return std::nullopt;
}

std::string show_scopes(const std::vector<std::string>& scopes) {
  return scopes.empty() ? std::string() : show_strings(scopes);
}

// Whoever chooses what stands there chooses what is asked for.
void warn_of_path(const Node& node, const reconcile::Template& target, Diagnostics& findings) {
  for (const char* name : {"key", "resource_id"}) {
    if (!reconcile::mentions_in_path(target, name)) continue;
    findings.warn(node.at,
                  "'url' has {" + std::string(name) +
                      "} in its path: where one has any of / \\ % ? # ; in it no source is "
                      "asked, and an operator must decide. Put it into the query, or ask "
                      "by {derived_key} where routes have forward_key = \"derived\"");
  }
}

std::string show_number(int number) { return std::to_string(number); }

void split_url(const Node& node, Source& source, Diagnostics& findings) {
  const Value value{"url", node};
  std::optional<Halves> halves =
      halves_of(node, source.url, "https://api.example.com/v1/payments?key={key}", findings);
  if (!halves) return;
  Expected<reconcile::Template, std::string> parsed =
      reconcile::parse_template(halves->target, false);
  if (!parsed) return complain(value, parsed.error(), findings);
  const bool asks_for_one = reconcile::mentions(*parsed, "key") ||
                            reconcile::mentions(*parsed, "derived_key") ||
                            reconcile::mentions(*parsed, "resource_id");
  if (!asks_for_one) {
    return complain(value,
                    "it must say which request is asked about: {key}, {derived_key} or "
                    "{resource_id}",
                    findings);
  }
  if (!reconcile::fill_url(*parsed, {"x", "x", "x", "x"})) {
    return complain(value, "a part of its path that has a gap in it must have no % of its own",
                    findings);
  }
  warn_of_path(node, *parsed, findings);
  source.address = std::move(halves->address);
  source.target = std::move(*parsed);
}

Headers read_headers(const Node& table, Diagnostics& findings) {
  Headers headers;
  if (table.kind != Kind::table) {
    findings.error(table.at, "'headers' must be a table: write [source.headers]");
    return headers;
  }
  for (const Member& member : table.members) {
    const bool bad_text =
        member.value.kind != Kind::string || std::ranges::any_of(member.value.text, [](char c) {
          return (c >= 0 && c < ' ') || c == '\x7f';
        });
    if (!is_header_name(member.name) || bad_text) {
      findings.error(member.at, "'" + member.name +
                                    "' in [source.headers] must be a header's name with a text, "
                                    "like Authorization = \"Bearer {file:/etc/pawl/token}\"");
      continue;
    }
    if (member.value.text == "***") {
      findings.error(member.value.at,
                     "'" + member.name +
                         "' is masked, as `pawl config show` prints it; put the real value in, or "
                         "better {env:NAME} or {file:PATH}");
      continue;
    }
    headers.push_back({member.name, member.value.text});
  }
  return headers;
}

Source read_source(const Node& table, Diagnostics& findings) {
  Source source;
  read_settings(table, source_settings(), source, findings);
  if (table.find("name") == nullptr) findings.error(table.at, "[[source]] needs 'name'");
  if (const Node* node = table.find("url"); node != nullptr && !source.url.empty()) {
    split_url(*node, source, findings);
  }
  if (const Node* node = table.find("headers")) source.headers = read_headers(*node, findings);
  if (const Node* list = table.find("rule")) {
    for (const Node* each : tables_in(*list, source_rule_table, findings)) {
      source.rules.push_back(read_rule(*each, findings));
    }
  }
  if (const Node* node = table.find("webhook")) {
    if (node->kind == Kind::table) {
      source.webhook = read_webhook(*node, findings);
    } else {
      findings.error(node->at, "'webhook' must be a table: write [source.webhook]");
    }
  }
  if (const Node* node = table.find("ledger")) {
    if (node->kind == Kind::table) {
      source.ledger = read_ledger(*node, findings);
    } else {
      findings.error(node->at, "'ledger' must be a table: write [source.ledger]");
    }
  }
  if (table.find("url") == nullptr && !source.webhook && !source.ledger) {
    findings.error(table.at,
                   "[[source]] needs 'url', where it is asked, or [source.webhook], by "
                   "which it sends events");
  }
  if (table.find("url") != nullptr && table.find("rule") == nullptr) {
    findings.error(table.at,
                   "[[source]] has a 'url' and needs [[source.rule]] tables that say "
                   "what its answers mean");
  }
  if (source.patience.backoff > source.patience.backoff_max) {
    findings.error(table.at, "'backoff' must not be over 'backoff_max', " +
                                 to_text(source.patience.backoff_max));
  }
  return source;
}

void load_header(const Header& header, const std::string& setting, Source& source,
                 Troubles& troubles) {
  const std::string words = " ([[source]] \"" + source.name + "\" " + header.name + ")";
  const auto refuse = [&](const std::string& what) {
    troubles.push_back({{}, 0, 0, what + words, setting + ".headers." + header.name});
  };
  Expected<std::string, std::string> value = expand(header.value);
  if (!value) return refuse(value.error());
  const bool one_line =
      std::ranges::none_of(*value, [](char c) { return c == '\n' || c == '\r' || c == '\0'; });
  if (!one_line) return refuse(header.value + " must hold one line, to stand in a header");
  source.sent_headers.push_back({header.name, std::move(*value)});
}

}  // namespace

const Settings<Source>& source_settings() {
  using S = Source;
  constexpr Range<Duration> window{seconds(0), days(30)};
  constexpr Range<Duration> pause{milliseconds(10), days(1)};
  static const Settings<S> settings{
      text<S>("name", &S::name, source_name),
      text<S>("url", &S::url, any_text),
      duration<S>("timeout", &S::timeout, {milliseconds(10), seconds(300)}),
      setting<S>("scopes", &S::scopes, scopes_in, show_scopes),
      duration<S>(
          "visibility_window", [](auto& s) -> auto& { return s.patience.visibility_window; },
          window),
      setting<S>(
          "absent_confirmations", [](auto& s) -> auto& { return s.patience.absent_confirmations; },
          small_in, show_number),
      setting<S>(
          "max_attempts", [](auto& s) -> auto& { return s.patience.max_attempts; }, small_in,
          show_number),
      duration<S>(
          "backoff", [](auto& s) -> auto& { return s.patience.backoff; }, pause),
      duration<S>(
          "backoff_max", [](auto& s) -> auto& { return s.patience.backoff_max; }, pause),
  };
  return settings;
}

std::vector<Source> read_sources(const Node& list, Diagnostics& findings) {
  std::vector<Source> sources;
  for (const Node* table : tables_in(list, source_table, findings)) {
    Source source = read_source(*table, findings);
    const bool repeated = !source.name.empty() && std::ranges::any_of(sources, [&](const auto& s) {
      return s.name == source.name;
    });
    if (repeated) {
      findings.error(table->at, "another [[source]] is called " + quote(source.name) + " already");
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

bool speaks_for(const Source& source, std::string_view scope) {
  if (source.scopes.empty()) return true;
  return std::ranges::any_of(source.scopes, [&](std::string_view each) {
    if (!each.ends_with('*')) return each == scope;
    return scope.starts_with(each.substr(0, each.size() - 1));
  });
}

std::string show_source(const Source& source) {
  std::string text = "\n[[source]]\n" + show_lines(source_settings(), source);
  if (!source.headers.empty()) text += "\n[source.headers]\n";
  for (const Header& header : source.headers) text += line(quote(header.name), quote(header.value));
  for (const reconcile::Rule& rule : source.rules) text += show_rule(rule);
  if (source.ledger) text += show_ledger(*source.ledger);
  if (source.webhook) text += show_webhook(*source.webhook);
  return text;
}

void load_source(Source& source, const std::string& setting, Troubles& troubles) {
  source.sent_headers.clear();
  for (const Header& header : source.headers) load_header(header, setting, source, troubles);
  if (!source.webhook) return;
  std::vector<std::string>& secrets = source.webhook->secrets;
  secrets.clear();
  for (std::size_t i = 0; i < source.webhook->secret_files.size(); ++i) {
    load_secret(
        source.webhook->secret_files[i], setting + ".webhook.secret_files." + std::to_string(i),
        "[[source]] \"" + source.name + "\" secret_files", secrets.emplace_back(), troubles);
  }
}

}  // namespace pawl::config
