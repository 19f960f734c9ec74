// How often a commit of this process was left in doubt: its wait for a synchronous standby was
// cancelled, or its connection broke while it waited. What was in doubt can then be seen on this
// server before a standby has it, so that reading it back proves nothing: a failover may still lose
// it. Whoever asks after a doubt first commits something of its own that the standby must have too;
// it comes later in the log than all that can be seen.
//
// One number for the process: who asks is often not who was left in doubt.
#pragma once

#include <atomic>
#include <cstdint>

namespace pawl::postgres {

inline std::atomic<std::uint64_t>& doubts() {
  static std::atomic<std::uint64_t> count = 0;
  return count;
}

// Once a wait for a standby was cancelled there is one, whatever a session was told when it began.
inline std::atomic<bool>& has_waited_for_standby() {
  static std::atomic<bool> waited = false;
  return waited;
}

// A commit that writes this waits for the standby; one that only reads does not.
inline constexpr const char* barrier_sql =
    "SELECT pg_catalog.pg_logical_emit_message(true, 'pawl', '')";

}  // namespace pawl::postgres
