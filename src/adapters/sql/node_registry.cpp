#include "src/adapters/sql/node_registry.hpp"

#include "src/adapters/sql/row_reader.hpp"

namespace pawl::sql {
namespace {

Result<std::size_t> note_node(Session& session, const std::string& node, Duration within) {
  const Result<Instant> now = time_of(session);
  if (!now) return Unexpected{now.error()};
  const std::string since = micros(*now - within);
  const Result<Rows> noted = session.run(
      "INSERT INTO pawl.nodes (id, seen_at) VALUES ($1, CAST($2 AS bigint))"
      " ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at RETURNING 1",
      {node, micros(*now)});
  if (!noted) return Unexpected{noted.error()};
  const Result<Rows> gone =
      session.run("DELETE FROM pawl.nodes WHERE seen_at < CAST($1 AS bigint) RETURNING 1", {since});
  if (!gone) return Unexpected{gone.error()};
  const Result<Rows> rows = session.run("SELECT count(*) FROM pawl.nodes");
  if (!rows) return Unexpected{rows.error()};
  return static_cast<std::size_t>(RowReader(rows->front()).number());
}

}  // namespace

Task<StoreResult<std::size_t>> SqlNodeRegistry::serves(std::string node, Duration within) {
  return port_.run<std::size_t>([node = std::move(node), within](Session& session) {
    return note_node(session, node, within);
  });
}

}  // namespace pawl::sql
