#include "src/gateway/flights.hpp"

#include "pawl/core/mutant.hpp"

namespace pawl::gateway {
namespace {

std::string name_of(const Scope& scope, const Key& key) {
  std::string name = std::to_string(scope.text.size());
  name.append(":").append(scope.text).append(key.text);
  return name;
}

}  // namespace

Flights::Role Flights::board(const Scope& scope, const Key& key, const Fingerprint& fingerprint,
                             std::size_t waiters_max, const std::shared_ptr<Waiter>& waiter) {
  const std::lock_guard lock(mutex_);
  const auto [place, first] = flights_.try_emplace(name_of(scope, key));
  Flight& flight = place->second;
  if (first) {
    flight.fingerprint = fingerprint;
    return Role::leader;
  }
  if (flight.fingerprint != fingerprint) return Role::outsider;
  if (flight.waiters.size() >= waiters_max) return Role::too_many;
  flight.waiters.push_back(waiter);
  return Role::waiter;
}

void Flights::land(const Scope& scope, const Key& key) {
  if (mutant(Mutant::landing_forgotten)) return;
  std::list<std::shared_ptr<Waiter>> woken;
  {
    const std::lock_guard lock(mutex_);
    const auto place = flights_.find(name_of(scope, key));
    if (place == flights_.end()) return;
    woken.swap(place->second.waiters);
    flights_.erase(place);
  }
  for (const std::shared_ptr<Waiter>& waiter : woken) waiter->wake();
}

std::size_t Flights::waiting() const {
  const std::lock_guard lock(mutex_);
  std::size_t all = 0;
  for (const auto& [name, flight] : flights_) all += flight.waiters.size();
  return all;
}

void Flights::leave(const Scope& scope, const Key& key, const std::shared_ptr<Waiter>& waiter) {
  const std::lock_guard lock(mutex_);
  const auto place = flights_.find(name_of(scope, key));
  if (place != flights_.end()) place->second.waiters.remove(waiter);
}

}  // namespace pawl::gateway
