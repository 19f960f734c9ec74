#include "src/reconcile/ledger.hpp"

#include <algorithm>

#include "pawl/types/check.hpp"
#include "src/core/canonical.hpp"
#include "src/core/sha256.hpp"

namespace pawl::reconcile {
namespace {

constexpr std::size_t items_max = 100'000;
constexpr std::size_t cursor_bytes_max = 4096;
constexpr std::size_t fact_bytes_max = 255;
constexpr char between = '\x1f';
constexpr std::string_view nothing = "(none)";
constexpr std::string_view cursor_gap = "{cursor}";

// Numbers by their value: 1, 1.0 and 1e0 are one amount.
std::string number_text(const json::Value& number) {
  const json::Decimal decimal = json::decimal_of(number);
  if (decimal.digits.empty()) return "0";
  const int exponent = decimal.point - static_cast<int>(decimal.digits.size());
  std::string text = decimal.negative ? "-" : "";
  text += decimal.digits;
  if (exponent < 0 || exponent > 30) return text + "e" + std::to_string(exponent);
  return text.append(static_cast<std::size_t>(exponent), '0');
}

// A text as itself where it cannot be taken for anything else: not for another one that is as long,
// for none, for two, or for nothing at all.
std::string unmistakable(const std::string& text) {
  const bool plain = !text.empty() && text.front() != '"' && text.front() != nothing.front() &&
                     text.find(between) == std::string::npos;
  return plain ? text : json::quote(text);
}

std::string shortened(std::string text) {
  if (text.size() <= fact_bytes_max) return text;
  std::size_t end = fact_bytes_max;  // whole characters of UTF-8 only
  while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "... (sha256 " + hex(sha256(text)) + ")";
}

std::string fact_at(const json::Value& document, const json::Pointer& at) {
  const json::Value* const found = json::resolve(document, at);
  if (found == nullptr) return std::string(nothing);
  switch (found->kind) {
    case json::Kind::null: return "null";
    case json::Kind::boolean: return found->boolean ? "true" : "false";
    case json::Kind::number: return shortened(number_text(*found));
    case json::Kind::string: return shortened(unmistakable(found->text));
    case json::Kind::array:
    case json::Kind::object: break;
  }
  return shortened(json::canonical(*found));
}

std::string facts_in(const json::Value& document, const std::vector<Compared>& compare,
                     json::Pointer Compared::*side) {
  std::string facts;
  for (const Compared& each : compare) {
    if (&each != &compare.front()) facts += between;
    facts += fact_at(document, each.*side);
  }
  return facts;
}

std::vector<std::string> split(const std::string& facts) {
  std::vector<std::string> values(1);
  for (const char c : facts) {
    if (c == between) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  return values;
}

std::string what_differs(const LedgerRules& rules, const std::string& ours,
                         const std::string& theirs) {
  const std::vector<std::string> mine = split(ours);
  const std::vector<std::string> other = split(theirs);
  std::string text;
  for (std::size_t i = 0; i < rules.compare.size() && i < mine.size() && i < other.size(); ++i) {
    if (mine[i] == other[i]) continue;
    text.append(text.empty() ? "" : ", ").append(json::to_text(rules.compare[i].ours));
    text.append(": ours ").append(mine[i]).append(", theirs ").append(other[i]);
  }
  return text;
}

using Cursor = Expected<std::optional<std::string>, std::string>;

bool is_none(const json::Value* value) {
  return value == nullptr || value->kind == json::Kind::null ||
         (value->kind == json::Kind::boolean && !value->boolean);
}

// Something that we cannot read is not the end: the rest of their list would be missing.
Cursor cursor_of(const json::Value* value) {
  if (is_none(value)) return std::optional<std::string>();
  if (value->kind != json::Kind::string && value->kind != json::Kind::number) {
    return Unexpected{std::string("its cursor is neither a text nor a number")};
  }
  return value->text.empty() ? std::nullopt : std::optional(value->text);
}

Cursor next_of(const LedgerRules& rules, const json::Value& page, const json::Value& items) {
  const json::Value* place = nullptr;
  bool another = false;
  if (rules.next) {
    place = json::resolve(page, *rules.next);
  } else if (rules.more && rules.cursor) {
    const json::Value* const more = json::resolve(page, *rules.more);
    if (is_none(more)) return std::optional<std::string>();
    another = more->kind == json::Kind::boolean;
    if (!another) {
      return Unexpected{"it has neither true nor false at " + json::to_text(*rules.more)};
    }
    if (!items.items.empty()) place = json::resolve(items.items.back(), *rules.cursor);
  }
  Cursor next = cursor_of(place);
  if (!next) return next;
  if (another && !*next) {
    return Unexpected{std::string("it says that there is more, and not where")};
  }
  if (*next && (*next)->size() > cursor_bytes_max) {
    return Unexpected{std::string("its cursor is absurdly long")};
  }
  return next;
}

// The first page: many lists refuse a cursor that is empty, so its whole parameter goes.
std::string without_cursor(std::string url) {
  const std::size_t gap = url.find(cursor_gap);
  const std::size_t begins = gap == std::string::npos ? gap : url.find_last_of("?&", gap);
  if (begins == std::string::npos) return url;
  const std::size_t ends = url.find('&', gap);
  if (ends == std::string::npos) return url.substr(0, begins);
  return url.erase(begins + 1, ends - begins);
}

bool succeeded(const OurEntry& ours) {
  return ours.status == Status::completed && ours.code >= 200 && ours.code <= 299;
}

std::string state_of(const OurEntry& ours) {
  if (ours.status != Status::completed) return std::string(to_text(ours.status));
  return "completed with " + std::to_string(ours.code);
}

}  // namespace

Expected<Page, std::string> read_page(const LedgerRules& rules, std::string_view body) {
  const Expected<json::Value, json::Error> document = json::read(body);
  if (!document) {
    return Unexpected{"a page is no JSON: " + document.error().what + " at byte " +
                      std::to_string(document.error().at_byte)};
  }
  const json::Value* const items = json::resolve(*document, rules.items);
  if (items == nullptr || items->kind != json::Kind::array || items->items.size() > items_max) {
    return Unexpected{"a page has no list at " + json::to_text(rules.items)};
  }
  Page page;
  for (const json::Value& item : items->items) {
    if (!fulfils(rules.where, item)) continue;
    TheirEntry entry;
    // One that names no request is nobody's, and is told as such.
    const Expected<std::string, std::string> subject = subject_in(rules.who, item);
    if (subject) entry.subject = *subject;
    if (rules.id) entry.id = fact_at(item, *rules.id);
    entry.facts = facts_in(item, rules.compare, &Compared::theirs);
    page.entries.push_back(std::move(entry));
  }
  Cursor next = next_of(rules, *document, *items);
  if (!next) return Unexpected{"a page is not understood: " + next.error()};
  page.next = std::move(*next);
  return page;
}

std::string facts_of(const LedgerRules& rules, const std::optional<std::string>& body) {
  if (!body || rules.compare.empty()) return {};
  const Expected<json::Value, json::Error> document = json::read(*body);
  return document ? facts_in(*document, rules.compare, &Compared::ours) : std::string();
}

std::string fill_page_url(std::string_view target, std::string_view cursor, Instant since) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since).time_since_epoch().count();
  std::string url(target);
  if (cursor.empty()) url = without_cursor(std::move(url));
  const auto fill = [&url](std::string_view gap, const std::string& value) {
    for (std::size_t at = 0; (at = url.find(gap, at)) != std::string::npos; at += value.size()) {
      url.replace(at, gap.size(), value);
    }
  };
  fill("{since}", std::to_string(seconds));
  fill(cursor_gap, escaped(cursor));
  return url;
}

std::optional<Difference> difference_of(const LedgerRules& rules, const LedgerRange& range,
                                        const OurEntry* ours,
                                        const std::vector<TheirEntry>& theirs) {
  Difference found;
  if (ours != nullptr) {
    found.subject = ours->subject;
    found.scope = ours->scope.text;
    found.key = ours->key.text;
  }
  if (!theirs.empty()) {
    found.subject = theirs.front().subject;
    found.id = theirs.front().id;
  }
  const auto as = [&](Differs kind, std::string detail) {
    found.kind = kind;
    found.detail = std::move(detail);
    return std::optional(found);
  };
  if (theirs.size() > 1) {
    std::string ids;
    for (std::size_t i = 0; i < std::min<std::size_t>(theirs.size(), 5); ++i) {
      ids.append(ids.empty() ? "" : ", ").append(theirs[i].id);
    }
    return as(Differs::theirs_twice, std::to_string(theirs.size()) + " entries: " + ids);
  }
  if (ours == nullptr) {
    PAWL_CHECK(!theirs.empty());
    return as(Differs::theirs_only,
              found.subject.empty() ? "it names no request" : "we have no record of it");
  }
  if (theirs.empty()) {
    const bool expected =
        succeeded(*ours) && ours->created_at >= range.since && ours->created_at < range.until;
    if (!expected) return std::nullopt;
    return as(Differs::ours_only, "ours is " + state_of(*ours) + ", and they do not have it");
  }
  switch (ours->status) {
    case Status::pending:
    case Status::in_progress:
    case Status::expired: return std::nullopt;  // under way, or its answer is forgotten
    case Status::completed:
    case Status::failed_retryable:
    case Status::unknown: break;
  }
  if (!succeeded(*ours)) return as(Differs::state, "they have it, and ours is " + state_of(*ours));
  if (ours->facts.empty() || ours->facts == theirs.front().facts) return std::nullopt;
  return as(Differs::value, what_differs(rules, ours->facts, theirs.front().facts));
}

}  // namespace pawl::reconcile
