#include "src/config/address.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::config {
namespace {

using ::testing::HasSubstr;

TEST(Address, IsAnAddressAndAPort) {
  EXPECT_EQ(parse_address("127.0.0.1:8080").value(), (Address{"127.0.0.1", 8080}));
  EXPECT_EQ(parse_address("[::1]:0").value(), (Address{"::1", 0}));
  EXPECT_EQ(parse_address("localhost:80").value(), (Address{"127.0.0.1", 80}));
}

TEST(Address, SaysWhatWouldBeRight) {
  struct Row {
    std::string_view text;
    const char* message;
  };
  for (const Row& row : {
           Row{"127.0.0.1", "an address and a port"},
           Row{"", "an address and a port"},
           Row{"[::1:80", "an address and a port"},
           Row{"[::1]80", "an address and a port"},
           Row{"8080", "an address and a port"},
           Row{":8080", "\"0.0.0.0:8080\" is all of them"},
           Row{"127.0.0.1:http", "port must be a number from 0 to 65535"},
           Row{"127.0.0.1:65536", "port must be a number from 0 to 65535"},
           Row{"127.0.0.1:", "port must be a number"},
           Row{"gateway.internal:80", "host names are not taken"},
           Row{"::1:80", "like \"127.0.0.1:8080\" or \"[::1]:8080\""},
           Row{"[127.0.0.1]:80", "an address and a port"},
           Row{std::string_view("127.0.0.1\0x:80", 14), "an address and a port"},
       }) {
    const auto address = parse_address(row.text);
    ASSERT_FALSE(address) << row.text;
    EXPECT_THAT(address.error(), HasSubstr(row.message)) << row.text;
  }
}

TEST(Address, KnowsLoopback) {
  EXPECT_TRUE(is_loopback({"127.0.0.1", 1}));
  EXPECT_TRUE(is_loopback({"127.8.9.1", 1}));
  EXPECT_TRUE(is_loopback({"::1", 1}));
  EXPECT_FALSE(is_loopback({"0.0.0.0", 1}));
  EXPECT_FALSE(is_loopback({"::", 1}));
  EXPECT_FALSE(is_loopback({"10.0.0.1", 1}));
}

TEST(Upstream, IsASchemeAHostAndPerhapsAPort) {
  EXPECT_EQ(parse_upstream("http://127.0.0.1:3000").value(),
            (UpstreamUrl{false, "127.0.0.1", 3000}));
  EXPECT_EQ(parse_upstream("http://api").value(), (UpstreamUrl{false, "api", 80}));
  EXPECT_EQ(parse_upstream("https://api.example.com/").value(),
            (UpstreamUrl{true, "api.example.com", 443}));
  EXPECT_EQ(parse_upstream("https://[::1]:8443").value(), (UpstreamUrl{true, "::1", 8443}));
}

TEST(Upstream, SaysWhatWouldBeRight) {
  struct Row {
    const char* text;
    const char* message;
  };
  for (const Row& row : {
           Row{"127.0.0.1:3000", "must start with http:// or https://"},
           Row{"ftp://host", "must start with http:// or https://"},
           Row{"http://host/v1", "does not rewrite paths"},
           Row{"http://host?x=1", "does not rewrite paths"},
           Row{"http://user:pass@host", "must not carry a user or password"},
           Row{"http://", "must name a host"},
           Row{"http://ho st", "must name a host"},
           Row{"http://[::1", "must name a host"},
           Row{"http://::1:80", "must name a host"},
           Row{"http://host:0", "from 1 to 65535"},
           Row{"http://host:http", "from 1 to 65535"},
           Row{"http://host:", "from 1 to 65535"},
       }) {
    const auto url = parse_upstream(row.text);
    ASSERT_FALSE(url) << row.text;
    EXPECT_THAT(url.error(), HasSubstr(row.message)) << row.text;
  }
}

TEST(Address, WhatIsShownReadsBack) {
  for (const char* text : {"127.0.0.1:8080", "[::1]:0"}) {
    EXPECT_EQ(to_text(parse_address(text).value()), text);
  }
  for (const char* text : {"http://api:80", "https://[::1]:443"}) {
    EXPECT_EQ(to_text(parse_upstream(text).value()), text);
  }
}

TEST(Address, AnEndpointIsAnAddressAndWhatToAskForThere) {
  const Endpoint endpoint = parse_endpoint("https://id.example/keys?v=1").value();
  EXPECT_EQ(endpoint.address, (UpstreamUrl{true, "id.example", 443}));
  EXPECT_EQ(endpoint.target, "/keys?v=1");
  EXPECT_EQ(parse_endpoint("http://[::1]:8").value().target, "/");
  EXPECT_EQ(parse_endpoint("http://a?b").value().target, "/?b");
  for (const char* text : {"", "id.example/keys", "ftp://a/b", "http://u:p@a/b", "http://a/b#c",
                           "http://a/b c", "http:///b", "http://a:99999/b", "http://a/\r\nX: y"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
}

TEST(Address, ListensOnASocketToo) {
  const Address address = parse_address("unix:/run/pawl.sock").value();
  EXPECT_EQ(address.socket, "/run/pawl.sock");
  EXPECT_EQ(to_text(address), "unix:/run/pawl.sock");
  EXPECT_TRUE(is_loopback(address));
  EXPECT_NE(address, parse_address("unix:/run/other.sock").value());
  for (const std::string& text : {std::string("unix:"), std::string("unix:pawl.sock"),
                                  std::string("unix:/a\0b", 9), "unix:/" + std::string(107, 'a')}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(Address, KnowsHeaderNames) {
  EXPECT_TRUE(is_header_name("X-Tenant"));
  EXPECT_FALSE(is_header_name("X Tenant"));
  EXPECT_FALSE(is_header_name("X:"));
  EXPECT_FALSE(is_header_name(""));
}

}  // namespace
}  // namespace pawl::config
