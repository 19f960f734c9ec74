#include "examples/payments/money.hpp"

#include <gtest/gtest.h>

namespace pawl::payments {
namespace {

TEST(Money, EveryCurrencyHasItsOwnExponent) {
  EXPECT_EQ(exponent_of("EUR"), 2);
  EXPECT_EQ(exponent_of("JPY"), 0);
  EXPECT_EQ(exponent_of("KWD"), 3);
  EXPECT_EQ(exponent_of("XXX"), std::nullopt);
  EXPECT_EQ(exponent_of("eur"), std::nullopt);
}

TEST(Money, IsWrittenWithItsExponent) {
  EXPECT_EQ(to_text({1234, "EUR"}), "12.34 EUR");
  EXPECT_EQ(to_text({5, "EUR"}), "0.05 EUR");
  EXPECT_EQ(to_text({1234, "JPY"}), "1234 JPY");
  EXPECT_EQ(to_text({1234, "KWD"}), "1.234 KWD");
}

TEST(Money, IsConvertedBetweenExponentsAndRoundedDown) {
  EXPECT_EQ(converted({1000, "EUR"}, "JPY").amount, 1639);  // 10 EUR at 0.0061
  EXPECT_EQ(converted({1000, "JPY"}, "EUR").amount, 610);
  EXPECT_EQ(converted({100, "EUR"}, "KWD").amount, 333);
  EXPECT_EQ(converted({1000, "KWD"}, "EUR").amount, 300);
  EXPECT_EQ(converted({1, "JPY"}, "KWD").amount, 2);
  EXPECT_EQ(converted({1, "EUR"}, "GBP").amount, 0);
}

TEST(Money, TheLargestAmountDoesNotOverflow) {
  EXPECT_EQ(converted({amount_max, "KWD"}, "JPY").amount, 491803278);
  EXPECT_EQ(converted({amount_max, "JPY"}, "KWD").amount, 2033333333);
  EXPECT_EQ(converted({amount_max, "GBP"}, "KWD").amount, 3900000000);
}

}  // namespace
}  // namespace pawl::payments
