#include "src/adapters/postgres/connection_string.hpp"

#include <libpq-fe.h>

#include <memory>

namespace pawl::postgres {

std::string trouble_in_url(const std::string& url) {
  char* complaint = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options(
      PQconninfoParse(url.c_str(), &complaint), PQconninfoFree);
  const std::unique_ptr<char, decltype(&PQfreemem)> freed(complaint, PQfreemem);
  if (options) return {};
  // The others quote what they could not read, which may be a password.
  const std::string text = complaint == nullptr ? "" : complaint;
  const bool names_option = text.starts_with("invalid connection option") ||
                            text.starts_with("invalid URI query parameter");
  if (names_option) return text.substr(0, text.find('\n'));
  return "PostgreSQL's library cannot read it; write \"postgres://USER@HOST/DATABASE\" with %XX "
         "for "
         "what means something in a URL, or key=value pairs (\"host=db dbname=pawl\")";
}

}  // namespace pawl::postgres
