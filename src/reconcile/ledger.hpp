// What a page of the other side's list says, and whether an entry of it and a record of ours agree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/expected.hpp"
#include "pawl/types/json.hpp"
#include "src/core/ledger.hpp"
#include "src/reconcile/event.hpp"
#include "src/reconcile/rules.hpp"

namespace pawl::reconcile {

// A value that both sides have: in the answer that we stored, and in their entry.
struct Compared {
  json::Pointer ours;
  json::Pointer theirs;
};

struct LedgerRules {
  json::Pointer items;                // the list in a page
  std::optional<json::Pointer> next;  // the next page's cursor; nothing there, or "": the last one
  std::optional<json::Pointer> more;  // or: whether there is another page,
  std::optional<json::Pointer> cursor;  // after this of the last item
  std::vector<Condition> where;         // which items count; none: all
  std::optional<json::Pointer> id;
  SubjectRules who;
  std::vector<Compared> compare;
};

struct Page {
  std::vector<TheirEntry> entries;
  std::optional<std::string> next;  // nothing: this was the last page
};

// The error says what is wrong with it.
Expected<Page, std::string> read_page(const LedgerRules& rules, std::string_view body);

// What of a stored answer is compared. Nothing where there is none, or where it is no JSON.
std::string facts_of(const LedgerRules& rules, const std::optional<std::string>& body);

// `{cursor}`, and `{since}` in whole seconds since 1970, each percent-encoded.
std::string fill_page_url(std::string_view target, std::string_view cursor, Instant since);

// What is to be said about a record and the entries about the same request; nothing: they agree, or
// it is too early to say.
std::optional<Difference> difference_of(const LedgerRules& rules, const LedgerRange& range,
                                        const OurEntry* ours,
                                        const std::vector<TheirEntry>& theirs);

}  // namespace pawl::reconcile
