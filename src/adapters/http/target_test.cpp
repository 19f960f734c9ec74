#include "src/adapters/http/target.hpp"

#include <gtest/gtest.h>

namespace pawl::http {
namespace {

struct TargetCase {
  std::string_view method, target, path, query, host;
  bool has_query = false;
};

TEST(Target, IsTakenApartAndNeverRewritten) {  // F5, F12
  const std::array cases{
      TargetCase{"POST", "/pay", "/pay", "", ""},
      TargetCase{"POST", "/pay?", "/pay", "", "", true},
      TargetCase{"POST", "/pay?a=1?b=/../c", "/pay", "a=1?b=/../c", "", true},
      TargetCase{"POST", "//pay;x=1/p%61y", "//pay;x=1/p%61y", "", ""},
      TargetCase{"GET", "/search?q=a%0Ab", "/search", "q=a%0Ab", "", true},
      TargetCase{"POST", "http://a:80/pay?x", "/pay", "x", "a:80", true},
      TargetCase{"POST", "HTTPS://a", "/", "", "a"},
      TargetCase{"POST", "http://[::1]:80/", "/", "", "[::1]:80"},
      TargetCase{"OPTIONS", "*", "*", "", ""},
      TargetCase{"OPTIONS", "http://a:80", "*", "", "a:80"},
      TargetCase{"OPTIONS", "http://a:80/", "/", "", "a:80"},
  };
  for (const TargetCase& each : cases) {
    RequestHead head;
    head.method = each.method;
    EXPECT_FALSE(read_target(each.target, head)) << each.target;
    EXPECT_EQ(head.path, each.path) << each.target;
    EXPECT_EQ(head.query, each.query) << each.target;
    EXPECT_EQ(head.has_query, each.has_query) << each.target;
    EXPECT_EQ(head.host, each.host) << each.target;
  }
}

TEST(Target, IsRefusedWhereReadersCouldDiffer) {  // F6 to F13
  for (const std::string_view target : {"",
                                        "*",
                                        "pay",
                                        "a:443",
                                        "http://",
                                        "http:///pay",
                                        "http://a?x",
                                        "http://a#f",
                                        "http://u@a/",
                                        "http://a b/",
                                        "ftp://a/",
                                        "/pay#f",
                                        "/pay x",
                                        "/pay?x#f",
                                        "/p\x7f",
                                        "/p\xff",
                                        "/p%",
                                        "/p%4",
                                        "/p%4g",
                                        "/p%00",
                                        "/p%1f",
                                        "/p%7F",
                                        "/p?%0",
                                        "/p?%00",
                                        "/..",
                                        "/.",
                                        "/../",
                                        "/a/./b",
                                        "/a/%2E/b",
                                        "/a/..%2Fb",
                                        "/a/..%5cb",
                                        "/a%2f..%2fb",
                                        "/a/..;jsessionid=1/b",
                                        "/a\\b"}) {
    RequestHead head;
    head.method = "POST";
    EXPECT_TRUE(read_target(target, head)) << target;
  }
}

TEST(Target, TakesNamesThatMerelyHaveDotsInThem) {
  for (const std::string_view target :
       {"/...", "/.well-known/x", "/a..b", "/a.", "/a/..b", "/%2e%2ea", "/?a=../..", "/a%2fb"}) {
    RequestHead head;
    head.method = "GET";
    EXPECT_FALSE(read_target(target, head)) << target;
  }
}

TEST(Authority, IsAHostAndPerhapsAPort) {  // F3
  for (const std::string_view good : {"a", "a.b-c_d~e", "127.0.0.1:65535", "a:", "a:0", "[::1]",
                                      "[2001:db8::1]:443", "[::ffff:1.2.3.4]"}) {
    EXPECT_TRUE(is_authority(good)) << good;
  }
  for (const std::string_view bad : {":80",       "a:65536", "a:99999999999999999999",
                                     "a:-1",      "a:8 0",   "a b",
                                     "a/b",       "a@b",     "a,b",
                                     "a?b",       "a#b",     "a%41",
                                     "a;b",       "[",       "[]",
                                     "[::1",      "[::1]8",  "[::1]:x",
                                     "[1::2::3]", "[v1.a]",  "[::1%25eth0]",
                                     "::1",       "\xe9"}) {
    EXPECT_FALSE(is_authority(bad)) << bad;
  }
}

}  // namespace
}  // namespace pawl::http
