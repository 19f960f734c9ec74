// A statement on a connection of libpq's, for a thread that may wait, but not for ever: PQexec
// waits for as long as the server's machine acknowledges packets, whether or not anybody answers.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::postgres {

using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
using Until = std::chrono::steady_clock::time_point;

// As PQexecParams takes them.
struct Values {
  int count = 0;
  const Oid* types = nullptr;
  const char* const* values = nullptr;
  const int* lengths = nullptr;
  const int* formats = nullptr;
  int result_format = 0;
};

// As PQexec: several statements may stand in one text, and the last result is the one that counts.
// Null: the server has not answered by then, or is gone. The connection is of no use afterwards,
// and whatever was under way on it is in doubt.
Result ask(PGconn* connection, const char* sql, Until until);

// As PQexecParams: one statement.
Result ask(PGconn* connection, const char* sql, const Values& values, Until until);

// The same statement for each row of values, text in and text out, in one round trip (libpq's
// pipeline mode): all or none of them where no transaction is open. The results are those of the
// rows, in their order, up to the first that failed; nothing: as above.
using TextValues = std::vector<const char*>;
std::optional<std::vector<Result>> ask_each(PGconn* connection, const char* sql,
                                            const std::vector<TextValues>& each, Until until);

// Why there was no answer.
std::string silence(const PGconn* connection, Until until);

// Of what libpq says: the rest repeats the statement.
std::string first_line(std::string_view message);

// What the server said, and where a grant is missing the command that gives it. Never a password.
std::string refusal(const PGconn* connection, const PGresult* error);

}  // namespace pawl::postgres
