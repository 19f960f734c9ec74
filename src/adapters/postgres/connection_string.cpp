#include "src/adapters/postgres/connection_string.hpp"

#include <libpq-fe.h>

#include <memory>
#include <vector>

namespace pawl::postgres {
namespace {

constexpr std::string_view stars = "***";
// A shorter one is hidden only where it stands alone in quotes: "a" is in most words.
constexpr std::size_t searched_bytes_min = 4;

using Parsed = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

// libpq ends user and password at the first '@' or '/'; another '@' behind it was meant to be in
// them, or will be taken to have been by a reader of the message.
bool may_be_misread(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == std::string_view::npos || url.find('=') < scheme) return false;
  const std::string_view rest = url.substr(scheme + 3);
  const std::size_t credentials_end = rest.find_first_of("@/");
  if (credentials_end == std::string_view::npos) return false;
  return rest.find('@', credentials_end + 1) != std::string_view::npos;
}

std::vector<std::string> passwords_in(const PQconninfoOption* options) {
  std::vector<std::string> found;
  for (; options != nullptr && options->keyword != nullptr; ++options) {
    const bool secret = std::string_view(options->keyword).ends_with("password");
    if (secret && options->val != nullptr && *options->val != '\0')
      found.emplace_back(options->val);
  }
  return found;
}

void replace_all(std::string& text, const std::string& what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

// From the first quote to the last: what is quoted may have a quote in it.
std::string without_quoted(std::string text) {
  const std::size_t first = text.find('"');
  const std::size_t last = text.rfind('"');
  if (first != last) text.replace(first + 1, last - first - 1, stars);
  return text +
         " (its parts are not shown, since they may be parts of the password: in a URL, write the"
         " special characters of a password as %XX; among key=value pairs, quote it)";
}

}  // namespace

std::string without_password(const std::string& url, std::string_view message) {
  std::string text(message.substr(0, message.find('\n')));
  char* why_not = nullptr;
  const Parsed parsed(PQconninfoParse(url.c_str(), &why_not), PQconninfoFree);
  PQfreemem(why_not);
  if (!parsed || may_be_misread(url)) return without_quoted(std::move(text));
  for (const std::string& password : passwords_in(parsed.get())) {
    replace_all(text, "\"" + password + "\"", "\"***\"");
    if (password.size() >= searched_bytes_min) replace_all(text, password, stars);
  }
  return text;
}

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
