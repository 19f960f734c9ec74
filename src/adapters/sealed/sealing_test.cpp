#include "src/adapters/sealed/sealing.hpp"

#include <gtest/gtest.h>

namespace pawl::sealed {
namespace {

const DataKey key{3, std::string(32, 'k')};
const std::string place = place_of({"response", "caller:a", "key-1", "17"});

TEST(Sealing, WhatIsSealedOpensInItsOwnPlaceAlone) {
  const std::string envelope = seal(key, place, "the answer");
  EXPECT_EQ(envelope.find("the answer"), std::string::npos);
  EXPECT_EQ(generation_of(envelope), 3);
  EXPECT_EQ(unseal(key, place, envelope), "the answer");
  for (const std::string& elsewhere :
       {place_of({"response", "caller:b", "key-1", "17"}),
        place_of({"response", "caller:a", "key-2", "17"}),
        place_of({"request", "caller:a", "key-1", "17"}),
        place_of({"response", "caller:a", "key-1", "18"}),
        place_of({"response", "caller:ak", "ey-1", "17"}), std::string()}) {
    EXPECT_EQ(unseal(key, elsewhere, envelope), std::nullopt);
  }
  EXPECT_EQ(unseal({3, std::string(32, 'x')}, place, envelope), std::nullopt);
  EXPECT_EQ(unseal({4, key.bytes}, place, envelope), std::nullopt);
}

TEST(Sealing, OneBitIsEnough) {
  const std::string envelope = seal(key, place, "the answer");
  for (std::size_t at = 0; at < envelope.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = envelope;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      EXPECT_EQ(unseal(key, place, changed), std::nullopt) << at;
    }
  }
  for (std::size_t size = 0; size < envelope.size(); ++size) {
    EXPECT_EQ(unseal(key, place, envelope.substr(0, size)), std::nullopt) << size;
  }
}

TEST(Sealing, TheSameTextGivesTheSameBytesAndAnotherTextAnotherNonce) {
  EXPECT_EQ(seal(key, place, "one"), seal(key, place, "one"));
  EXPECT_NE(seal(key, place, "one").substr(7, 12), seal(key, place, "two").substr(7, 12));
  EXPECT_NE(seal(key, place, "one").substr(19),
            seal(key, place_of({"elsewhere"}), "one").substr(19));
}

TEST(Sealing, AWrappedKeyOpensUnderItsOwnNameAlone) {
  const EncryptionKey with{"2026", std::string(32, 'w')};
  const std::string wrapped = wrap(with, "scope a", key.bytes);
  EXPECT_EQ(unwrap(with, "scope a", wrapped), key.bytes);
  EXPECT_EQ(unwrap(with, "scope b", wrapped), std::nullopt);
  EXPECT_EQ(unwrap({"2025", std::string(32, 'v')}, "scope a", wrapped), std::nullopt);
  EXPECT_EQ(unwrap(with, "scope a", ""), std::nullopt);
  EXPECT_NE(wrap(with, "scope a", key.bytes), wrapped) << "its nonce is random";
  EXPECT_NE(random_key(), random_key());
}

TEST(Sealing, AMessageComesBackAsItWas) {
  const Headers headers{{"A", "1"}, {"a", ""}, {"B", std::string("\0\xFF", 2)}};
  for (const std::optional<std::string>& body :
       {std::optional<std::string>(), std::optional<std::string>(""),
        std::optional<std::string>(std::string("\0x", 2))}) {
    const std::string bytes = encode_message({"/v1?x", headers, body});
    const std::optional<Message> back = decode_message(bytes);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->target, "/v1?x");
    EXPECT_EQ(back->headers, headers);
    EXPECT_EQ(back->body, body);
  }
  const std::string bytes = encode_message({"/v1", headers, std::nullopt});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_message(bytes.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace pawl::sealed
