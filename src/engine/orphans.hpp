// Reservations whose acknowledgement was lost and whose client was told 503: nothing was sent under
// them, and only this process knows. One list for all engines of a process, safe from any thread.
#pragma once

#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "pawl/types/record.hpp"

namespace pawl {

struct Orphan {
  Scope scope;
  Key key;
  Owner owner;
  BootTime forget_at;  // the record's retention is over: whatever it was, it is gone
  BootTime ask_at{};   // not looked for before
  Duration pause{0};   // doubled with every look that found nothing
};

class Orphans {
 public:
  static constexpr std::size_t count_max = 10'000;
  static constexpr Duration pause_first = std::chrono::seconds(1);
  static constexpr Duration pause_max = std::chrono::seconds(10);

  // Where there are too many the oldest is forgotten: it ends as an unknown outcome.
  void remember(Orphan orphan);
  void forget(const Owner& owner);
  [[nodiscard]] bool contains(const Owner& owner) const;
  [[nodiscard]] std::size_t size() const;

  // Those that are to be looked for now, `count` at most, longest due first. They stay in the list,
  // due again later; what is past its retention is dropped.
  std::vector<Orphan> due(BootTime now, std::size_t count);

 private:
  using Place = std::list<Orphan>::iterator;

  mutable std::mutex mutex_;
  std::list<Orphan> list_;  // oldest first
  std::unordered_map<std::string, Place> by_owner_;
};

}  // namespace pawl
