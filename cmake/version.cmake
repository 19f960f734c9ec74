# Writes OUTPUT, which says what was built: run at every build, so that it is true, and written anew only where it changed.
execute_process(COMMAND git -C ${SOURCE} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
execute_process(COMMAND git -C ${SOURCE} status --porcelain --untracked-files=no OUTPUT_VARIABLE changed ERROR_QUIET)
if(NOT commit)
  set(commit "not known")  # an archive of the sources, without git
elseif(changed)
  string(APPEND commit " with changes")
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT [[
#include "cmd/pawl/version.hpp"

namespace pawl::cmd {

std::string version_text() { return "pawl @VERSION@ (commit @commit@; @COMPILER@, @BUILD@)"; }

}  // namespace pawl::cmd
]])
