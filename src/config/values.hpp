// Single values: of the right type, in range, one of the words. Each function gives the value, or
// complains and gives nothing.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pawl/types/names.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/document.hpp"
#include "src/config/units.hpp"

namespace pawl::config {

// What a setting is called, and what the file says it is.
struct Value {
  std::string_view name;
  const Node& node;
};

template <class T>
struct Range {
  T min;
  T max;
};

// "'lease' is 30; it must be a duration ...". Where the value may be a secret, say without it.
void complain(Value value, std::string_view must, Diagnostics& findings);
void complain_unquoted(Value value, std::string_view must, Diagnostics& findings);

std::optional<Duration> duration_in(Value value, Range<Duration> range, Diagnostics& findings);
std::optional<std::size_t> size_in(Value value, Range<std::size_t> range, Diagnostics& findings);
std::optional<std::size_t> count_in(Value value, Range<std::size_t> range, Diagnostics& findings);
// Over 0, whole or not.
std::optional<double> rate_in(Value value, Diagnostics& findings);
std::optional<bool> flag_in(Value value, Diagnostics& findings);
std::optional<std::string> string_in(Value value, Diagnostics& findings);
// `check` gives "it must ..." for a text that is not as it should be.
std::optional<std::string> text_in(Value value, std::string (*check)(std::string_view),
                                   Diagnostics& findings);
// A list of texts. `one_is_enough`: a single text is a list of one.
std::optional<std::vector<std::string>> strings_in(Value value, bool one_is_enough,
                                                   Diagnostics& findings);
// The same of addresses and networks.
std::optional<std::vector<std::string>> networks_in(Value value, Diagnostics& findings);
// The index of the word.
std::optional<std::size_t> parse_choice(Value value, std::span<const std::string_view> words,
                                        Diagnostics& findings);

template <class Enum>
std::optional<Enum> choice_in(Value value, Diagnostics& findings) {
  constexpr std::size_t size = Names<Enum>::table.size();
  std::array<std::string_view, size> words;
  for (std::size_t i = 0; i < size; ++i) words[i] = Names<Enum>::table[i].second;
  const std::optional<std::size_t> index = parse_choice(value, words, findings);
  if (!index) return std::nullopt;
  return Names<Enum>::table[*index].first;
}

// Checks for text_in.
std::string any_text(std::string_view text);
std::string not_empty(std::string_view text);
std::string header_name(std::string_view text);
// "/id" or "header:NAME"; or nothing.
std::string place_in_answer(std::string_view text);

std::string show_rate(double rate);
std::string show_strings(const std::vector<std::string>& list);

}  // namespace pawl::config
