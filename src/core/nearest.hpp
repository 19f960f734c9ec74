// "Did you mean ...?"
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pawl {

// How many letters must be changed, added, dropped or swapped with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate that `word` was most likely meant to be; empty where none is near. The first of
// equals wins.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace pawl
