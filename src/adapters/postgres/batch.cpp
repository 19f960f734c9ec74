#include "src/adapters/postgres/batch.hpp"

#include <algorithm>

#include "pawl/types/check.hpp"
#include "src/adapters/postgres/row.hpp"
#include "src/core/sha256.hpp"

namespace pawl::postgres {
namespace {

std::vector<const Record*> records_of(const Writes& batch) {
  std::vector<const Record*> records;
  for (const auto& write : batch) records.push_back(&write->next);
  return records;
}

const ColumnInfo& info(Column column) { return columns()[static_cast<std::size_t>(column)]; }

std::vector<Parameter> encode_columns(std::initializer_list<Column> wanted,
                                      std::span<const Record* const> records) {
  std::vector<Parameter> parameters;
  for (const Column column : wanted) parameters.push_back(encode_column(info(column), records));
  return parameters;
}

std::vector<Parameter> encode_columns_where(Wanted wanted, std::span<const Record* const> records) {
  std::vector<Parameter> parameters;
  for (const ColumnInfo& column : columns()) {
    if (wanted(column)) parameters.push_back(encode_column(column, records));
  }
  return parameters;
}

// When a pass has to look at the record; nothing where none ever has to.
std::optional<Instant> due_at(const Record& record) {
  switch (status_of(record)) {
    case Status::in_progress: return std::get<InProgress>(record.state).locked_until;
    case Status::unknown: return std::get<Unknown>(record.state).reconcile_after;
    case Status::pending: {
      const Instant not_before = std::get<Pending>(record.state).not_before;
      return not_before == Instant{} ? record.created_at : not_before;
    }
    case Status::failed_retryable:  // no pass, but whoever lists the dead letters
      if (is_dead_letter(record)) return record.created_at;
      break;
    case Status::completed:
    case Status::expired: break;
  }
  return std::nullopt;
}

// A lease that only moves on is covered by the row that noted it first: the pass will look, find it
// renewed, and move that row.
bool already_noted(const Write& write) {
  const auto* held = std::get_if<InProgress>(&write.next.state);
  return write.kind != WriteKind::insert && held != nullptr &&
         write.expected.status == Status::in_progress && write.expected.locked_until &&
         *write.expected.locked_until <= held->locked_until;
}

std::optional<Query> note_due(const Writes& batch, std::int64_t note_id) {
  std::vector<const Record*> records;
  ArrayBuilder times(type::instant_array);
  for (const auto& write : batch) {
    const std::optional<Instant> time = due_at(write->next);
    if (!time || already_noted(*write)) continue;
    records.push_back(&write->next);
    times.instant(*time);
  }
  if (records.empty()) return std::nullopt;
  Query query{StatementId::note_due, encode_columns({Column::scope_id, Column::idempotency_key,
                                                     Column::owner, Column::status},
                                                    records)};
  query.parameters.push_back(std::move(times).finish());
  query.parameters.push_back(int64_parameter(note_id));
  return query;
}

// Repeating the change gives the same id, so its audit entry is written once.
std::string audit_id(const Write& write) {
  std::string change;
  const auto add = [&](std::string_view part) {
    change += std::to_string(part.size()) + ':' + std::string(part);
  };
  for (const std::string& part :
       {write.identity, write.next.owner.text, std::to_string(write.next.fence.number),
        std::to_string(write.expected.fence.number), write.audit->actor, write.audit->action,
        write.audit->reason}) {
    add(part);
  }
  add(to_text(write.expected.status));
  add(to_text(status_of(write.next)));
  const Digest digest = sha256(change);
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

std::optional<Query> audit(const Writes& batch) {
  std::vector<const Record*> records;
  ArrayBuilder ids(type::bytes_array);
  ArrayBuilder actors(type::text_array);
  ArrayBuilder actions(type::text_array);
  ArrayBuilder reasons(type::text_array);
  ArrayBuilder before(type::text_array);
  for (const auto& write : batch) {
    if (!write->audit) continue;
    records.push_back(&write->next);
    ids.bytes(audit_id(*write));
    actors.text(write->audit->actor);
    actions.text(write->audit->action);
    reasons.text(write->audit->reason);
    before.text(std::string(to_text(write->expected.status)));
  }
  if (records.empty()) return std::nullopt;
  Query query{StatementId::audit, encode_columns({Column::scope_id, Column::idempotency_key,
                                                  Column::owner, Column::fence, Column::status},
                                                 records)};
  for (ArrayBuilder* array : {&ids, &actors, &actions, &reasons, &before}) {
    query.parameters.push_back(std::move(*array).finish());
  }
  return query;
}

// The same for a lone row: values in place of arrays.
Query of_one(StatementId statement, const Query& batch) {
  Query query{statement, {}};
  for (const Parameter& array : batch.parameters) query.parameters.push_back(only_element(array));
  return query;
}

std::vector<Query> insert_statements(const Writes& batch, std::int64_t note_id, bool distributed) {
  const std::vector<const Record*> records = records_of(batch);
  const bool plain = std::ranges::all_of(
      records, [](const Record* record) { return is_plain_reservation(*record); });
  std::vector<Query> queries;
  queries.push_back({plain ? StatementId::reserve : StatementId::insert,
                     encode_columns_where(plain ? is_of_reservation : is_any, records)});
  if (plain && records.size() == 1 && !distributed) {
    queries.back() = of_one(StatementId::reserve_one, queries.back());
  }
  if (!distributed) queries.back().parameters.push_back(int64_parameter(note_id));
  if (distributed) {
    if (std::optional<Query> note = note_due(batch, note_id)) queries.push_back(std::move(*note));
  }
  return queries;
}

std::vector<Query> replace_statements(const Writes& batch, std::int64_t note_id,
                                      StatementId statement, Wanted wanted) {
  std::vector<Query> queries;
  queries.push_back({statement, encode_columns_where(wanted, records_of(batch))});
  std::vector<Guard> guards;
  for (const auto& write : batch) guards.push_back(write->expected);
  for (Parameter& parameter : guard_parameters(guards)) {
    queries.back().parameters.push_back(std::move(parameter));
  }
  if (statement == StatementId::settle && batch.size() == 1) {
    queries.back() = of_one(StatementId::settle_one, queries.back());
  }
  if (std::optional<Query> note = note_due(batch, note_id)) queries.push_back(std::move(*note));
  if (std::optional<Query> entries = audit(batch)) queries.push_back(std::move(*entries));
  return queries;
}

}  // namespace

std::vector<Parameter> guard_parameters(const std::vector<Guard>& guards) {
  ArrayBuilder fences(type::int64_array);
  ArrayBuilder statuses(type::text_array);
  ArrayBuilder leases(type::instant_array);
  for (const Guard& guard : guards) {
    // A guard speaks of a lease exactly where the state has one; any other never holds.
    const bool possible = (guard.status == Status::in_progress) == guard.locked_until.has_value();
    fences.int64(possible ? guard.fence.number : 0);
    statuses.bytes(to_text(guard.status));
    leases.instant(guard.locked_until);
  }
  std::vector<Parameter> parameters;
  parameters.push_back(std::move(fences).finish());
  parameters.push_back(std::move(statuses).finish());
  parameters.push_back(std::move(leases).finish());
  return parameters;
}

std::vector<Writes> by_kind(const Writes& batch) {
  std::vector<Writes> parts;
  for (const auto& write : batch) {
    if (parts.empty() || parts.back().front()->kind != write->kind) parts.emplace_back();
    parts.back().push_back(write);
  }
  return parts;
}

std::vector<Query> statements_for(const Writes& batch, std::int64_t note_id, bool distributed) {
  switch (batch.front()->kind) {
    case WriteKind::insert: return insert_statements(batch, note_id, distributed);
    case WriteKind::settle:
      return replace_statements(batch, note_id, StatementId::settle, is_of_settlement);
    case WriteKind::replace:
      return replace_statements(batch, note_id, StatementId::replace, is_not_request);
    case WriteKind::replace_all:
      return replace_statements(batch, note_id, StatementId::replace_all, is_any);
  }
  return {};
}

Query find_query(const std::vector<std::pair<Scope, Key>>& keys) {
  ArrayBuilder scopes(type::text_array);
  ArrayBuilder names(type::text_array);
  for (const auto& [scope, key] : keys) {
    scopes.bytes(scope.text);
    names.bytes(key.text);
  }
  Query query{StatementId::find, {}};
  query.parameters.push_back(std::move(scopes).finish());
  query.parameters.push_back(std::move(names).finish());
  return query;
}

Query read_again(const Writes& writes) {
  std::vector<std::pair<Scope, Key>> keys;
  std::unordered_set<std::string> seen;
  for (const auto& write : writes) {
    if (seen.insert(write->identity).second) keys.emplace_back(write->next.scope, write->next.key);
  }
  return find_query(keys);
}

}  // namespace pawl::postgres
