// What a user writes to say where the database is: a URL, or key=value pairs.
#pragma once

#include <string>
#include <string_view>

namespace pawl::postgres {

// Why libpq cannot make anything of it, without a word of it that may be a secret; empty where it
// can.
std::string trouble_in_url(const std::string& url);

// The first line of what libpq says about a connection, fit for a log, a terminal or /readyz:
// without anything that may be a password of `url`. libpq quotes the parts of a connection string
// that it cannot use. Where the string was misread (a password with a '/', '@' or '%' in it that
// was not percent-encoded, or a blank that was not quoted) that part is a piece of the password.
std::string without_password(const std::string& url, std::string_view message);

}  // namespace pawl::postgres
