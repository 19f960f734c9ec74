// What a user writes to say where the database is: a URL, or key=value pairs.
#pragma once

#include <string>

namespace pawl::postgres {

// Why libpq cannot make anything of it, without a word of it that may be a secret; empty where it
// can.
std::string trouble_in_url(const std::string& url);

}  // namespace pawl::postgres
