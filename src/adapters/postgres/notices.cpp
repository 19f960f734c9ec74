#include "src/adapters/postgres/notices.hpp"

#include <string_view>

#include "src/adapters/postgres/doubts.hpp"

namespace pawl::postgres {
namespace {

std::string_view field(const PGresult* notice, int code) {
  const char* text = PQresultErrorField(notice, code);
  return text == nullptr ? "" : text;
}

}  // namespace

// By where it comes from in the server: its SQLSTATE is that of any warning, and its text is in the
// server's language. The text is for a proxy that leaves the place out.
void take_notice(void* notices, const PGresult* notice) {
  const std::string_view severity = field(notice, PG_DIAG_SEVERITY_NONLOCALIZED);
  const bool of_waiting =
      field(notice, PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN" ||
      field(notice, PG_DIAG_MESSAGE_PRIMARY).find("wait for synchronous replication") !=
          std::string_view::npos;
  if (severity != "WARNING" || !of_waiting) return;
  static_cast<Notices*>(notices)->wait_cancelled = true;
  has_waited_for_standby() = true;
}

}  // namespace pawl::postgres
