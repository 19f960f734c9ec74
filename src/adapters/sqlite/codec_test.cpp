#include "src/adapters/sqlite/codec.hpp"

#include <gtest/gtest.h>

#include "src/core/sealed.hpp"

namespace pawl::sqlite {
namespace {

TEST(Codec, ARequestThatANewerVersionHasStoredIsNotUnderstood) {
  const auto known = decode_request("{\"target\":\"/\",\"headers\":[[\"A\",\"b\"]]}\nbody");
  ASSERT_TRUE(known);
  EXPECT_EQ(known->body, "body");
  EXPECT_FALSE(decode_request("{\"target\":\"/\",\"headers\":[],\"deadline\":5}\nbody"));
  EXPECT_FALSE(decode_request("{\"target\":\"/\"}\nbody"));
}

// As versions from before encryption do with whatever member they do not know.
TEST(Codec, ASealedRequestIsMarkedAsWhatEarlierVersionsDoNotUnderstand) {
  const StoredRequest request{std::string(sealed_target), {}, "ciphertext"};
  const std::string bytes = encode_request(request);
  EXPECT_EQ(bytes, "{\"target\":\"pawl:sealed\",\"headers\":[],\"sealed\":1}\nciphertext");
  EXPECT_EQ(decode_request(bytes), request);
  EXPECT_FALSE(decode_request("{\"target\":\"pawl:sealed\",\"headers\":[],\"sealed\":2}\nx"));
  EXPECT_FALSE(decode_request("{\"target\":\"/\",\"headers\":[],\"sealed\":1}\nx"));
}

}  // namespace
}  // namespace pawl::sqlite
