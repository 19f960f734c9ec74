// How many connections there are, in all and from each address, and how many may be.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace pawl::http {

// What an address counts as: one IPv6 address is a /64, which is what its owner has of them.
std::string counted_as(std::string_view address);

enum class ConnectionLimit { all, address };

// Shared by the threads.
class ConnectionCount {
 public:
  ConnectionCount(std::size_t all_max, std::size_t per_address_max)
      : all_max_(all_max), per_address_max_(per_address_max) {}

  // Those that are over it already stay.
  void limit(std::size_t all_max, std::size_t per_address_max);
  [[nodiscard]] std::size_t all() const;

 private:
  friend class ConnectionSlot;
  friend class AddressSlot;
  friend class RefusalSlot;

  mutable std::mutex mutex_;
  std::size_t all_max_;
  std::size_t per_address_max_;
  std::size_t all_ = 0;
  std::size_t refusals_ = 0;
  std::map<std::string, std::size_t> by_address_;
};

// One connection's place among all, until it goes.
class ConnectionSlot {
 public:
  // Nothing: one too many.
  static std::optional<ConnectionSlot> take(ConnectionCount& count);
  ~ConnectionSlot();
  ConnectionSlot(ConnectionSlot&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  ConnectionSlot& operator=(ConnectionSlot&&) = delete;

 private:
  explicit ConnectionSlot(ConnectionCount& count) : count_(&count) {}
  ConnectionCount* count_;
};

// A place among those of one address: of a connection, or of a request that a proxy passes on.
class AddressSlot {
 public:
  static std::optional<AddressSlot> take(ConnectionCount& count, std::string_view address);
  ~AddressSlot();
  AddressSlot(AddressSlot&& other) noexcept
      : count_(std::exchange(other.count_, nullptr)), address_(std::move(other.address_)) {}
  AddressSlot& operator=(AddressSlot&&) = delete;

 private:
  AddressSlot(ConnectionCount& count, std::string address)
      : count_(&count), address_(std::move(address)) {}
  ConnectionCount* count_;
  std::string address_;
};

// A place among the connections that are over a limit and are being told so. More than a few at
// once are closed instead: telling must not become what a flood of them costs.
inline constexpr std::size_t refusals_max = 32;

class RefusalSlot {
 public:
  static std::optional<RefusalSlot> take(ConnectionCount& count);
  ~RefusalSlot();
  RefusalSlot(RefusalSlot&& other) noexcept : count_(std::exchange(other.count_, nullptr)) {}
  RefusalSlot& operator=(RefusalSlot&&) = delete;

 private:
  explicit RefusalSlot(ConnectionCount& count) : count_(&count) {}
  ConnectionCount* count_;
};

}  // namespace pawl::http
