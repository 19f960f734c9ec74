#include "src/config/source_rules.hpp"

#include <algorithm>
#include <array>

#include "src/config/known_names.hpp"

namespace pawl::config {
namespace {

using reconcile::Condition;
using reconcile::EventRule;
using reconcile::Reply;
using reconcile::Rule;
using reconcile::StatusRange;

// A text, a number or a truth, as a rule compares it.
std::optional<std::string> scalar_in(const Node& node) {
  switch (node.kind) {
    case Kind::string: return node.text;
    case Kind::integer: return std::to_string(node.integer);
    case Kind::boolean: return node.boolean ? "true" : "false";
    case Kind::real:
    case Kind::date_time:
    case Kind::array:
    case Kind::table: break;
  }
  return std::nullopt;
}

std::vector<StatusRange> statuses_in(const Node& node, Diagnostics& findings) {
  const std::vector<Node> one{node};
  const std::vector<Node>& items = node.kind == Kind::array ? node.items : one;
  std::vector<StatusRange> ranges;
  for (const Node& item : items) {
    const std::optional<std::string> text = scalar_in(item);
    const std::optional<StatusRange> range = text ? reconcile::parse_status(*text) : std::nullopt;
    if (range) {
      ranges.push_back(*range);
    } else {
      complain({"status", item},
               "it must be an HTTP status like 200, a class like \"2xx\", or a "
               "list of them",
               findings);
    }
  }
  return ranges;
}

Reply reply_in(const Node& table, bool completes, Diagnostics& findings) {
  Reply reply;
  for (const std::string_view name : {"response_status", "response_body", "response_type"}) {
    const Node* node = table.find(name);
    if (node != nullptr && !completes) {
      findings.error(
          node->at, "'" + std::string(name) +
                        "' says what is stored; it goes with then = \"completed\" or \"declined\"");
    }
  }
  if (const Node* node = table.find("response_status")) {
    const auto status = count_in({"response_status", *node}, {200, 599}, findings);
    if (status) reply.status = static_cast<int>(*status);
  }
  if (const Node* node = table.find("response_type")) {
    reply.type = text_in({"response_type", *node}, not_empty, findings).value_or(reply.type);
  }
  if (const Node* node = table.find("response_body")) {
    const Value value{"response_body", *node};
    const std::optional<std::string> text = string_in(value, findings);
    if (!text) return reply;
    Expected<reconcile::Template, std::string> body = reconcile::parse_template(*text, true);
    if (body) {
      reply.body = std::move(*body);
    } else {
      complain(value, body.error(), findings);
    }
  }
  return reply;
}

// The status of the provider's own words is a success: a question was answered, an event was told.
void demand_status(const Node& table, Diagnostics& findings) {
  if (table.find("response_status") != nullptr) return;
  findings.error(table.at,
                 "then = \"declined\" needs 'response_status': what the client of a request that "
                 "was declined gets, like 402");
}

bool sounds_declined(std::string_view value) {
  std::string lower(value);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  constexpr std::array words{"fail",  "declin", "cancel", "error",
                             "refus", "void",   "reject", "denied"};
  return std::ranges::any_of(
      words, [&](const char* word) { return lower.find(word) != std::string::npos; });
}

// Taken for a success, an earlier attempt's decline would settle a later one that charged.
void warn_of_declines(const Node& table, const std::vector<Condition>& where, const Reply& reply,
                      Diagnostics& findings) {
  if (reply.status && *reply.status >= 400) return;  // told as a refusal, and taken for one
  for (const Condition& condition : where) {
    const auto found = std::ranges::find_if(condition.values, sounds_declined);
    if (found == condition.values.end()) continue;
    findings.warn(table.at, "then = \"completed\" says that it happened, and " + quote(*found) +
                                " sounds as if it had not; if so, it needs a rule of its own with "
                                "then = \"declined\"");
  }
}

template <class Enum>
std::optional<Enum> then_in(const Node& table, std::string_view where, Diagnostics& findings) {
  if (const Node* node = table.find("then")) return choice_in<Enum>({"then", *node}, findings);
  findings.error(table.at, std::string(where) + " needs 'then', which says what it means");
  return std::nullopt;
}

std::string show_list(const std::vector<std::string>& values) {
  return values.empty() ? quote("*") : show_strings(values);
}

std::string show_rest(const std::vector<Condition>& where, std::string_view then,
                      const Reply& reply) {
  std::string text = show_where(where);
  text += line("then", quote(then));
  if (reply.status) text += line("response_status", std::to_string(*reply.status));
  if (reply.body) text += line("response_body", quote(reply.body->source));
  if (reply.type != Reply{}.type) text += line("response_type", quote(reply.type));
  return text;
}

}  // namespace

std::optional<json::Pointer> pointer_in(Value value, Diagnostics& findings) {
  const std::optional<std::string> text = string_in(value, findings);
  if (!text) return std::nullopt;
  Expected<json::Pointer, json::Error> pointer = json::parse_pointer(*text);
  if (pointer && !pointer->tokens.empty()) return std::move(*pointer);
  complain(value, "it must be a JSON pointer into the event, like \"/data/object/id\"", findings);
  return std::nullopt;
}

std::optional<std::optional<json::Pointer>> some_pointer_in(Value value, Diagnostics& findings) {
  std::optional<json::Pointer> pointer = pointer_in(value, findings);
  if (!pointer) return std::nullopt;
  return std::optional<json::Pointer>(std::move(*pointer));
}

std::string show_pointer(const json::Pointer& pointer) {
  return pointer.tokens.empty() ? std::string() : quote(json::to_text(pointer));
}

std::string show_some_pointer(const std::optional<json::Pointer>& pointer) {
  return pointer ? show_pointer(*pointer) : std::string();
}

std::optional<Halves> halves_of(const Node& node, std::string_view url, std::string_view example,
                                Diagnostics& findings) {
  const Value value{"url", node};
  if (url.find("***") != std::string_view::npos) {
    complain(value, "it is masked, as `pawl config show` prints it; put the real one in", findings);
    return std::nullopt;
  }
  const std::size_t scheme = url.find("://");
  const std::size_t slash =
      scheme == std::string_view::npos ? scheme : url.find_first_of("/?#", scheme + 3);
  Expected<UpstreamUrl, std::string> address = parse_upstream(url.substr(0, slash));
  if (!address) {
    complain(value, "it must be an address to ask at, like " + quote(example), findings);
    return std::nullopt;
  }
  const std::string_view target =
      slash == std::string_view::npos ? std::string_view("/") : url.substr(slash);
  const bool bad = target.find('#') != std::string_view::npos || !target.starts_with('/') ||
                   std::ranges::any_of(target, [](char c) { return c <= ' ' || c > '~'; });
  if (bad) {
    complain(value, "after the host it must have a path, and no blanks and no '#'", findings);
    return std::nullopt;
  }
  return Halves{std::move(*address), target};
}

std::vector<const Node*> tables_in(const Node& list, std::string_view where,
                                   Diagnostics& findings) {
  std::vector<const Node*> tables;
  if (list.kind != Kind::array) {
    findings.error(list.at,
                   "this must be a list: write " + std::string(where) + ", with two brackets");
    return tables;
  }
  for (const Node& item : list.items) {
    if (item.kind != Kind::table) {
      findings.error(item.at, "each " + std::string(where) + " must be a table");
      continue;
    }
    check_names(item, where, findings);
    tables.push_back(&item);
  }
  return tables;
}

std::vector<Condition> conditions_in(const Node& node, Diagnostics& findings) {
  const Value value{"where", node};
  std::vector<Condition> all;
  if (node.kind != Kind::table) {
    complain(value, "it must be a table, like { \"/status\" = \"succeeded\" }", findings);
    return all;
  }
  for (const Member& member : node.members) {
    Condition condition;
    Expected<json::Pointer, json::Error> at = json::parse_pointer(member.name);
    if (!at) {
      findings.error(member.at, "'" + member.name +
                                    "' in 'where' must be a JSON pointer, like "
                                    "\"/status\"");
      continue;
    }
    condition.at = std::move(*at);
    const std::vector<Node> one{member.value};
    const std::vector<Node>& values = member.value.kind == Kind::array ? member.value.items : one;
    const bool any =
        values.size() == 1 && values.front().kind == Kind::string && values.front().text == "*";
    for (const Node& each : values) {
      const std::optional<std::string> text = scalar_in(each);
      if (!text) {
        findings.error(each.at, "'" + member.name +
                                    "' in 'where' must be a text, a whole number, true or false, "
                                    "a list of them, or \"*\" for anything");
      } else if (!any) {
        condition.values.push_back(*text);
      }
    }
    all.push_back(std::move(condition));
  }
  return all;
}

Rule read_rule(const Node& table, Diagnostics& findings) {
  Rule rule;
  rule.then = then_in<reconcile::Then>(table, source_rule_table, findings).value_or(rule.then);
  if (const Node* node = table.find("status")) rule.statuses = statuses_in(*node, findings);
  if (const Node* node = table.find("where")) rule.where = conditions_in(*node, findings);
  const bool declines = rule.then == reconcile::Then::declined;
  rule.reply = reply_in(table, declines || rule.then == reconcile::Then::completed, findings);
  const bool refusals_only =
      !rule.statuses.empty() && std::ranges::all_of(rule.statuses, [](const StatusRange& range) {
        return range.first >= 400;
      });
  if (declines && !refusals_only) demand_status(table, findings);
  if (rule.then == reconcile::Then::completed && !refusals_only) {
    warn_of_declines(table, rule.where, rule.reply, findings);
  }
  const bool any = rule.statuses.empty() && rule.where.empty();
  if (any && rule.then != reconcile::Then::unknown && !findings.has_errors()) {
    findings.error(table.at,
                   "a rule without 'status' and without 'where' fits every answer, errors too; say "
                   "which ones mean \"" +
                       std::string(pawl::to_text(rule.then)) + "\"");
  }
  // An error of the source would otherwise be taken for proof.
  for (const StatusRange& range : rule.statuses) {
    if (rule.then == reconcile::Then::absent && (range.last >= 500 || range.first < 200)) {
      findings.error(table.at,
                     "a 5xx of the source says nothing about the request: it must not mean "
                     "\"absent\"");
    }
  }
  return rule;
}

EventRule read_event_rule(const Node& table, Diagnostics& findings) {
  EventRule rule;
  rule.then =
      then_in<reconcile::EventThen>(table, webhook_rule_table, findings).value_or(rule.then);
  const Node* where = table.find("where");
  if (where == nullptr) {
    findings.error(table.at,
                   "[[source.webhook.rule]] needs 'where', like where = { \"/type\" = "
                   "\"charge.succeeded\" }");
  } else {
    rule.where = conditions_in(*where, findings);
  }
  const bool declines = rule.then == reconcile::EventThen::declined;
  rule.reply = reply_in(table, rule.then != reconcile::EventThen::pending, findings);
  if (declines) demand_status(table, findings);
  if (rule.then == reconcile::EventThen::completed) {
    warn_of_declines(table, rule.where, rule.reply, findings);
  }
  return rule;
}

std::string show_where(const std::vector<Condition>& where) {
  if (where.empty()) return {};
  std::string table;
  for (const Condition& condition : where) {
    table.append(table.empty() ? "{ " : ", ").append(quote(json::to_text(condition.at)));
    table.append(" = ").append(show_list(condition.values));
  }
  return line("where", table + " }");
}

std::string show_rule(const Rule& rule) {
  std::string text = "\n[[source.rule]]\n";
  if (!rule.statuses.empty()) {
    std::vector<std::string> statuses;
    for (const StatusRange& range : rule.statuses) statuses.push_back(reconcile::to_text(range));
    text += line("status", show_strings(statuses));
  }
  return text + show_rest(rule.where, pawl::to_text(rule.then), rule.reply);
}

std::string show_event_rule(const EventRule& rule) {
  return "\n[[source.webhook.rule]]\n" +
         show_rest(rule.where, pawl::to_text(rule.then), rule.reply);
}

}  // namespace pawl::config
