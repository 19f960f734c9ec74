// Reads a configuration: strictly, with every trouble found in one pass.
#pragma once

#include <string>
#include <string_view>

#include "pawl/core/expected.hpp"
#include "src/config/config.hpp"
#include "src/config/trouble.hpp"

namespace pawl::config {

struct Read {
  Config config;
  Troubles warnings;  // right, but perhaps not what was meant
};

// Looks at nothing but the text: no files it names, no network. `file_name` is for the troubles.
Expected<Read, Troubles> read_config(std::string_view text, std::string_view file_name);

// The same, and the keys of `keys_file` where there is one. Other files are check_files' affair.
Expected<Read, Troubles> read_config_file(const std::string& path);

}  // namespace pawl::config
