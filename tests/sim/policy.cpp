#include "tests/sim/client.hpp"

namespace pawl::sim {

using namespace std::chrono_literals;

// Short times, so that minutes of simulation see leases lapse and keys expire.
Policy draw_policy(Stream& stream) {
  constexpr std::array profiles{Profile::ietf, Profile::stripe, Profile::strict};
  constexpr std::array<Duration, 5> leases{3s, 3s, 6s, 12s, 30s};
  constexpr std::array<Duration, 5> timeouts{2s, 5s, 12s, 30s, 30s};
  constexpr std::array<Duration, 5> retentions{10s, 30s, 60s, 120s, 600s};
  constexpr std::array<decltype(Policy::max_attempts), 4> attempts{1, 1, 2, 20};
  const bool transactional = stream.one_in(4);
  Policy policy = default_policy(stream.pick(profiles), transactional);
  policy.lease = stream.pick(leases);
  policy.upstream_timeout = stream.pick(timeouts);
  policy.retention = stream.pick(retentions);
  policy.tombstone_for = 120s;
  if (policy.profile == Profile::ietf && stream.one_in(2)) {
    policy.on_server_error = OnServerError::retry;
  }
  policy.retention_from = stream.one_in(2) ? RetentionFrom::created : RetentionFrom::completed;
  if (stream.one_in(6)) policy.mode = Mode::async;
  const bool retries = stream.one_in(policy.mode == Mode::async ? 2 : 4);
  if (!transactional && retries) policy.on_lease_expiry = OnLeaseExpiry::retry;
  if (stream.one_in(3)) policy.fingerprint.exclude.push_back(*json::parse_pointer("/nonce"));
  if (policy.mode == Mode::async) policy.max_attempts = stream.pick(attempts);
  return policy;
}

}  // namespace pawl::sim
