#include "cmd/pawl/current_user.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

namespace pawl::cmd {
namespace {

std::string name_of(uid_t user) {
  const passwd* const found = ::getpwuid(user);
  return found == nullptr ? "uid " + std::to_string(user) : found->pw_name;
}

// Only root can have been told by sudo.
std::optional<uid_t> sudo_user() {
  const char* const value = ::geteuid() == 0 ? std::getenv("SUDO_UID") : nullptr;
  const std::string_view digits = value == nullptr ? std::string_view() : value;
  uid_t user = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), user);
  const bool whole = error == std::errc{} && end == digits.data() + digits.size();
  return whole && !digits.empty() ? std::optional(user) : std::nullopt;
}

}  // namespace

std::string current_user() {
  std::string name = name_of(::geteuid());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) name.append("@").append(host.data());
  if (const std::optional<uid_t> by = sudo_user()) {
    name.append(" (sudo by ").append(name_of(*by)).append(")");
  }
  return name;
}

}  // namespace pawl::cmd
