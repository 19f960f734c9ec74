#include "src/operator/refusal.hpp"

namespace pawl {
namespace {

constexpr std::size_t reason_bytes_min = 3;
constexpr std::size_t reason_bytes_max = 2000;

}  // namespace

Unexpected<Refusal> malformed(std::string sentence) {
  return Unexpected{Refusal{Refusal::Kind::malformed, std::move(sentence)}};
}

Unexpected<Refusal> refused(std::string sentence) {
  return Unexpected{Refusal{Refusal::Kind::refused, std::move(sentence)}};
}

Unexpected<Refusal> unavailable(std::string sentence) {
  return Unexpected{Refusal{Refusal::Kind::unavailable, std::move(sentence)}};
}

Unexpected<Refusal> store_failed(StoreError error) {
  return unavailable("the store: " + std::string(to_text(error)));
}

Task<OrRefusal<Instant>> time_of(Store& store) {
  const StoreResult<StoreClock> clock = co_await store.time();
  if (!clock) {
    co_return unavailable("the store does not answer: " + std::string(to_text(clock.error())));
  }
  co_return clock->now;
}

std::optional<Refusal> check_reason(const std::string& reason) {
  const bool blank = reason.find_first_not_of(" \t\n") == std::string::npos;
  if (!blank && reason.size() >= reason_bytes_min && reason.size() <= reason_bytes_max) return {};
  return malformed("--reason must say why, in 3 to 2000 characters; it is kept with your name")
      .error;
}

AuditEntry audit_of(const OrderedBy& by, std::string action) {
  return AuditEntry{"operator " + by.actor, std::move(action), by.reason};
}

}  // namespace pawl
