#include "src/adapters/http/proxy_header.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::http {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

// "192.0.2.7 of 42", "no address of 16", "more", or what is wrong.
std::string read(std::string_view bytes) {
  const auto header = read_proxy_header(bytes);
  if (!header) return header.error();
  if (!*header) return "more";
  const std::string source = (*header)->source ? to_text(*(*header)->source) : "no address";
  return source + " of " + std::to_string((*header)->bytes);
}

// Every beginning of it needs more, and what follows is not looked at.
void expect_read(const std::string& header, const std::string& source) {
  for (std::size_t i = 0; i < header.size(); ++i) {
    EXPECT_EQ(read(header.substr(0, i)), "more") << i << " bytes of " << header;
  }
  const std::string result = source + " of " + std::to_string(header.size());
  EXPECT_EQ(read(header), result);
  EXPECT_EQ(read(header + "POST / HTTP/1.1\r\n"), result);
  EXPECT_EQ(read(header + header), result);
}

std::string binary(char command, char family, const std::string& rest) {
  std::string header = "\r\n\r\n\0\r\nQUIT\n"s + command + family;
  header += static_cast<char>(rest.size() >> 8);
  header += static_cast<char>(rest.size() & 0xFF);
  return header + rest;
}

const std::string v4_ends = "\xC0\x00\x02\x07\x0A\x00\x00\x01\x10\x00\x01\xBB"s;
const std::string v6_ends =
    "\x20\x01\x0D\xB8\0\0\0\0\0\0\0\0\0\0\0\x07\x20\x01\x0D\xB8\0\0\0\0\0\0\0\0\0\0\0\x01\x10\x00\x01\xBB"s;

TEST(ProxyHeader, OfTheFirstVersionIsALine) {
  expect_read("PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\r\n", "192.0.2.7");
  expect_read("PROXY TCP6 2001:db8::7 2001:db8::1 4096 443\r\n", "2001:db8::7");
  expect_read("PROXY TCP6 ::ffff:192.0.2.7 ::ffff:10.0.0.1 0 65535\r\n", "192.0.2.7");
  expect_read("PROXY UNKNOWN\r\n", "no address");
  expect_read("PROXY UNKNOWN ffff:f::1 whatever it is 1\r\n", "no address");
}

TEST(ProxyHeader, OfTheSecondVersionIsBinary) {
  expect_read(binary('\x21', '\x11', v4_ends), "192.0.2.7");
  expect_read(binary('\x21', '\x11', v4_ends + "\x03\x00\x04\x01\x02\x03\x04"s), "192.0.2.7");
  expect_read(binary('\x21', '\x21', v6_ends), "2001:db8::7");
  expect_read(binary('\x21', '\x00', ""), "no address");
  expect_read(binary('\x21', '\x31', std::string(216, 'a')), "no address");
  expect_read(binary('\x20', '\x00', ""), "no address");
  expect_read(binary('\x20', '\x11', v4_ends), "no address");
}

TEST(ProxyHeader, IsRefusedAsSoonAsItCanBeNone) {
  for (const std::string& none : {"G"s, "GET / HTTP/1.1\r\n"s, "\x16\x03"s, "PROXX"s, "proxy "s,
                                  "\r\n\r\n\0\r\nQUIX"s, " "s, "\0"s}) {
    EXPECT_EQ(read(none), "there is no PROXY header") << none;
  }
}

TEST(ProxyHeader, WithAnyDoubtInItsLineIsRefused) {
  for (const std::string& line : {
           "PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\n"s,
           "PROXY TCP4 192.0.2.7 10.0.0.1 4096 443\rX"s,
           "PROXY TCP4 192.0.2.7 10.0.0.1 4096\r\n"s,
           "PROXY TCP4 192.0.2.7 10.0.0.1 4096 443 1\r\n"s,
           "PROXY TCP4  192.0.2.7 10.0.0.1 4096 443\r\n"s,
           "PROXY TCP4 192.0.2.7 10.0.0.1 4096 65536\r\n"s,
           "PROXY TCP4 192.0.2.7 10.0.0.1 04096 443\r\n"s,
           "PROXY TCP4 192.0.2.7 10.0.0.1 -1 443\r\n"s,
           "PROXY TCP4 192.0.2.7 10.0.0.1  443\r\n"s,
           "PROXY TCP4 192.0.2 10.0.0.1 1 2\r\n"s,
           "PROXY TCP4 192.0.2.7 host 1 2\r\n"s,
           "PROXY TCP4 2001:db8::7 2001:db8::1 1 2\r\n"s,
           "PROXY TCP6 192.0.2.7 10.0.0.1 1 2\r\n"s,
           "PROXY TCP5 192.0.2.7 10.0.0.1 1 2\r\n"s,
           "PROXY \r\n"s,
           "PROXY TCP4\r\n"s,
           "PROXY UNKNOWN "s + std::string(93, 'a'),
           "PROXY TCP4 "s + std::string(96, '1'),
       }) {
    EXPECT_THAT(read(line), HasSubstr("malformed")) << line;
  }
  const std::string longest = "PROXY UNKNOWN "s + std::string(91, 'a') + "\r\n";
  EXPECT_EQ(longest.size(), proxy_line_bytes_max);
  EXPECT_EQ(read(longest), "no address of 107");
}

TEST(ProxyHeader, WithAnyDoubtInItsBytesIsRefused) {
  for (const char command : {'\x11', '\x22', '\x2F', '\x00', '\x31'}) {
    EXPECT_THAT(read(binary(command, '\x11', v4_ends)), HasSubstr("malformed"));
  }
  for (const char family : {'\x12', '\x22', '\x32', '\x01', '\x10', '\x41'}) {  // datagrams too
    EXPECT_THAT(read(binary('\x21', family, v6_ends)), HasSubstr("malformed"));
  }
  EXPECT_THAT(read(binary('\x21', '\x11', v4_ends.substr(1))), HasSubstr("cut off"));
  EXPECT_THAT(read(binary('\x21', '\x21', v6_ends.substr(1))), HasSubstr("cut off"));
}

TEST(ProxyHeader, HasABoundAndSaysSoBeforeItIsRead) {
  const std::string most = binary('\x21', '\x11', v4_ends + std::string(4096 - 16 - 12, 'x'));
  EXPECT_EQ(read(most), "192.0.2.7 of 4096");
  const std::string over = binary('\x21', '\x11', v4_ends + std::string(4096 - 16 - 11, 'x'));
  EXPECT_THAT(read(over.substr(0, 16)), HasSubstr("over 4096 bytes"));
}

}  // namespace
}  // namespace pawl::http
