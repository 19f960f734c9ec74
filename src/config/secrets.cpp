#include "src/config/secrets.hpp"

#include <algorithm>
#include <cstdlib>

#include "src/config/files.hpp"
#include "src/core/encoding.hpp"

namespace pawl::config {
namespace {

constexpr std::string_view env_opening = "{env:";
constexpr std::string_view file_opening = "{file:";

struct Reference {
  std::size_t begin = 0;
  std::size_t end = 0;  // after its brace
  bool of_file = false;
  std::string name;
};

bool is_name_char(char c, bool first) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (!first && c >= '0' && c <= '9');
}

// The first one at or after `from`; where its brace is missing, `end` is 0.
std::optional<Reference> next_reference(std::string_view text, std::size_t from) {
  const std::size_t env = text.find(env_opening, from);
  const std::size_t file = text.find(file_opening, from);
  if (env == file) return std::nullopt;  // neither
  Reference found;
  found.of_file = file < env;
  found.begin = std::min(env, file);
  const std::size_t name = found.begin + (found.of_file ? file_opening : env_opening).size();
  const std::size_t brace = text.find('}', name);
  if (brace == std::string_view::npos) return found;
  found.end = brace + 1;
  found.name = text.substr(name, brace - name);
  return found;
}

Expected<std::string, std::string> value_of(const Reference& reference) {
  if (reference.of_file) {
    Expected<std::string, std::string> text = read_file(reference.name);
    if (!text) return Unexpected{"{file:" + reference.name + "}: " + text.error()};
    const std::string unsafe = unsafe_secret(reference.name);
    if (!unsafe.empty()) return Unexpected{"{file:" + reference.name + "}: " + unsafe};
    return std::move(*text);
  }
  const char* const value = std::getenv(reference.name.c_str());
  if (value != nullptr) return std::string(value);
  return Unexpected{"{env:" + reference.name + "}: there is no such variable in the environment"};
}

void drop_line_end(std::string& text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
}

std::string pair_quoted(std::string_view text, bool in_quotes) {
  std::string out = in_quotes ? "" : "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return in_quotes ? out : out + "'";
}

}  // namespace

bool has_reference(std::string_view text) { return next_reference(text, 0).has_value(); }

Expected<std::string, std::string> expand(std::string_view text, Quoting quoting) {
  std::string out;
  std::size_t at = 0;
  while (const std::optional<Reference> reference = next_reference(text, at)) {
    if (reference->end == 0 || reference->name.empty()) {
      return Unexpected{
          std::string("a reference must be {env:NAME} or {file:PATH}, with its brace")};
    }
    out += text.substr(at, reference->begin - at);
    Expected<std::string, std::string> value = value_of(*reference);
    if (!value) return Unexpected{value.error()};
    drop_line_end(*value);
    switch (quoting) {
      case Quoting::none: out += *value; break;
      case Quoting::url: out += percent_encoded(*value); break;
      case Quoting::pairs: out += pair_quoted(*value, out.ends_with('\'')); break;
    }
    at = reference->end;
  }
  return out.append(text.substr(at));
}

Expected<std::string, std::string> expand_store(std::string_view store) {
  const std::optional<Reference> first = next_reference(store, 0);
  if (!first) return std::string(store);
  const bool is_all = first->begin == 0 && first->end == store.size();
  if (is_all || store.starts_with("sqlite:")) return expand(store);
  return expand(store, store.find("://") != std::string_view::npos ? Quoting::url : Quoting::pairs);
}

Expected<std::string, std::string> read_secret(const std::string& where) {
  if (has_reference(where)) return expand(where);
  Expected<std::string, std::string> text = read_file(where);
  if (!text) return text;
  drop_line_end(*text);
  return text;
}

std::string secret_path(const std::string& where) {
  const std::optional<Reference> reference = next_reference(where, 0);
  if (!reference) return where;
  return reference->of_file ? reference->name : std::string();
}

std::optional<std::string_view> shell_variable_in(std::string_view text) {
  for (std::size_t at = 0; (at = text.find("${", at)) != std::string_view::npos; ++at) {
    const std::string_view rest = text.substr(at + 2);
    std::size_t length = 0;
    while (length < rest.size() && is_name_char(rest[length], length == 0)) ++length;
    if (length > 0 && length < rest.size() && rest[length] == '}') return rest.substr(0, length);
  }
  return std::nullopt;
}

}  // namespace pawl::config
