#include <gtest/gtest.h>

#include "tests/support/raw_client.hpp"
#include "tests/support/serve_process.hpp"
#include "tests/support/upstream_server.hpp"

namespace pawl {
namespace {

using namespace testing;

TEST(ServeCommand, NeedsNoMoreThanAnUpstream) {
  UpstreamServer upstream;
  ServeProcess gateway(PAWL_BINARY, {.flags = {"--upstream", upstream.url()}, .config = ""});
  const Post payment{.key = "0123456789abcdef"};
  const HttpAnswer first = post(gateway.port(), payment);
  EXPECT_EQ(first.status, 201) << first.head;
  const HttpAnswer again = post(gateway.port(), payment);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(again.value("Idempotent-Replayed"), "true");
  EXPECT_EQ(upstream.effects(payment.key), 1U);
  EXPECT_EQ(gateway.terminate(), 0) << gateway.err();
}

}  // namespace
}  // namespace pawl
