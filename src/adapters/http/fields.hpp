// What request and response heads have in common: field lines, Connection, and body framing.
#pragma once

#include <string>
#include <string_view>

#include "src/adapters/http/head.hpp"

namespace pawl::http {

// What is wrong with a message, and the number that says it to a client.
struct FieldTrouble {
  Problem problem = Problem::bad_request;
  std::string what;
};

// All lines of one field, joined as a list; empty where there is none.
std::string joined_values(const Fields& fields, std::string_view name);

enum class BlanksBeforeColon { refused, dropped };

// Reads `lines` (each ending in CRLF, the empty one excluded) into `fields`.
std::optional<FieldTrouble> read_fields(std::string_view lines, std::size_t count_max,
                                        BlanksBeforeColon blanks, Fields& fields);

// The lower-cased members of all Connection fields; false where one is not a token.
bool read_connection(const Fields& fields, std::vector<std::string>& members);

struct FoundFraming {
  Framing framing = Framing::none;
  std::uint64_t length = 0;
  bool given = false;  // false: neither Content-Length nor Transfer-Encoding
};
Expected<FoundFraming, FieldTrouble> read_framing(const Fields& fields, int minor_version);

}  // namespace pawl::http
