#include "src/jwt/base64url.hpp"

#include <gtest/gtest.h>

namespace pawl::jwt {
namespace {

TEST(Base64url, HasOneTextForSomeBytes) {
  // RFC 7515 appendix C.
  const std::string bytes = "\x03\xec\xff\xe0\xc1";
  EXPECT_EQ(to_base64url(bytes), "A-z_4ME");
  EXPECT_EQ(from_base64url("A-z_4ME"), bytes);
  EXPECT_EQ(from_base64url(""), "");
  for (const char* other : {"A+z/4ME", "A-z_4ME=", "A-z_4MF", "A-z_4M E", "A", "A-z_\n"}) {
    EXPECT_EQ(from_base64url(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace pawl::jwt
