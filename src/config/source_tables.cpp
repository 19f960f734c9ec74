#include "src/config/source_tables.hpp"

#include <algorithm>

#include "src/config/known_names.hpp"
#include "src/config/source_rules.hpp"

namespace pawl::config {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;

std::string optional_header(std::string_view text) {
  return text.empty() ? std::string() : header_name(text);
}

std::optional<std::vector<std::string>> files_in(Value value, Diagnostics& findings) {
  std::optional<std::vector<std::string>> files = strings_in(value, true, findings);
  if (!files) return std::nullopt;
  const bool blank = std::ranges::any_of(*files, [](const auto& file) { return file.empty(); });
  if (!files->empty() && !blank) return files;
  complain(value, "it must name the files that hold the provider's signing secrets", findings);
  return std::nullopt;
}

void check_webhook(const Node& table, const Webhook& webhook, Diagnostics& findings) {
  const auto need = [&](std::string_view name, std::string_view why) {
    if (table.find(name) != nullptr) return;
    findings.error(table.at,
                   "[source.webhook] needs '" + std::string(name) + "'" + std::string(why));
  };
  need("secret_files", ", the files with the provider's signing secrets");
  need("event_id", ", where an event has its id: each is taken once");
  need("rule", ": [[source.webhook.rule]] tables that say what events mean");
  const bool by_key = table.find("key") != nullptr;
  const bool by_derived = table.find("derived_key") != nullptr;
  const bool by_resource = table.find("resource_id") != nullptr;
  if (int{by_key} + int{by_derived} + int{by_resource} != 1) {
    findings.error(table.at,
                   "[source.webhook] needs either 'key' and 'scope', or 'derived_key', or "
                   "'resource_id': where an event says which request it is about");
  }
  if (by_key && webhook.events.fixed_scope.empty() && !webhook.events.scope) {
    findings.error(table.at,
                   "[source.webhook] has 'key' and needs 'scope': a JSON pointer into the event, "
                   "or the scope itself, like \"caller:default\"");
  }
  if (webhook.signature.scheme == reconcile::Scheme::hmac && table.find("header") == nullptr) {
    findings.error(table.at, "scheme = \"hmac\" needs 'header', which carries the signature");
  }
  for (const std::string_view name : {"encoding", "prefix", "timestamp_header"}) {
    const Node* node = table.find(name);
    if (node == nullptr || webhook.signature.scheme == reconcile::Scheme::hmac) continue;
    findings.error(node->at, "'" + std::string(name) + "' goes with scheme = \"hmac\"");
  }
}

// A table of JSON pointers: ours = theirs.
std::vector<reconcile::Compared> compared_in(const Node& node, Diagnostics& findings) {
  std::vector<reconcile::Compared> all;
  const Value value{"compare", node};
  if (node.kind != Kind::table) {
    complain(value, "it must be a table, like { \"/amount\" = \"/amount\" }", findings);
    return all;
  }
  for (const Member& member : node.members) {
    Expected<json::Pointer, json::Error> ours = json::parse_pointer(member.name);
    Expected<json::Pointer, json::Error> theirs = json::parse_pointer(
        member.value.kind == Kind::string ? member.value.text : std::string("?"));
    if (ours && theirs) {
      all.push_back({std::move(*ours), std::move(*theirs)});
    } else {
      findings.error(member.at, "'" + member.name +
                                    "' in 'compare' must be a JSON pointer into our answer, with "
                                    "one into their entry, like \"/amount\" = \"/amount\"");
    }
  }
  return all;
}

void check_ledger(const Node& table, const Ledger& ledger, Diagnostics& findings) {
  const auto need = [&](std::string_view name, std::string_view why) {
    if (table.find(name) != nullptr) return;
    findings.error(table.at,
                   "[source.ledger] needs '" + std::string(name) + "'" + std::string(why));
  };
  need("url", ", where its list is");
  need("items", ", where a page has its list");
  const bool by_next = table.find("next") != nullptr;
  const bool by_more = table.find("more") != nullptr && table.find("cursor") != nullptr;
  const bool pages = ledger.url.find("{cursor}") != std::string::npos;
  if (pages != (by_next || by_more) || (by_next && table.find("more") != nullptr)) {
    findings.error(table.at,
                   "a list with {cursor} in its 'url' needs either 'next', where a page has the "
                   "next one's cursor, or 'more' and 'cursor'; one without it neither");
  }
  const bool by_key = table.find("key") != nullptr;
  const bool by_derived = table.find("derived_key") != nullptr;
  if (by_key == by_derived) {
    findings.error(table.at,
                   "[source.ledger] needs either 'key' and 'scope' or 'derived_key': where an "
                   "entry says which request it is about");
  }
  if (by_key && ledger.rules.who.fixed_scope.empty() && !ledger.rules.who.scope) {
    findings.error(table.at,
                   "[source.ledger] has 'key' and needs 'scope': a JSON pointer into the entry, "
                   "or the scope itself, like \"caller:default\"");
  }
}

}  // namespace

const Settings<Webhook>& webhook_settings() {
  using W = Webhook;
  static const Settings<W> settings{
      choice<W>(
          "scheme", [](auto& w) -> auto& { return w.signature.scheme; }),
      text<W>(
          "header", [](auto& w) -> auto& { return w.signature.header; }, header_name),
      choice<W>(
          "encoding", [](auto& w) -> auto& { return w.signature.encoding; }),
      text<W>(
          "prefix", [](auto& w) -> auto& { return w.signature.prefix; }, any_text),
      text<W>(
          "timestamp_header", [](auto& w) -> auto& { return w.signature.timestamp_header; },
          optional_header),
      duration<W>("tolerance", [](auto& w) -> auto& { return w.signature.tolerance; },
                  {seconds(1), hours(24)}),
      setting<W>("secret_files", &W::secret_files, files_in,
                 [](const std::vector<std::string>& files) {
                   return files.empty() ? std::string() : show_strings(files);
                 }),
      setting<W>(
          "event_id", [](auto& w) -> auto& { return w.events.id; }, pointer_in, show_pointer),
      setting<W>(
          "event_time", [](auto& w) -> auto& { return w.events.time; }, some_pointer_in,
          show_some_pointer),
      setting<W>(
          "key", [](auto& w) -> auto& { return w.events.key; }, some_pointer_in, show_some_pointer),
      scope_setting<W>([](auto& w) -> auto& { return w.events; }),
      setting<W>(
          "derived_key", [](auto& w) -> auto& { return w.events.derived_key; }, some_pointer_in,
          show_some_pointer),
      setting<W>(
          "resource_id", [](auto& w) -> auto& { return w.events.resource_id; }, some_pointer_in,
          show_some_pointer),
  };
  return settings;
}

Webhook read_webhook(const Node& table, Diagnostics& findings) {
  Webhook webhook;
  check_names(table, webhook_table, findings);
  read_settings(table, webhook_settings(), webhook, findings);
  if (const Node* list = table.find("rule")) {
    for (const Node* each : tables_in(*list, webhook_rule_table, findings)) {
      webhook.events.rules.push_back(read_event_rule(*each, findings));
    }
  }
  check_webhook(table, webhook, findings);
  return webhook;
}

std::string show_webhook(const Webhook& webhook) {
  std::string text = "\n[source.webhook]\n";
  const bool stripe = webhook.signature.scheme == reconcile::Scheme::stripe;
  for (const Setting<Webhook>& setting : webhook_settings()) {
    if (stripe && setting.name == "encoding") continue;
    const std::string value = setting.show(webhook);
    if (!value.empty()) text += line(setting.name, value);
  }
  for (const reconcile::EventRule& rule : webhook.events.rules) text += show_event_rule(rule);
  return text;
}

const Settings<Ledger>& ledger_settings() {
  using L = Ledger;
  static const Settings<L> settings{
      text<L>("url", &L::url, any_text),
      duration<L>("every", &L::every, {seconds(0), days(30)}),
      duration<L>("since", &L::since, {seconds(1), days(365)}),
      setting<L>(
          "items", [](auto& l) -> auto& { return l.rules.items; }, pointer_in, show_pointer),
      setting<L>(
          "next", [](auto& l) -> auto& { return l.rules.next; }, some_pointer_in,
          show_some_pointer),
      setting<L>(
          "more", [](auto& l) -> auto& { return l.rules.more; }, some_pointer_in,
          show_some_pointer),
      setting<L>(
          "cursor", [](auto& l) -> auto& { return l.rules.cursor; }, some_pointer_in,
          show_some_pointer),
      setting<L>(
          "id", [](auto& l) -> auto& { return l.rules.id; }, some_pointer_in, show_some_pointer),
      setting<L>(
          "key", [](auto& l) -> auto& { return l.rules.who.key; }, some_pointer_in,
          show_some_pointer),
      scope_setting<L>([](auto& l) -> auto& { return l.rules.who; }),
      setting<L>(
          "derived_key", [](auto& l) -> auto& { return l.rules.who.derived_key; }, some_pointer_in,
          show_some_pointer),
  };
  return settings;
}

Ledger read_ledger(const Node& table, Diagnostics& findings) {
  Ledger ledger;
  check_names(table, ledger_table, findings);
  read_settings(table, ledger_settings(), ledger, findings);
  if (const Node* node = table.find("where")) ledger.rules.where = conditions_in(*node, findings);
  if (const Node* node = table.find("compare")) {
    ledger.rules.compare = compared_in(*node, findings);
  }
  if (const Node* node = table.find("url"); node != nullptr && !ledger.url.empty()) {
    std::optional<Halves> halves =
        halves_of(*node, ledger.url, "https://api.example.com/v1/charges?after={cursor}", findings);
    if (halves) {
      ledger.address = std::move(halves->address);
      ledger.target = std::string(halves->target);
    }
  }
  check_ledger(table, ledger, findings);
  return ledger;
}

std::string show_ledger(const Ledger& ledger) {
  std::string text = "\n[source.ledger]\n" + show_lines(ledger_settings(), ledger);
  text += show_where(ledger.rules.where);
  std::string compare;
  for (const reconcile::Compared& each : ledger.rules.compare) {
    compare.append(compare.empty() ? "{ " : ", ").append(quote(json::to_text(each.ours)));
    compare.append(" = ").append(quote(json::to_text(each.theirs)));
  }
  return compare.empty() ? text : text + line("compare", compare + " }");
}

}  // namespace pawl::config
