#include "src/config/source_webhook.hpp"

#include <algorithm>

#include "src/config/known_names.hpp"
#include "src/config/source_parts.hpp"
#include "src/config/source_rules.hpp"

namespace pawl::config {
namespace {

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

}  // namespace pawl::config
