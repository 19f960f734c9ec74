// Who runs this program, for the audit.
#pragma once

#include <string>

namespace pawl::cmd {

// As the system knows it (never from the environment, which anybody can set): "alice@host". Through
// sudo: "root@host (sudo by alice)"; whoever may become root may say there what they like.
std::string current_user();

}  // namespace pawl::cmd
