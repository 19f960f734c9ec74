// Amounts are whole numbers of a currency's smallest unit. Nothing here has a fraction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl::payments {

// Ten million euros: far from where any sum or product here could overflow.
inline constexpr std::int64_t amount_max = 1'000'000'000;

struct Money {
  std::int64_t amount = 0;  // minor units
  std::string currency;     // "EUR"
};

// How many digits the minor unit has behind the point: 2 for EUR, 0 for JPY, 3 for KWD. Nothing: a
// currency that is not traded here.
std::optional<int> exponent_of(std::string_view currency);

// At today's rates, rounded down. Both currencies are known.
Money converted(const Money& money, const std::string& currency);

// "12.34 EUR", "1234 JPY": for people.
std::string to_text(const Money& money);

}  // namespace pawl::payments
