#include "payments/money.hpp"

#include <algorithm>
#include <array>

#include "pawl/types/check.hpp"

namespace pawl::payments {
namespace {

struct Currency {
  std::string_view code;
  int exponent;
  std::int64_t micro_euros;  // what one (major) unit is worth
};

// A real service would ask somebody for the rates, and store the one it used.
constexpr std::array<Currency, 5> currencies{{{"EUR", 2, 1'000'000},
                                              {"USD", 2, 920'000},
                                              {"GBP", 2, 1'170'000},
                                              {"JPY", 0, 6'100},
                                              {"KWD", 3, 3'000'000}}};

const Currency* find(std::string_view code) {
  const auto found = std::ranges::find(currencies, code, &Currency::code);
  return found == currencies.end() ? nullptr : &*found;
}

std::int64_t power_of_ten(int exponent) {
  std::int64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace

std::optional<int> exponent_of(std::string_view currency) {
  const Currency* const known = find(currency);
  if (known == nullptr) return std::nullopt;
  return known->exponent;
}

Money converted(const Money& money, const std::string& currency) {
  const Currency* const from = find(money.currency);
  const Currency* const to = find(currency);
  PAWL_CHECK(from != nullptr && to != nullptr && money.amount <= amount_max);
  // 10^9 * 3*10^6 * 10^3 is still less than 2^63.
  const std::int64_t worth = money.amount * from->micro_euros * power_of_ten(to->exponent);
  return Money{worth / (to->micro_euros * power_of_ten(from->exponent)), currency};
}

std::string to_text(const Money& money) {
  const int exponent = exponent_of(money.currency).value_or(0);
  const std::int64_t unit = power_of_ten(exponent);
  std::string text = std::to_string(money.amount / unit);
  if (exponent > 0) {
    const std::string cents = std::to_string(money.amount % unit);
    text.append(".").append(static_cast<std::size_t>(exponent) - cents.size(), '0').append(cents);
  }
  return text.append(" ").append(money.currency);
}

}  // namespace pawl::payments
