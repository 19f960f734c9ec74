#include "src/adapters/http/connection_count.hpp"

#include <algorithm>

#include "src/core/network.hpp"

namespace pawl::http {

std::string counted_as(std::string_view address) {
  std::optional<IpAddress> read = IpAddress::parse(address.substr(0, address.find('%')));
  if (!read) return std::string(address);
  if (!read->v4) std::fill(read->bytes.begin() + 8, read->bytes.end(), 0);
  return to_text(*read);
}

void ConnectionCount::limit(std::size_t all_max, std::size_t per_address_max) {
  const std::lock_guard lock(mutex_);
  all_max_ = all_max;
  per_address_max_ = per_address_max;
}

std::size_t ConnectionCount::all() const {
  const std::lock_guard lock(mutex_);
  return all_;
}

std::optional<ConnectionSlot> ConnectionSlot::take(ConnectionCount& count) {
  const std::lock_guard lock(count.mutex_);
  if (count.all_ >= count.all_max_) return std::nullopt;
  ++count.all_;
  return ConnectionSlot(count);
}

ConnectionSlot::~ConnectionSlot() {
  if (count_ == nullptr) return;
  const std::lock_guard lock(count_->mutex_);
  --count_->all_;
}

std::optional<AddressSlot> AddressSlot::take(ConnectionCount& count, std::string_view address) {
  std::string counted = counted_as(address);
  const std::lock_guard lock(count.mutex_);
  const auto here = count.by_address_.try_emplace(counted, 0).first;
  if (here->second >= count.per_address_max_) return std::nullopt;  // at least 1: it was there
  ++here->second;
  return AddressSlot(count, std::move(counted));
}

AddressSlot::~AddressSlot() {
  if (count_ == nullptr) return;
  const std::lock_guard lock(count_->mutex_);
  const auto here = count_->by_address_.find(address_);
  if (--here->second == 0) count_->by_address_.erase(here);
}

std::optional<RefusalSlot> RefusalSlot::take(ConnectionCount& count) {
  const std::lock_guard lock(count.mutex_);
  if (count.refusals_ >= refusals_max) return std::nullopt;
  ++count.refusals_;
  return RefusalSlot(count);
}

RefusalSlot::~RefusalSlot() {
  if (count_ == nullptr) return;
  const std::lock_guard lock(count_->mutex_);
  --count_->refusals_;
}

}  // namespace pawl::http
