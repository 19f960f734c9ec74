// Secrets that do not stand in the configuration: {env:NAME} is a variable of the environment,
// {file:PATH} the line that stands in a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"

namespace pawl::config {

// Is there any of the two in it?
bool has_reference(std::string_view text);

// How what is put in must be written where it stands.
enum class Quoting {
  none,
  url,    // %XX for everything that means something in a URL
  pairs,  // for libpq's key=value form
};

// `text` with what the references stand for, without the line's end that editors leave; or what is
// wrong with one of them: "{env:NAME}: there is no such variable in the environment". Never a
// secret.
Expected<std::string, std::string> expand(std::string_view text, Quoting quoting = Quoting::none);

// The store's URL: quoted as its form wants it, unless the reference is all there is.
Expected<std::string, std::string> expand_store(std::string_view store);

// What a setting like token_file names: a path, or one of the references.
Expected<std::string, std::string> read_secret(const std::string& where);
// The path it names; empty: none.
std::string secret_path(const std::string& where);

// "NAME", where "${NAME}" stands in the text.
std::optional<std::string_view> shell_variable_in(std::string_view text);

}  // namespace pawl::config
