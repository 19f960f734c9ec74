#include "src/adapters/http/client_address.hpp"

#include <gtest/gtest.h>

namespace pawl::http {
namespace {

const Networks& proxies() {
  static const Networks networks = networks_of({"10.0.0.0/8", "2001:db8:aa::/48", "unix:"});
  return networks;
}

std::string client_of(const Fields& fields, std::string_view peer = "10.0.0.1") {
  RequestHead head;
  head.fields = fields;
  return client_address(head, peer, proxies());
}

std::string listed(std::string_view value) { return client_of({{"X-Forwarded-For", value}}); }
std::string forwarded(std::string_view value) { return client_of({{"Forwarded", value}}); }

TEST(ClientAddress, IsThePeersUnlessThePeerIsTrusted) {
  const Fields claims{{"X-Forwarded-For", "192.0.2.7"}, {"Forwarded", "for=192.0.2.7"}};
  for (const char* peer : {"192.0.2.1", "127.0.0.1", "11.0.0.1", "2001:db8:ab::1"}) {
    EXPECT_EQ(client_of(claims, peer), peer);
  }
  for (const char* peer : {"10.0.0.1", "::ffff:10.0.0.1", "2001:db8:aa::1", "unix:"}) {
    EXPECT_EQ(client_of(claims, peer), "192.0.2.7");
    EXPECT_EQ(client_of({}, peer), peer);
  }
  RequestHead head;
  head.fields = claims;
  EXPECT_EQ(client_address(head, "10.0.0.1", {}), "10.0.0.1") << "no proxy is trusted";
}

TEST(ClientAddress, IsReadFromTheEndOfTheListPastTrustedProxies) {
  EXPECT_EQ(listed("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(listed("192.0.2.7, 10.2.2.2"), "192.0.2.7");
  EXPECT_EQ(listed("192.0.2.7,10.2.2.2 ,\t2001:db8:aa::2"), "192.0.2.7");
  EXPECT_EQ(listed("203.0.113.9, 192.0.2.7"), "192.0.2.7") << "the rest is the client's word";
  EXPECT_EQ(listed("10.9.9.9, 192.0.2.7, 10.2.2.2"), "192.0.2.7");
  EXPECT_EQ(listed("10.3.3.3, 10.2.2.2"), "10.3.3.3") << "a proxy's own request";
  EXPECT_EQ(listed("no address, 192.0.2.7"), "192.0.2.7") << "behind the client nothing is read";
  EXPECT_EQ(client_of({{"X-Forwarded-For", "203.0.113.9"}, {"x-forwarded-for", "192.0.2.7"}}),
            "192.0.2.7");
  EXPECT_EQ(client_of({{"X-Forwarded-For", ""}}), "10.0.0.1");
}

TEST(ClientAddress, OfAListMayHaveAPort) {
  EXPECT_EQ(listed("192.0.2.7:4096"), "192.0.2.7");
  EXPECT_EQ(listed("2001:DB8::7"), "2001:db8::7");
  EXPECT_EQ(listed("[2001:db8::7]"), "2001:db8::7");
  EXPECT_EQ(listed("[2001:db8::7]:4096"), "2001:db8::7");
  EXPECT_EQ(listed("::ffff:192.0.2.7"), "192.0.2.7");
}

TEST(ClientAddress, ThatCannotBeReadLeavesThePeer) {
  for (const char* value : {"unknown",
                            "_hidden",
                            "host.example",
                            "192.0.2.7, unknown",
                            "192.0.2.7,",
                            ",",
                            "192.0.2",
                            "192.0.2.7:x",
                            "192.0.2.7:65536",
                            "192.0.2.7:",
                            "[192.0.2.7]",
                            "[2001:db8::7",
                            "[]",
                            "[2001:db8::7]4096",
                            "2001:db8::7%eth0",
                            "\"192.0.2.7\"",
                            "192.0.2.7 10.0.0.2",
                            "unix:",
                            "192.0.2.7, unix:",
                            "for=192.0.2.7",
                            "256.0.0.1"}) {
    EXPECT_EQ(listed(value), "10.0.0.1") << value;
  }
}

TEST(ClientAddress, IsReadFromForwarded) {
  EXPECT_EQ(forwarded("for=192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(forwarded("For=192.0.2.7;proto=https;by=10.0.0.1"), "192.0.2.7");
  EXPECT_EQ(forwarded("proto=https;for=\"192.0.2.7:4096\""), "192.0.2.7");
  EXPECT_EQ(forwarded("for=\"[2001:db8::7]\""), "2001:db8::7");
  EXPECT_EQ(forwarded("for=\"[2001:db8::7]:4096\", for=10.2.2.2"), "2001:db8::7");
  EXPECT_EQ(forwarded("for=203.0.113.9, for=192.0.2.7 , for=10.2.2.2"), "192.0.2.7");
  EXPECT_EQ(forwarded("for=unknown, for=192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(forwarded("for=\"192.0.2\\.7\""), "192.0.2.7") << "an escape stands for its character";
  EXPECT_EQ(forwarded("host=\"a, for=203.0.113.9\";for=192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(client_of({{"Forwarded", "for=203.0.113.9"}, {"Forwarded", "for=192.0.2.7"}}),
            "192.0.2.7");
}

TEST(ClientAddress, OfAForwardedThatIsMalformedAnywhereIsThePeers) {
  for (const char* value : {"for=unknown",
                            "for=_hidden",
                            "for=\"_hidden:_port\"",
                            "proto=https",
                            "for=192.0.2.7;",
                            "for=192.0.2.7, proto=https",
                            "for=192.0.2.7,",
                            "192.0.2.7",
                            "for=",
                            "for",
                            "for =192.0.2.7",
                            "for=\"192.0.2.7",
                            "for=\"x, for=192.0.2.7",
                            "for=192.0.2.7;for=192.0.2.8",
                            "for=2001:db8::7",
                            "for=[2001:db8::7]",
                            "for=\"2001:db8::7\"",
                            "for=192.0.2.7 x",
                            "=1, for=192.0.2.7",
                            "for=\"192.0.2.7\"x",
                            "for=\"\\",
                            "for=192.0.2.7:4096"}) {
    EXPECT_EQ(forwarded(value), "10.0.0.1") << value;
  }
}

// A proxy that writes one of them passes the client's own other one on.
TEST(ClientAddress, OfHeadersThatDifferIsThePeers) {
  const auto both = [](std::string_view in_forwarded, std::string_view in_list) {
    return client_of({{"Forwarded", in_forwarded}, {"X-Forwarded-For", in_list}});
  };
  EXPECT_EQ(both("for=192.0.2.7", "192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(both("for=192.0.2.7", "203.0.113.9, 192.0.2.7, 10.2.2.2"), "192.0.2.7");
  EXPECT_EQ(both("for=203.0.113.9", "192.0.2.7"), "10.0.0.1");
  EXPECT_EQ(both("for=192.0.2.7", "203.0.113.9"), "10.0.0.1");
  EXPECT_EQ(both("nonsense", "192.0.2.7"), "10.0.0.1");
  EXPECT_EQ(both("for=192.0.2.7", "nonsense"), "10.0.0.1");
}

TEST(ClientAddress, IsWrittenAsForwardedHasIt) {
  EXPECT_EQ(forwarded_for("192.0.2.7"), "for=192.0.2.7");
  EXPECT_EQ(forwarded_for("2001:db8::7"), "for=\"[2001:db8::7]\"");
  EXPECT_EQ(forwarded_for("fe80::1%eth0"), "for=\"[fe80::1]\"");
  EXPECT_EQ(forwarded_for("unknown"), "for=unknown");
  EXPECT_EQ(forwarded_for("unix:"), "for=unknown");
}

}  // namespace
}  // namespace pawl::http
