// What libpq says about a connection, fit for a log, a terminal or /readyz.
//
// libpq quotes the parts of a connection string that it cannot use. Where the string was misread (a
// password with a '/', '@' or '%' in it that was not percent-encoded, or a blank that was not
// quoted) that part is a piece of the password.
#pragma once

#include <string>
#include <string_view>

namespace pawl::postgres {

// The first line of `message`, without anything that may be a password of `url`.
std::string without_password(const std::string& url, std::string_view message);

}  // namespace pawl::postgres
