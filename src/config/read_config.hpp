// Reads a configuration: strictly, with every trouble found in one pass.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "pawl/types/expected.hpp"
#include "src/config/config.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"

namespace pawl::config {

// Where each setting stands, by its path: "listen", "caller.from", "route.0.match".
using Places = std::map<std::string, Position, std::less<>>;

struct Read {
  Config config;
  Troubles warnings = {};  // right, but perhaps not what was meant
  std::string file = {};   // empty: there is none
  Places places = {};
};

// Troubles that name a setting, each with its place in the file; where it is not there, that of the
// table it is missing from. Troubles of other files say so in their text.
Troubles located(Troubles troubles, const Read& read);

// Looks at nothing but the text: no files it names, no network. `file_name` is for the troubles.
Expected<Read, Troubles> read_config(std::string_view text, std::string_view file_name);

// The same, and the keys of `keys_file` where there is one. Other files are check_files' affair.
Expected<Read, Troubles> read_config_file(const std::string& path);

}  // namespace pawl::config
