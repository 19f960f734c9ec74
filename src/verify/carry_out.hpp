// Carries a plan out: the only part of a check that touches the world.
#pragma once

#include "src/verify/check.hpp"
#include "src/verify/world.hpp"

namespace pawl::verify {

// How often at most a request is sent again that is asked to come back.
inline constexpr int settle_rounds_max = 60;

Run carry_out(const Plan& plan, const Target& target, World& world);

// The effects counter's value, or what is wrong with its answer.
Expected<std::int64_t, std::string> count_effects(const Target& target, World& world);

}  // namespace pawl::verify
