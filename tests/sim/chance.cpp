#include "tests/sim/chance.hpp"

namespace pawl::sim {
namespace {

// SplitMix64: every state gives a good draw, so streams may start anywhere.
std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t step = 0x9e3779b97f4a7c15ULL;

// Per occasion, at the most: an occasion is a store call, a send, a wake-up, a request or a tick.
struct Kind {
  Fault fault;
  std::string_view name;
  double rate_max;
};
constexpr std::array<Kind, fault_kinds> kinds{{
    {Fault::request, "request", 1.0},
    {Fault::hang_up, "client hangs up", 0.4},
    {Fault::other_body, "other body under the key", 0.4},
    {Fault::race, "racing duplicate", 0.7},
    {Fault::policy_change, "policy changed", 0.5},
    {Fault::secret_rotation, "secret or rules changed", 0.2},
    {Fault::pause, "node pauses", 0.1},
    {Fault::crash, "node crashes", 0.06},
    {Fault::partition, "node cut off from the store", 0.08},
    {Fault::failover, "store fails over", 0.05},
    {Fault::clock_step, "store clock steps a little", 0.1},
    {Fault::clock_jump, "store clock jumps", 0.1},
    {Fault::store_unavailable, "store unavailable", 0.2},
    {Fault::store_contended, "store contended", 0.1},
    {Fault::store_ack_lost, "written, acknowledgement lost", 0.3},
    {Fault::store_write_lost, "not written, in doubt", 0.2},
    {Fault::store_write_late, "in doubt, written later", 0.2},
    {Fault::store_write_hangs, "in doubt, written minutes later", 0.1},
    {Fault::store_row_fails, "one row of a batch fails alone", 0.3},
    {Fault::store_row_unreadable, "a row cannot be read", 0.05},
    {Fault::store_slow, "store slow", 0.2},
    {Fault::store_restored, "store put back from a backup", 0.6},
    {Fault::store_row_corrupt, "a row that can never be read again", 0.8},
    {Fault::store_commit_survives, "commit in doubt kept by a failover", 0.9},
    {Fault::purge, "an answer is purged", 0.3},
    {Fault::upstream_unreachable, "upstream unreachable", 0.3},
    {Fault::upstream_slow, "upstream slow", 0.9},
    {Fault::upstream_dies, "upstream dies before acting", 0.2},
    {Fault::upstream_mute, "upstream acts, answer lost", 0.6},
    {Fault::upstream_half, "upstream acts, half an answer", 0.2},
    {Fault::upstream_twice, "upstream answers twice", 0.2},
    {Fault::upstream_lies, "upstream acts, then says 5xx", 0.3},
    {Fault::upstream_error, "upstream fails with 5xx", 0.2},
    {Fault::upstream_refuses, "upstream refuses", 0.2},
    {Fault::upstream_declines, "upstream declines", 0.2},
    {Fault::upstream_unasked, "upstream had hung up with a 408", 0.2},
    {Fault::event, "event of a source", 1.0},
    {Fault::event_late, "event comes late", 0.8},
    {Fault::event_twice, "event comes twice", 0.5},
    {Fault::hasty_operator, "hasty operator", 0.9},
    {Fault::stalled_finding, "node pauses with a finding in hand", 0.9},
    {Fault::stalled_reaper, "node pauses with expired rows in hand", 0.9},
    {Fault::consumer_pause, "consumer pauses", 0.4},
    {Fault::consumer_crash, "consumer crashes", 0.2},
    {Fault::consumer_careless, "consumer acts without a look at its lease", 0.4},
    {Fault::call_late, "key API call hangs on its way", 0.4},
    {Fault::call_answer_lost, "answer of a key API call lost", 0.4},
    {Fault::call_forged, "key API call with a wrong token or fence", 0.4},
    {Fault::source_slow, "source slow to answer", 0.5},
    {Fault::source_fails, "source answers nothing", 0.5},
    {Fault::source_still, "source cannot say yet", 0.4},
    {Fault::event_foreign, "event of a source that may not speak", 0.5},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < fault_kinds; ++i) {
    if (static_cast<std::size_t>(kinds[i].fault) != i) return false;
  }
  return true;
}
static_assert(in_order());

double fraction(std::uint64_t draw) { return static_cast<double>(draw >> 11) * 0x1.0p-53; }

}  // namespace

std::string_view name_of(Fault fault) { return kinds[static_cast<std::size_t>(fault)].name; }

Stream::Stream(std::uint64_t seed, std::string_view name, std::uint64_t number)
    : state_(mixed(seed + step)) {
  for (const char c : name) state_ = mixed(state_ ^ static_cast<unsigned char>(c));
  state_ = mixed(state_ ^ mixed(number + step));
}

std::uint64_t Stream::next() { return mixed(state_ += step); }

Duration Stream::between(Duration low, Duration high) {
  using std::chrono::milliseconds;
  const auto from = std::chrono::duration_cast<milliseconds>(low).count();
  const auto to = std::chrono::duration_cast<milliseconds>(high).count();
  return milliseconds(from +
                      static_cast<std::int64_t>(below(static_cast<std::uint64_t>(to - from) + 1)));
}

Chaos::Chaos(std::uint64_t seed, const std::set<std::uint64_t>& spared) : spared_(spared) {
  Stream weather(seed, "weather");
  for (std::size_t i = 0; i < fault_kinds; ++i) {
    const double strength = fraction(weather.next());
    const bool absent = weather.one_in(3);
    rates_[i] = absent ? 0 : kinds[i].rate_max * strength * strength;
  }
  rates_[static_cast<std::size_t>(Fault::request)] = 1.0;
}

bool Chaos::strikes(Fault fault, Stream& stream) {
  const std::uint64_t draw = stream.next();
  const bool kind = ended_ || (truce_ && fault != Fault::request);
  if (kind || fraction(draw) >= rates_[static_cast<std::size_t>(fault)]) return false;
  if (spared_.contains(draw)) return false;  // 64 random bits name the occasion
  strikes_.push_back({draw, fault});
  return true;
}

}  // namespace pawl::sim
