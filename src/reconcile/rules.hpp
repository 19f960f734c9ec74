// What a source's answer means, by rules that stand in the configuration.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "pawl/types/http.hpp"
#include "pawl/types/json.hpp"
#include "pawl/types/names.hpp"
#include "pawl/types/outcome.hpp"
#include "pawl/types/record.hpp"
#include "src/reconcile/template.hpp"

namespace pawl::reconcile {

enum class Then {
  completed,  // there it is: the record gets an answer for good
  declined,   // the same, and nothing happened: it may be an earlier attempt's
  absent,     // never seen. Only believed late enough, and told often enough
  unknown,    // not known yet: ask again
};

// A status, or a class of them.
struct StatusRange {
  int first = 0;
  int last = 0;
  friend bool operator==(const StatusRange&, const StatusRange&) = default;
};

// "200", "2xx", "*".
std::optional<StatusRange> parse_status(std::string_view text);
std::string to_text(const StatusRange& range);

// The value at a place of the document is one of these: a text, a number as it is written, true,
// false or null. No values: something is there, and is not null.
struct Condition {
  json::Pointer at;
  std::vector<std::string> values;
};

// What a completed record is given.
struct Reply {
  std::optional<int> status;              // none: the answer's own
  std::optional<Template> body;           // none: the answer's own bytes and headers
  std::string type = "application/json";  // of `body`
};

struct Rule {
  std::vector<StatusRange> statuses;  // none: any
  std::vector<Condition> where;       // all of them; a body that is no JSON fulfils none
  Then then = Then::unknown;
  Reply reply;
};

struct Found {
  StoredResponse response;
  bool happened = true;  // the effect is there; else declined
};
struct Absent {};
struct Still {  // nothing to go by
  std::string why;
};
using SourceAnswer = std::variant<Found, Absent, Still>;

// The first rule that fits decides. None: it is still not known.
SourceAnswer interpret_answer(const std::vector<Rule>& rules, const Response& answer,
                              const Subject& subject, const SettleOptions& options);

bool fulfils(const std::vector<Condition>& where, const json::Value& document);

}  // namespace pawl::reconcile

namespace pawl {
template <>
struct Names<reconcile::Then> {
  static constexpr NameTable<reconcile::Then, 4> table{{{reconcile::Then::completed, "completed"},
                                                        {reconcile::Then::declined, "declined"},
                                                        {reconcile::Then::absent, "absent"},
                                                        {reconcile::Then::unknown, "unknown"}}};
};
}  // namespace pawl
