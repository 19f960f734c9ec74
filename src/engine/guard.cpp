#include "src/engine/engine.hpp"

namespace pawl {
namespace {

class LeaseGate final : public SendGate {
 public:
  LeaseGate(Engine& engine, Lease& lease) : engine_(engine), lease_(lease) {}
  Task<bool> may_send() override { return engine_.may_send(lease_); }

 private:
  Engine& engine_;
  Lease& lease_;
};

}  // namespace

Task<Guarded> Engine::guard(const Request& request, const Policy& policy, Upstream& upstream) {
  StoreResult<Reservation> reservation = co_await reserve(request, policy);
  if (!reservation) co_return Unreserved{reservation.error()};
  if (kind_of(reservation->decision) != DecisionKind::execute) {
    co_return Refused{std::move(*reservation)};
  }
  const std::shared_ptr<Lease> lease = hold(std::move(reservation->record));
  lease->settle = {policy.response_bytes_max, policy.resource_type, policy.resource_id};
  co_return co_await execute(lease, upstream);
}

Task<Executed> Engine::execute(std::shared_ptr<Lease> lease, Upstream& upstream) {
  LeaseGate gate(*this, *lease);
  const BootTime deadline = clock_.now() + lease->record->policy.upstream_timeout;
  // A renewal may give the lease another record while the request is under way.
  const SharedRecord attempt = lease->record;
  Outcome outcome = co_await upstream.send(*attempt, gate, deadline);
  StoreResult<Settlement> settlement = co_await settle(*lease, outcome);
  co_return Executed{std::move(outcome), std::move(settlement), lease};
}

}  // namespace pawl
