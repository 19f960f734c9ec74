// What a server says beside its answers.
#pragma once

#include <libpq-fe.h>

namespace pawl::postgres {

struct Notices {
  // Somebody told the server to wait no longer for its standby. What was committed is there, and
  // perhaps nowhere else: a failover would lose it. The answer itself says nothing of that.
  bool wait_cancelled = false;
};

// For PQsetNoticeReceiver; `notices` is a Notices. Everything else is the server's log's business,
// not our standard error's.
void take_notice(void* notices, const PGresult* notice);

inline constexpr const char* wait_cancelled_text =
    "the server was told to wait no longer for its synchronous standby: what was committed may be "
    "lost in a failover";

}  // namespace pawl::postgres
