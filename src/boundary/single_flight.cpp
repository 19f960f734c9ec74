#include "src/boundary/single_flight.hpp"

#include "src/boundary/joined_name.hpp"

namespace pawl {

SingleFlight::Role SingleFlight::join(const Scope& scope, const Key& key,
                                      const Fingerprint& fingerprint, std::size_t waiters_max,
                                      const std::shared_ptr<Wakeable>& waiter) {
  const std::lock_guard lock(mutex_);
  const auto [place, first] = flights_.try_emplace(joined_name(scope, key));
  Flight& flight = place->second;
  if (first) {
    flight.fingerprint = fingerprint;
    return Role::leader;
  }
  if (flight.fingerprint != fingerprint) return Role::different_request;
  if (flight.waiters.size() >= waiters_max) return Role::too_many;
  flight.waiters.push_back(waiter);
  return Role::waiter;
}

void SingleFlight::finish(const Scope& scope, const Key& key) {
  std::list<std::shared_ptr<Wakeable>> woken;
  {
    const std::lock_guard lock(mutex_);
    const auto place = flights_.find(joined_name(scope, key));
    if (place == flights_.end()) return;
    woken.swap(place->second.waiters);
    flights_.erase(place);
  }
  for (const std::shared_ptr<Wakeable>& waiter : woken) waiter->wake();
}

std::size_t SingleFlight::waiting() const {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto& [name, flight] : flights_) all += flight.waiters.size();
  return all;
}

void SingleFlight::leave(const Scope& scope, const Key& key,
                         const std::shared_ptr<Wakeable>& waiter) {
  const std::lock_guard lock(mutex_);
  const auto place = flights_.find(joined_name(scope, key));
  if (place != flights_.end()) place->second.waiters.remove(waiter);
}

}  // namespace pawl
