// Any bytes as a page of the other side's list: no entry is lost, invented or taken for another
// request's, a list never ends before it says so, its cursor stays where the URL has it, and two
// values agree exactly if they are the same.
//
// Input: a line that chooses the rules, then the page.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/check.hpp"
#include "src/core/canonical.hpp"
#include "src/reconcile/derived_key.hpp"
#include "src/reconcile/ledger.hpp"

namespace pawl::reconcile {
namespace {

using json::Kind;
using json::Value;

constexpr std::size_t cursor_bytes_max = 4096;
constexpr std::size_t compared_items_max = 4;

json::Pointer at(std::string_view text) { return *json::parse_pointer(text); }

LedgerRules rules_for(std::string_view choice) {
  const auto chosen = [&](char c) { return choice.find(c) != std::string_view::npos; };
  LedgerRules rules;
  rules.items = at(chosen('t') ? "" : "/data");
  if (chosen('n')) rules.next = at("/next");
  if (chosen('m')) rules.more = at("/more");
  if (chosen('m')) rules.cursor = at("/id");
  if (chosen('w')) rules.where = {{at("/type"), {"charge"}}};
  rules.id = at("/id");
  if (chosen('d')) {
    rules.who.derived_key = at("/ref");
  } else {
    rules.who.key = at("/key");
    rules.who.fixed_scope = "caller:default";
  }
  rules.compare = {{at("/amount"), at("/amount")}, {at("/note"), at("/note")}};
  return rules;
}

const Value* member(const Value& value, std::string_view name) {
  return value.kind == Kind::object ? value.find(name) : nullptr;
}

bool is_nothing(const Value* value) { return value == nullptr || value->kind == Kind::null; }

// A name of a request: a text or a number that can be printed.
std::optional<std::string> name_in(const Value& item, std::string_view where) {
  const Value* const found = member(item, where);
  if (found == nullptr || (found->kind != Kind::string && found->kind != Kind::number)) return {};
  const bool good = !found->text.empty() && found->text.size() <= 255 &&
                    std::ranges::all_of(found->text, [](char c) { return c >= ' ' && c <= '~'; });
  return good ? std::optional(found->text) : std::nullopt;
}

void check_entry(const LedgerRules& rules, const Value& item, const TheirEntry& entry) {
  const bool derived = rules.who.derived_key.has_value();
  const std::optional<std::string> name = name_in(item, derived ? "ref" : "key");
  if (!name) {
    PAWL_CHECK(entry.subject.empty());
  } else {
    PAWL_CHECK(entry.subject == (derived ? *name : derived_key({"caller:default"}, Key{*name})));
  }
}

// What the page says about another page: nothing means that it is not said in a way that counts.
std::optional<bool> says_more(const LedgerRules& rules, const Value& page) {
  if (rules.next) {
    const Value* const next = member(page, "next");
    if (is_nothing(next)) return false;
    if (next->kind == Kind::boolean && !next->boolean) return false;
    if (next->kind == Kind::string) return !next->text.empty();
    return next->kind == Kind::number ? std::optional(true) : std::nullopt;
  }
  if (!rules.more) return false;
  const Value* const more = member(page, "more");
  if (is_nothing(more)) return false;
  return more->kind == Kind::boolean ? std::optional(more->boolean) : std::nullopt;
}

int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c - 'A' + 10; }

void check_cursor(const std::string& cursor) {
  PAWL_CHECK(!cursor.empty() && cursor.size() <= cursor_bytes_max);
  const std::string url = fill_page_url("/v1/charges?after={cursor}&limit=9&since={since}", cursor,
                                        Instant(std::chrono::seconds(77)));
  const std::string head = "/v1/charges?after=";
  const std::string tail = "&limit=9&since=77";
  PAWL_CHECK(url.starts_with(head) && url.ends_with(tail));
  std::string decoded;
  for (std::size_t i = head.size(); i < url.size() - tail.size(); ++i) {
    const bool plain = url[i] == '-' || url[i] == '_' || url[i] == '~' || url[i] == '.' ||
                       (url[i] >= '0' && url[i] <= '9') || (url[i] >= 'a' && url[i] <= 'z') ||
                       (url[i] >= 'A' && url[i] <= 'Z');
    PAWL_CHECK(plain || url[i] == '%');
    decoded += plain ? url[i] : static_cast<char>(digit(url[i + 1]) * 16 + digit(url[i + 2]));
    if (!plain) i += 2;
  }
  PAWL_CHECK(decoded == cursor);
}

// Nothing: of different kinds, where a text may stand for a number.
std::optional<bool> same_value(const Value* one, const Value* other) {
  if (is_nothing(one) && is_nothing(other)) {
    return (one == nullptr) == (other == nullptr) ? std::optional(true) : std::nullopt;
  }
  if (one == nullptr || other == nullptr || one->kind != other->kind) return std::nullopt;
  return json::canonical(*one) == json::canonical(*other);
}

// Whether an answer of ours and an entry of theirs agree, against what they say.
void check_agreement(const LedgerRules& rules, const Value& ours, const Value& theirs,
                     const TheirEntry& entry) {
  OurEntry mine;
  mine.subject = entry.subject;
  mine.code = 200;
  mine.facts = facts_of(rules, to_json(ours));
  const auto found = difference_of(rules, {}, &mine, {entry});
  const auto amount = same_value(member(ours, "amount"), member(theirs, "amount"));
  const auto note = same_value(member(ours, "note"), member(theirs, "note"));
  if (amount == true && note == true) PAWL_CHECK(!found);
  if (amount == false || note == false) {
    PAWL_CHECK(found && found->kind == Differs::value && !found->detail.empty());
    PAWL_CHECK((found->detail.find("/amount: ours ") != std::string::npos) || amount != false);
    PAWL_CHECK((found->detail.find("/note: ours ") != std::string::npos) || note != false);
  }
  const auto twice = difference_of(rules, {}, &mine, {entry, entry});
  PAWL_CHECK(twice && twice->kind == Differs::theirs_twice);
}

void check_page(std::string_view choice, std::string_view body) {
  const LedgerRules rules = rules_for(choice);
  const auto page = read_page(rules, body);
  const auto document = json::read(body);
  PAWL_CHECK(page || !page.error().empty());
  PAWL_CHECK(document || !page);
  if (!document) return;
  const Value* const list = rules.items.tokens.empty() ? &*document : member(*document, "data");
  const bool has_list = list != nullptr && list->kind == Kind::array;
  PAWL_CHECK(has_list || !page);
  const std::optional<bool> more = says_more(rules, *document);
  PAWL_CHECK(more || !page);
  if (!page) return PAWL_CHECK(!has_list || more != false);
  PAWL_CHECK(page->next.has_value() == *more);
  if (page->next) check_cursor(*page->next);

  std::vector<const Value*> counted;
  for (const Value& item : list->items) {
    const Value* const type = member(item, "type");
    const bool charge = type != nullptr && type->kind == Kind::string && type->text == "charge";
    if (rules.where.empty() || charge) counted.push_back(&item);
  }
  PAWL_CHECK(counted.size() == page->entries.size());
  for (std::size_t i = 0; i < counted.size(); ++i) {
    check_entry(rules, *counted[i], page->entries[i]);
    for (std::size_t j = 0; j < std::min(counted.size(), compared_items_max); ++j) {
      check_agreement(rules, *counted[j], *counted[i], page->entries[i]);
    }
  }
}

}  // namespace
}  // namespace pawl::reconcile

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  const std::size_t line = bytes.find('\n');
  if (line == std::string::npos) return 0;
  pawl::reconcile::check_page(bytes.substr(0, line), std::string_view(bytes).substr(line + 1));
  return 0;
}
