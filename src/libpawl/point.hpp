// The recovery point as a record holds it: a phase's name, what phases handed on, and, while a
// foreign phase's call may be out there, since when and under which key.
//
//   charge?payment=pay_1&~as=4f1c...&~sending=1767225600000000
//
// All of it is one text, so that it commits, is fenced, taken over and reaped with its record.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "pawl/flow.hpp"
#include "pawl/types/time.hpp"

namespace pawl::detail {

// A call that was about to be sent: perhaps it was.
struct Sending {
  Instant first_sent_at;
  std::string key;  // the derived key it was, or would have been, sent with
  friend bool operator==(const Sending&, const Sending&) = default;
};

struct Point {
  std::string phase;
  FlowState state;
  std::optional<Sending> sending = {};
  std::optional<Response> found = {};  // what became of that call, by a finding (core: with_answer)
  friend bool operator==(const Point&, const Point&) = default;
};

inline constexpr std::size_t state_bytes_max = 4096;

std::string encode(const Point& point);
// Nothing for what `encode` does not write: it is never guessed at.
std::optional<Point> decode_point(std::string_view text);

// Letters, digits, '-' and '_'; 1 to 64 of them.
bool is_phase_name(std::string_view name);

}  // namespace pawl::detail
