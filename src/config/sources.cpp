#include "src/config/sources.hpp"

#include <algorithm>

#include "src/config/address.hpp"
#include "src/config/files.hpp"
#include "src/config/known_names.hpp"
#include "src/config/nearest.hpp"

namespace pawl::config {
namespace {

using reconcile::Condition;
using reconcile::EventRule;
using reconcile::Reply;
using reconcile::Rule;
using reconcile::StatusRange;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view file_opening = "{file:";

std::string source_name(std::string_view text) {
  const bool good = !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
  return good ? std::string() : "it must be 1 to 64 letters, digits, - and _, like \"provider\"";
}

std::optional<int> small_in(Value value, Findings& findings) {
  const std::optional<std::size_t> count = count_in(value, {1, 1000}, findings);
  if (!count) return std::nullopt;
  return static_cast<int>(*count);
}

std::string show_number(int number) { return std::to_string(number); }

std::optional<json::Pointer> pointer_in(Value value, Findings& findings) {
  const std::optional<std::string> text = string_in(value, findings);
  if (!text) return std::nullopt;
  Expected<json::Pointer, json::Error> pointer = json::parse_pointer(*text);
  if (pointer && !pointer->tokens.empty()) return std::move(*pointer);
  complain(value, "it must be a JSON pointer into the event, like \"/data/object/id\"", findings);
  return std::nullopt;
}

std::optional<std::optional<json::Pointer>> some_pointer_in(Value value, Findings& findings) {
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

// A pointer, or the scope itself.
template <class Owner, class Get>
Setting<Owner> scope_setting(Get rules_of) {
  return {"scope",
          [rules_of](const Node& node, Owner& owner, Findings& findings) {
            const Value value{"scope", node};
            const std::optional<std::string> text = text_in(value, not_empty, findings);
            if (!text) return;
            if (text->starts_with('/')) {
              rules_of(owner).scope = pointer_in(value, findings);
            } else {
              rules_of(owner).fixed_scope = *text;
            }
          },
          [rules_of](const Owner& owner) {
            const reconcile::SubjectRules& rules = rules_of(owner);
            if (rules.scope) return show_pointer(*rules.scope);
            return rules.fixed_scope.empty() ? std::string() : quote(rules.fixed_scope);
          }};
}

std::string optional_header(std::string_view text) {
  return text.empty() ? std::string() : header_name(text);
}

std::optional<std::vector<std::string>> files_in(Value value, Findings& findings) {
  std::optional<std::vector<std::string>> files = strings_in(value, true, findings);
  if (!files) return std::nullopt;
  const bool blank = std::ranges::any_of(*files, [](const auto& file) { return file.empty(); });
  if (!files->empty() && !blank) return files;
  complain(value, "it must name the files that hold the provider's signing secrets", findings);
  return std::nullopt;
}

// "https://host/path?query" in its two halves.
struct Halves {
  UpstreamUrl address;
  std::string_view target;
};

std::optional<Halves> halves_of(const Node& node, std::string_view url, std::string_view example,
                                Findings& findings) {
  const Value value{"url", node};
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

void split_url(const Node& node, Source& source, Findings& findings) {
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
  source.address = std::move(halves->address);
  source.target = std::move(*parsed);
}

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

std::vector<Condition> conditions_in(const Node& node, Findings& findings) {
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

std::vector<StatusRange> statuses_in(const Node& node, Findings& findings) {
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

Reply reply_in(const Node& table, bool completes, Findings& findings) {
  Reply reply;
  for (const std::string_view name : {"response_status", "response_body", "response_type"}) {
    const Node* node = table.find(name);
    if (node != nullptr && !completes) {
      findings.error(node->at, "'" + std::string(name) +
                                   "' says what is stored; it goes with then = \"completed\"");
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

// The items of a list of tables, each with its names checked.
std::vector<const Node*> tables_in(const Node& list, std::string_view where, Findings& findings) {
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

template <class Enum>
std::optional<Enum> then_in(const Node& table, std::string_view where, Findings& findings) {
  if (const Node* node = table.find("then")) return choice_in<Enum>({"then", *node}, findings);
  findings.error(table.at, std::string(where) + " needs 'then', which says what it means");
  return std::nullopt;
}

Rule read_rule(const Node& table, Findings& findings) {
  Rule rule;
  rule.then = then_in<reconcile::Then>(table, source_rule_table, findings).value_or(rule.then);
  if (const Node* node = table.find("status")) rule.statuses = statuses_in(*node, findings);
  if (const Node* node = table.find("where")) rule.where = conditions_in(*node, findings);
  rule.reply = reply_in(table, rule.then == reconcile::Then::completed, findings);
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

EventRule read_event_rule(const Node& table, Findings& findings) {
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
  rule.reply = reply_in(table, rule.then == reconcile::EventThen::completed, findings);
  return rule;
}

void check_webhook(const Node& table, const Webhook& webhook, Findings& findings) {
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
  if (by_key == by_derived) {
    findings.error(table.at,
                   "[source.webhook] needs either 'key' and 'scope' or 'derived_key': where an "
                   "event says which request it is about");
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

Webhook read_webhook(const Node& table, Findings& findings) {
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

// A table of JSON pointers: ours = theirs.
std::vector<reconcile::Compared> compared_in(const Node& node, Findings& findings) {
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

void check_ledger(const Node& table, const Ledger& ledger, Findings& findings) {
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

Ledger read_ledger(const Node& table, Findings& findings) {
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

Headers read_headers(const Node& table, Findings& findings) {
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
    headers.push_back({member.name, member.value.text});
  }
  return headers;
}

Source read_source(const Node& table, Findings& findings) {
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
                   "which it tells");
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

std::string show_list(const std::vector<std::string>& values) {
  return values.empty() ? quote("*") : show_strings(values);
}

std::string line(std::string_view name, std::string_view value) {
  return std::string(name).append(" = ").append(value).append("\n");
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

std::string show_rest(const std::vector<Condition>& where, std::string_view then,
                      const Reply& reply) {
  std::string text = show_where(where);
  text += line("then", quote(then));
  if (reply.status) text += line("response_status", std::to_string(*reply.status));
  if (reply.body) text += line("response_body", quote(reply.body->source));
  if (reply.type != Reply{}.type) text += line("response_type", quote(reply.type));
  return text;
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

std::string show_ledger(const Ledger& ledger) {
  std::string text = "\n[source.ledger]\n";
  for (const Setting<Ledger>& setting : ledger_settings()) {
    const std::string value = setting.show(ledger);
    if (!value.empty()) text += line(setting.name, value);
  }
  text += show_where(ledger.rules.where);
  std::string compare;
  for (const reconcile::Compared& each : ledger.rules.compare) {
    compare.append(compare.empty() ? "{ " : ", ").append(quote(json::to_text(each.ours)));
    compare.append(" = ").append(quote(json::to_text(each.theirs)));
  }
  return compare.empty() ? text : text + line("compare", compare + " }");
}

// A secret, without the line's end that editors leave.
std::optional<std::string> secret_in(const std::string& path, const std::string& setting,
                                     Troubles& troubles) {
  const Expected<std::string, std::string> text = read_file(path);
  if (!text) {
    troubles.push_back({path, 0, 0, text.error() + " (" + setting + ")"});
    return std::nullopt;
  }
  std::string secret = *text;
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.ends_with('\r')) secret.pop_back();
  return secret;
}

void load_header(const Header& header, Source& source, Troubles& troubles) {
  const std::string setting = "[[source]] \"" + source.name + "\" " + header.name;
  std::string value = header.value;
  const std::size_t at = value.find(file_opening);
  const std::size_t end = at == std::string::npos ? at : value.find('}', at);
  if (end != std::string::npos) {
    const std::size_t begin = at + file_opening.size();
    const auto secret = secret_in(value.substr(begin, end - begin), setting, troubles);
    if (!secret) return;
    const bool one_line =
        std::ranges::none_of(*secret, [](char c) { return c == '\n' || c == '\r' || c == '\0'; });
    if (!one_line) {
      troubles.push_back({value.substr(begin, end - begin), 0, 0,
                          "must hold one line, to stand in a header (" + setting + ")"});
      return;
    }
    value = value.substr(0, at) + *secret + value.substr(end + 1);
  }
  source.sent_headers.push_back({header.name, std::move(value)});
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
  };
  return settings;
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

std::vector<Source> read_sources(const Node& list, Findings& findings) {
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

void check_sources(const Node& document, const Config& config, Findings& findings) {
  std::vector<std::string_view> names;
  for (const Source& source : config.sources) names.push_back(source.name);
  const auto check = [&](const Node* table) {
    const Node* const node = table == nullptr ? nullptr : table->find("reconcile");
    if (node == nullptr || node->kind != Kind::string || node->text.empty()) return;
    if (std::ranges::find(names, node->text) != names.end()) return;
    const std::string_view near = nearest(node->text, names);
    complain({"reconcile", *node},
             "no [[source]] has that name" +
                 (near.empty() ? std::string() : "; did you mean " + quote(near) + "?"),
             findings);
  };
  check(document.find("policy"));
  check(document.find("key_api"));
  const Node* const routes = document.find("route");
  if (routes == nullptr || routes->kind != Kind::array) return;
  for (const Node& route : routes->items) check(&route);
}

std::string show_source(const Source& source) {
  std::string text = "\n[[source]]\n";
  for (const Setting<Source>& setting : source_settings()) {
    const std::string value = setting.show(source);
    if (!value.empty()) text += line(setting.name, value);
  }
  if (!source.headers.empty()) text += "\n[source.headers]\n";
  for (const Header& header : source.headers) text += line(quote(header.name), quote(header.value));
  for (const Rule& rule : source.rules) text += show_rule(rule);
  if (source.ledger) text += show_ledger(*source.ledger);
  if (!source.webhook) return text;
  text += "\n[source.webhook]\n";
  const bool stripe = source.webhook->signature.scheme == reconcile::Scheme::stripe;
  for (const Setting<Webhook>& setting : webhook_settings()) {
    if (stripe && setting.name == "encoding") continue;
    const std::string value = setting.show(*source.webhook);
    if (!value.empty()) text += line(setting.name, value);
  }
  for (const EventRule& rule : source.webhook->events.rules) {
    text +=
        "\n[[source.webhook.rule]]\n" + show_rest(rule.where, pawl::to_text(rule.then), rule.reply);
  }
  return text;
}

void load_source(Source& source, Troubles& troubles) {
  source.sent_headers.clear();
  for (const Header& header : source.headers) load_header(header, source, troubles);
  if (!source.webhook) return;
  source.webhook->secrets.clear();
  for (const std::string& file : source.webhook->secret_files) {
    const std::string setting = "[[source]] \"" + source.name + "\" secret_files";
    std::optional<std::string> secret = secret_in(file, setting, troubles);
    if (!secret) continue;
    if (secret->size() < secret_bytes_min) {
      troubles.push_back({file, 0, 0,
                          "holds " + std::to_string(secret->size()) +
                              " bytes; a signing secret must have " +
                              std::to_string(secret_bytes_min) + " or more (" + setting + ")"});
    }
    source.webhook->secrets.push_back(std::move(*secret));
  }
}

}  // namespace pawl::config
