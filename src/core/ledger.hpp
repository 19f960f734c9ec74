// Two ledgers, compared entry by entry: what we have on record, and what the other side says it
// did.
#pragma once

#include <cstdint>
#include <string>

#include "pawl/types/names.hpp"
#include "pawl/types/record.hpp"
#include "pawl/types/time.hpp"

namespace pawl {

// What of ours is expected at theirs: from `since` on, and before `until`, since what is younger
// may not be shown there yet.
struct LedgerRange {
  std::string source;
  Instant since{};
  Instant until{};
};

// Facts are the values to compare, as one text. Empty: there is nothing to compare.
struct TheirEntry {
  std::string subject;  // the derived key; empty where it names no request
  std::string id;
  std::string facts;
};

struct OurEntry {
  std::string subject;
  Scope scope;
  Key key;
  Status status = Status::completed;
  int code = 0;  // of the stored answer
  Instant created_at{};
  std::string facts;
};

enum class Differs {
  theirs_only,   // they did something of which we have no record
  ours_only,     // we told a client that it happened, and they do not have it
  state,         // they did it, and we do not say so
  value,         // an amount, or whatever is compared
  theirs_twice,  // they did it more than once
};

template <>
struct Names<Differs> {
  static constexpr NameTable<Differs, 5> table{{{Differs::theirs_only, "theirs_only"},
                                                {Differs::ours_only, "ours_only"},
                                                {Differs::state, "state"},
                                                {Differs::value, "value"},
                                                {Differs::theirs_twice, "theirs_twice"}}};
};

struct Difference {
  Differs kind = Differs::theirs_only;
  std::string subject;
  std::string scope;  // of our record, where there is one
  std::string key;
  std::string id;  // of their entry, where there is one
  std::string detail;
};

struct LedgerCounts {
  std::uint64_t ours = 0;
  std::uint64_t theirs = 0;
  std::uint64_t by_kind[5] = {};
  [[nodiscard]] std::uint64_t differences() const {
    std::uint64_t all = 0;
    for (const std::uint64_t count : by_kind) all += count;
    return all;
  }
};

}  // namespace pawl
