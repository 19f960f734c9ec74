// Who runs this program, for the audit.
#pragma once

#include <string>

namespace pawl::cmd {

// As the system knows it (never from the environment, which any user can set): "alice@host".
// Through sudo: "root@host (sudo by alice)"; a user who may become root can put anything there.
std::string current_user();

}  // namespace pawl::cmd
