#include "src/core/network.hpp"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Network, ContainsWhatItsBitsSay) {
  struct Row {
    const char* network;
    const char* address;
    bool contained;
  };
  for (const Row& row : {
           Row{"10.0.0.0/8", "10.255.0.1", true},
           Row{"10.0.0.0/8", "11.0.0.1", false},
           Row{"10.1.2.3", "10.1.2.3", true},
           Row{"10.1.2.3", "10.1.2.4", false},
           Row{"192.168.4.0/23", "192.168.5.9", true},
           Row{"192.168.4.0/23", "192.168.6.9", false},
           Row{"0.0.0.0/0", "203.0.113.9", true},
           Row{"0.0.0.0/0", "::1", false},
           Row{"::/0", "2001:db8::1", true},
           Row{"::/0", "10.0.0.1", false},
           Row{"::/0", "::ffff:10.0.0.1", false},
           Row{"10.0.0.0/8", "::ffff:10.0.0.1", true},
           Row{"::ffff:10.0.0.0/104", "10.9.9.9", true},
           Row{"::ffff:10.0.0.0/104", "11.9.9.9", false},
           Row{"2001:db8::/33", "2001:db8:7fff::1", true},
           Row{"2001:db8::/33", "2001:db8:8000::1", false},
           Row{"fe80::/10", "fe80::1%eth0", true},
           Row{"127.0.0.0/8", "", false},
           Row{"127.0.0.0/8", "localhost", false},
           Row{"unix:", "unix:", true},
           Row{"unix:", "127.0.0.1", false},
           Row{"unix:", "", false},
           Row{"0.0.0.0/0", "unix:", false},
           Row{"::/0", "unix:", false},
       }) {
    EXPECT_EQ(Network::parse(row.network).value().contains(row.address), row.contained)
        << row.network << " " << row.address;
  }
  EXPECT_FALSE(Network::parse("::ffff:10.0.0.0/90")) << "neither all of IPv4 nor a part of it";
}

TEST(Network, IsReadStrictly) {
  for (const char* text : {"127.0.0.1/32", "10.0.0.0/8", "0.0.0.0/0", "::1/128", "10.1.2.3"}) {
    EXPECT_TRUE(Network::parse(text)) << text;
  }
  for (const char* text : {"", "10.0.0.0/33", "::1/129", "10.0.0/8", "host/8", "10.0.0.0/", "/8",
                           "unix", "unix:/run/a"}) {
    EXPECT_FALSE(Network::parse(text)) << text;
  }
}

TEST(Network, NamesOneAddressInOneWay) {
  const auto named = [](std::string_view text) { return to_text(IpAddress::parse(text).value()); };
  EXPECT_EQ(named("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(named("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(named("2001:DB8:0:0::1"), "2001:db8::1");
  for (const char* text : {"", "192.0.2", "192.0.2.07", "192.0.2.7 ", "[::1]", "fe80::1%eth0",
                           "192.0.2.7:80", "1.2.3.4.5", "unix:"}) {
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  }
  EXPECT_FALSE(IpAddress::parse(std::string_view("192.0.2.7\0", 10)));
}

TEST(Network, ReadsAddressesFromTheirBytes) {
  using namespace std::string_view_literals;
  EXPECT_EQ(to_text(IpAddress::of_bytes("\xC0\x00\x02\x07"sv).value()), "192.0.2.7");
  EXPECT_EQ(to_text(IpAddress::of_bytes("\0\0\0\0\0\0\0\0\0\0\xFF\xFF\xC0\x00\x02\x07"sv).value()),
            "192.0.2.7");
  EXPECT_EQ(to_text(IpAddress::of_bytes("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"sv).value()), "::1");
  EXPECT_FALSE(IpAddress::of_bytes(""sv));
  EXPECT_FALSE(IpAddress::of_bytes("12345"sv));
}

TEST(Network, WhatCannotBeReadIsNotTrusted) {
  const Networks networks = networks_of({"10.0.0.0/8", "everyone", "unix:"});
  EXPECT_EQ(networks.size(), 2U);
  EXPECT_TRUE(contains(networks, "10.1.1.1"));
  EXPECT_TRUE(contains(networks, unix_peer));
  EXPECT_FALSE(contains(networks, "192.0.2.7"));
  EXPECT_FALSE(contains({}, "10.1.1.1"));
}

}  // namespace
}  // namespace pawl
