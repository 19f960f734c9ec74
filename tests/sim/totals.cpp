#include <iomanip>
#include <ostream>

#include "tests/sim/runner.hpp"

namespace pawl::sim {
namespace {

std::string_view state_name(std::size_t index) {
  return index == row_states - 1 ? "(no row)" : to_text(static_cast<Status>(index));
}

// As docs/key-api.md has them.
std::string_view decision_name(std::size_t index) {
  constexpr std::array<std::string_view, 9> names{"execute", "replay",       "in_flight",
                                                  "misuse",  "undetermined", "gone",
                                                  "spent",   "unproven",     "restored"};
  return names[index];
}

template <std::size_t Size>
void add_all(std::array<std::uint64_t, Size>& to, const std::array<std::uint64_t, Size>& from) {
  for (std::size_t i = 0; i < Size; ++i) to[i] += from[i];
}

void add_consumers(ConsumerCounts& to, const ConsumerCounts& from) {
  to.deliveries += from.deliveries;
  to.calls += from.calls;
  to.answered += from.answered;
  add_all(to.decisions, from.decisions);
  add_all(to.written, from.written);
  add_all(to.refused, from.refused);
}

void print_consumers(std::ostream& out, const ConsumerCounts& counts) {
  out << "\nconsumers: " << counts.deliveries << " deliveries, " << counts.calls
      << " calls of the key API\n";
  for (std::size_t i = 0; i < counts.decisions.size(); ++i) {
    out << "  " << std::setw(12) << counts.decisions[i] << "  reserve: " << decision_name(i)
        << '\n';
  }
  for (std::size_t i = 1; i < key_verbs; ++i) {
    const std::string_view verb = to_text(static_cast<KeyVerb>(i));
    out << "  " << std::setw(12) << counts.written[i] << "  " << verb << ": done\n";
    out << "  " << std::setw(12) << counts.refused[i] << "  " << verb << ": refused\n";
  }
  out << "  " << std::setw(12) << counts.calls - counts.answered << "  (no answer heard)\n";
}

}  // namespace

void Totals::add(const World& world) {
  ++seeds;
  requests += world.clients().requests + world.consumers().calls;
  add_consumers(consumers, world.consumers());
  answered += world.clients().answered;
  effects += world.checker().effects();
  events += world.events();
  messages += world.messages();
  steps += world.steps();
  for (const Strike& strike : world.chaos().strikes())
    ++faults[static_cast<std::size_t>(strike.fault)];
  for (std::size_t i = 0; i < said.size(); ++i) said[i] += world.clients().said[i];
  for (std::size_t from = 0; from < row_states; ++from) {
    for (std::size_t to = 0; to < row_states; ++to) {
      transitions[from][to] += world.checker().transitions()[from][to];
    }
  }
}

void Totals::print(std::ostream& out, std::chrono::duration<double> took) const {
  const double per_second = static_cast<double>(requests) / took.count();
  out << seeds << " seeds, " << requests << " request histories in " << std::fixed
      << std::setprecision(1) << took.count() << " s: " << std::setprecision(0) << per_second
      << " per second; " << steps << " steps, " << effects << " effects, " << events << " events, "
      << messages << " messages\n";
  out << "\nfaults injected\n";
  for (std::size_t i = 1; i < fault_kinds; ++i) {
    out << "  " << std::setw(12) << faults[i] << "  " << name_of(static_cast<Fault>(i)) << '\n';
  }
  out << "\nclients were told\n";
  for (std::size_t i = 0; i < said.size(); ++i) {
    out << "  " << std::setw(12) << said[i] << "  " << name_of(static_cast<Said>(i)) << '\n';
  }
  out << "  " << std::setw(12) << requests - consumers.calls - answered
      << "  (hung up before the answer)\n";
  print_consumers(out, consumers);
  out << "\nstates reached\n";
  for (std::size_t from = 0; from < row_states; ++from) {
    for (std::size_t to = 0; to < row_states; ++to) {
      if (transitions[from][to] == 0) continue;
      out << "  " << std::setw(12) << transitions[from][to] << "  " << state_name(from) << " -> "
          << state_name(to) << '\n';
    }
  }
}

}  // namespace pawl::sim
