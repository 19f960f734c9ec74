#include "src/gateway/http_destinations.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pawl::gateway {
namespace {

using namespace std::chrono_literals;

OutboxRow row() {
  OutboxRow one;
  one.derived_key = "d41d8cd98f00";
  one.path = "/charges?x=1";
  one.headers = {{"Content-Type", "application/json"}};
  one.body = R"({"amount":100})";
  return one;
}

std::string head_of(const OutboxRow& row, const std::string& path = "",
                    const std::string& secret = "") {
  config::Destination destination;
  destination.path = path;
  destination.secret = secret;
  const std::string host = "api.example:443";
  OutboxRequest request(row, destination, host, [] { return Instant(1'700'000'000'500ms); });
  return request.head(Record{});
}

TEST(OutboxRequest, IsWrittenWithItsDerivedKey) {
  EXPECT_EQ(head_of(row()),
            "POST /charges?x=1 HTTP/1.1\r\nHost: api.example:443\r\n"
            "Content-Type: application/json\r\nIdempotency-Key: d41d8cd98f00\r\n"
            "Content-Length: 14\r\n\r\n");
}

TEST(OutboxRequest, ARowsPathFollowsTheUrls) {
  OutboxRow one = row();
  EXPECT_TRUE(head_of(one, "/v1").starts_with("POST /v1/charges?x=1 "));
  one.path = "/";
  EXPECT_TRUE(head_of(one, "/v1").starts_with("POST /v1 "));
  EXPECT_TRUE(head_of(one).starts_with("POST / "));
}

// The expected bytes were computed with: printf '%s' '1700000000.{"amount":100}' |
// openssl dgst -sha256 -hmac 0123456789abcdef
TEST(OutboxRequest, IsSignedOverTimeAndBody) {
  EXPECT_EQ(outbox_signature("0123456789abcdef", Instant(1'700'000'000'999ms), row().body),
            "t=1700000000,v1=b52d8639040c80c0b2f9014635e8150b36eb742ad29fafa6de6d88cc2ebe6e65");
  EXPECT_THAT(head_of(row(), "", "0123456789abcdef"),
              ::testing::HasSubstr("\r\nPawl-Signature: t=1700000000,v1="));
}

TEST(OutboxRequest, WhatIsOursToSayIsNotTakenFromTheRow) {
  OutboxRow one = row();
  one.headers = {
      {"host", "evil"},           {"Content-Length", "3"}, {"Transfer-Encoding", "chunked"},
      {"idempotency-key", "no"},  {"Connection", "close"}, {"pawl-signature", "t=1"},
      {"Expect", "100-continue"}, {"X-Keep", "yes"}};
  EXPECT_EQ(head_of(one),
            "POST /charges?x=1 HTTP/1.1\r\nHost: api.example:443\r\nX-Keep: yes\r\n"
            "Idempotency-Key: d41d8cd98f00\r\nContent-Length: 14\r\n\r\n");
}

TEST(OutboxRequest, WhatCannotStandOnAWireIsRefused) {
  const auto with = [](auto change) {
    OutboxRow one = row();
    change(one);
    return unsendable(one);
  };
  EXPECT_EQ(unsendable(row()), "");
  EXPECT_NE(with([](OutboxRow& r) { r.readable = false; }), "");
  EXPECT_NE(with([](OutboxRow& r) { r.method = "PO ST"; }), "");
  EXPECT_NE(with([](OutboxRow& r) { r.method = ""; }), "");
  EXPECT_NE(with([](OutboxRow& r) { r.path = "charges"; }), "");
  EXPECT_NE(with([](OutboxRow& r) { r.path = "/a b"; }), "");
  EXPECT_NE(with([](OutboxRow& r) { r.path = "/a\r\nX: y"; }), "");
  EXPECT_NE(with([](OutboxRow& r) { r.derived_key = "a\r\nX: y"; }), "");
  EXPECT_NE(with([](OutboxRow& r) { r.headers = {{"X", "a\r\nY: z"}}; }), "");
  EXPECT_NE(with([](OutboxRow& r) { r.headers = {{"X Y", "a"}}; }), "");
}

}  // namespace
}  // namespace pawl::gateway
