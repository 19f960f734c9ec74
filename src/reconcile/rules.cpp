#include "src/reconcile/rules.hpp"

#include <algorithm>

#include "src/reconcile/event.hpp"

namespace pawl::reconcile {
namespace {

// As a rule writes it; nothing for a list or an object.
std::optional<std::string> scalar(const json::Value& value) {
  switch (value.kind) {
    case json::Kind::null: return "null";
    case json::Kind::boolean: return value.boolean ? "true" : "false";
    case json::Kind::number:
    case json::Kind::string: return value.text;
    case json::Kind::array:
    case json::Kind::object: break;
  }
  return std::nullopt;
}

bool fulfils(const Condition& condition, const json::Value& document) {
  const json::Value* const found = json::resolve(document, condition.at);
  if (found == nullptr) return false;
  if (condition.values.empty()) return found->kind != json::Kind::null;
  const std::optional<std::string> text = scalar(*found);
  return text && std::ranges::find(condition.values, *text) != condition.values.end();
}

bool fits(const Rule& rule, const Response& answer, const json::Value* document) {
  const bool status =
      rule.statuses.empty() || std::ranges::any_of(rule.statuses, [&](const StatusRange& range) {
        return answer.status >= range.first && answer.status <= range.last;
      });
  if (!status) return false;
  return rule.where.empty() || (document != nullptr && fulfils(rule.where, *document));
}

SourceAnswer completed(const Rule& rule, const Response& answer, const json::Value* document,
                       const Subject& subject, const SettleOptions& options) {
  Response reply = answer;
  if (rule.reply.status) reply.status = *rule.reply.status;
  if (reply.status < 200 || reply.status > 599) {
    return Still{"its status " + std::to_string(reply.status) + " cannot be stored"};
  }
  if (rule.reply.body) {
    const json::Value no_document;
    Expected<std::string, std::string> body =
        fill_json(*rule.reply.body, subject, document == nullptr ? no_document : *document);
    if (!body) return Still{"the answer fits a rule, but " + body.error()};
    reply.headers = {{"Content-Type", rule.reply.type}};
    reply.body = std::move(*body);
  }
  const bool happened = rule.then == Then::completed && is_success(reply.status);
  return Found{storable(reply, options), happened};
}

}  // namespace

std::optional<StatusRange> parse_status(std::string_view text) {
  if (text == "*") return StatusRange{100, 599};
  if (text.size() != 3 || text[0] < '1' || text[0] > '5') return std::nullopt;
  const int hundreds = (text[0] - '0') * 100;
  if (text.substr(1) == "xx") return StatusRange{hundreds, hundreds + 99};
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!is_digit(text[1]) || !is_digit(text[2])) return std::nullopt;
  const int status = hundreds + (text[1] - '0') * 10 + (text[2] - '0');
  return StatusRange{status, status};
}

std::string to_text(const StatusRange& range) {
  if (range.first == range.last) return std::to_string(range.first);
  if (range.last - range.first > 99) return "*";
  return std::to_string(range.first / 100) + "xx";
}

bool fulfils(const std::vector<Condition>& where, const json::Value& document) {
  return std::ranges::all_of(
      where, [&](const Condition& condition) { return fulfils(condition, document); });
}

SourceAnswer interpret_answer(const std::vector<Rule>& rules, const Response& answer,
                              const Subject& subject, const SettleOptions& options) {
  const Expected<json::Value, json::Error> read = json::read(answer.body);
  const json::Value* const document = read ? &*read : nullptr;
  for (const Rule& rule : rules) {
    if (!fits(rule, answer, document)) continue;
    switch (rule.then) {
      case Then::completed:
      case Then::declined: return completed(rule, answer, document, subject, options);
      case Then::absent: return Absent{};
      case Then::unknown: return Still{"answered " + std::to_string(answer.status)};
    }
  }
  return Still{"answered " + std::to_string(answer.status) + ", which no rule knows"};
}

}  // namespace pawl::reconcile
