// Chance, and nothing but chance, from one seed.
//
// Every actor has a stream of its own, and a draw depends only on the seed, the stream's name and
// how many draws that stream has made. So taking one fault away leaves the others where they were,
// which is what makes a failing seed shrinkable.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "pawl/types/names.hpp"
#include "pawl/types/time.hpp"

namespace pawl::sim {

class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view name, std::uint64_t number = 0);

  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool one_in(std::uint64_t bound) { return below(bound) == 0; }
  // Whole milliseconds, both ends included: coarse on purpose, so that moments coincide.
  Duration between(Duration low, Duration high);
  template <class T, std::size_t Size>
  const T& pick(const std::array<T, Size>& choices) {
    return choices[below(Size)];
  }

 private:
  std::uint64_t state_;
};

// Everything that may go wrong, and the requests themselves: each occurrence can be taken away.
enum class Fault {
  request,
  hang_up,
  other_body,
  race,
  policy_change,
  secret_rotation,
  pause,
  crash,
  partition,
  failover,
  clock_step,
  clock_jump,
  store_unavailable,
  store_contended,
  store_ack_lost,
  store_write_lost,
  store_write_late,
  store_write_hangs,
  store_row_fails,
  store_row_unreadable,
  store_slow,
  store_restored,
  store_row_corrupt,
  store_commit_survives,
  purge,
  upstream_unreachable,
  upstream_slow,
  upstream_dies,
  upstream_mute,
  upstream_half,
  upstream_twice,
  upstream_lies,
  upstream_error,
  upstream_refuses,
  upstream_declines,
  upstream_unasked,
  event,
  event_late,
  event_twice,
  hasty_operator,
  stalled_finding,
  stalled_reaper,
  consumer_pause,
  consumer_crash,
  consumer_careless,
  call_late,
  call_answer_lost,
  call_forged,
  source_slow,
  source_fails,
  source_still,
  event_foreign,
  count
};
inline constexpr std::size_t fault_kinds = static_cast<std::size_t>(Fault::count);
std::string_view name_of(Fault fault);

struct Strike {
  std::uint64_t id;
  Fault fault;
};

// Decides what strikes. Rates are drawn anew for every seed, many of them zero: a world in which
// everything fails at once hides the failures that need calm around them.
class Chaos {
 public:
  Chaos(std::uint64_t seed, const std::set<std::uint64_t>& spared);

  bool strikes(Fault fault, Stream& stream);
  // From here on the world is kind: what must be true in the end gets its chance to become so.
  void end() { ended_ = true; }
  // A pause in the troubles: what faults left behind meets a healthy world, and then more faults.
  void truce(bool on) { truce_ = on; }
  [[nodiscard]] bool calm() const { return ended_ || truce_; }
  [[nodiscard]] bool ended() const { return ended_; }

  [[nodiscard]] const std::vector<Strike>& strikes() const { return strikes_; }

 private:
  const std::set<std::uint64_t>& spared_;
  std::array<double, fault_kinds> rates_{};
  std::vector<Strike> strikes_;
  bool ended_ = false;
  bool truce_ = false;
};

}  // namespace pawl::sim
