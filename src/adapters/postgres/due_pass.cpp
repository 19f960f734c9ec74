// The sweeper's and the reconciler's rows: by way of the notes in pawl.due.
#include <algorithm>
#include <map>
#include <set>

#include "src/adapters/postgres/pass_rows.hpp"

namespace pawl::postgres {
namespace {

constexpr std::int64_t notes_per_page = 256;
// A page is one statement, and must end well within an operation's time.
constexpr std::size_t keys_per_page = 5000;

// The column of `peek` that says when a row in this state is due.
std::size_t time_column(Status kind) {
  switch (kind) {
    case Status::in_progress: return 3;
    case Status::unknown: return 4;
    case Status::pending: return 5;
    case Status::completed:
    case Status::failed_retryable:
    case Status::expired: break;
  }
  PAWL_CHECK(false && "no pass looks for this state");
  return 0;
}

}  // namespace

Task<StoreResult<std::vector<Passes::Note>>> Passes::next_notes(Status kind, Instant now,
                                                                const Note& after) {
  using PassResult = StoreResult<std::vector<Note>>;
  Query query{
      StatementId::due_page,
      {text_parameter(to_text(kind)), instant_parameter(now), instant_parameter(after.due_at),
       text_parameter(after.scope), int64_parameter(after.id), int64_parameter(notes_per_page)}};
  std::vector<Query> queries = one(std::move(query));
  const Session::Reply reply = co_await session_.exchange(std::move(queries));
  if (!reply) co_return PassResult(Unexpected{store_error(reply.error())});
  const Rows& rows = reply->at(1);
  std::vector<Note> notes;
  std::size_t keys = 0;
  for (int row = 0; row < rows.count() && keys < keys_per_page; ++row) {
    Note note;
    note.scope = rows.text(row, 0);
    note.id = int64_in(rows, row, 1);
    note.due_at = instant_in(rows, row, 2);
    note.keys = read_text_array(rows.text(row, 3)).value_or(std::vector<std::string>{});
    keys += note.keys.size();
    notes.push_back(std::move(note));
  }
  co_return PassResult(std::move(notes));
}

Task<StoreResult<std::vector<Passes::Candidate>>> Passes::look_at(Status kind,
                                                                  const std::vector<Note>& notes) {
  using PassResult = StoreResult<std::vector<Candidate>>;
  std::set<std::pair<std::string, std::string>> keys;
  for (const Note& note : notes) {
    for (const std::string& key : note.keys) keys.emplace(note.scope, key);
  }
  ArrayBuilder scopes(type::text_array);
  ArrayBuilder names(type::text_array);
  for (const auto& [scope, key] : keys) {
    scopes.bytes(scope);
    names.bytes(key);
  }
  Query query{StatementId::peek, {}};
  query.parameters.push_back(std::move(scopes).finish());
  query.parameters.push_back(std::move(names).finish());
  query.parameters.push_back(text_parameter(to_text(kind)));
  std::vector<Query> queries = one(std::move(query));
  const Session::Reply reply = co_await session_.exchange(std::move(queries));
  if (!reply) co_return PassResult(Unexpected{store_error(reply.error())});
  const Rows& rows = reply->at(1);
  std::vector<Candidate> found;
  for (int row = 0; row < rows.count(); ++row) {
    Candidate candidate;
    candidate.scope.text = rows.text(row, 0);
    candidate.key.text = rows.text(row, 1);
    candidate.time = instant_in(rows, row, time_column(kind));
    candidate.bytes = bytes_in(rows, row, 6);
    found.push_back(std::move(candidate));
  }
  co_return PassResult(std::move(found));
}

// Notes that led nowhere are deleted; those that will lead somewhere are moved there.
Task<StoreResult<Done>> Passes::tidy(Status kind, const std::vector<Note>& notes) {
  std::vector<Query> queries;
  const auto collect = [&](StatementId statement, bool moving) {
    ArrayBuilder scopes(type::text_array);
    ArrayBuilder ids(type::int64_array);
    ArrayBuilder times(type::instant_array);
    ArrayBuilder next(type::instant_array);
    bool any = false;
    for (const Note& note : notes) {
      if (note.wanted || note.next.has_value() != moving) continue;
      any = true;
      scopes.bytes(note.scope);
      ids.int64(note.id);
      times.instant(note.due_at);
      next.instant(note.next);
    }
    if (!any) return;
    Query query{statement, {}};
    query.parameters.push_back(std::move(scopes).finish());
    query.parameters.push_back(std::move(ids).finish());
    query.parameters.push_back(std::move(times).finish());
    query.parameters.push_back(text_parameter(to_text(kind)));
    if (moving) query.parameters.push_back(std::move(next).finish());
    queries.push_back(std::move(query));
  };
  collect(StatementId::due_delete, false);
  collect(StatementId::due_move, true);
  if (queries.empty()) co_return StoreResult<Done>(Done{});
  const Session::Reply reply = co_await session_.exchange(std::move(queries));
  // Another node is at the same notes, and will do: what is left over is found again.
  if (!reply && store_error(reply.error()) != StoreError::contended) {
    co_return StoreResult<Done>(Unexpected{store_error(reply.error())});
  }
  co_return StoreResult<Done>(Done{});
}

// One page of notes further: the rows they lead to that are due, and were not seen before.
Task<StoreResult<std::vector<Passes::Candidate>>> Passes::look_further(Status kind, Instant now,
                                                                       Note& last,
                                                                       Harvest& harvest) {
  using PassResult = StoreResult<std::vector<Candidate>>;
  std::vector<Candidate> wanted;
  StoreResult<std::vector<Note>> notes = co_await next_notes(kind, now, last);
  if (!notes) co_return PassResult(Unexpected{notes.error()});
  harvest.exhausted = notes->empty();
  if (harvest.exhausted) co_return PassResult(std::move(wanted));
  const StoreResult<std::vector<Candidate>> rows = co_await look_at(kind, *notes);
  if (!rows) co_return PassResult(Unexpected{rows.error()});
  std::map<std::string, Candidate> by_identity;
  for (const Candidate& row : *rows) by_identity.emplace(identity_of(row.scope, row.key), row);
  for (Note& note : *notes) {
    for (const std::string& key : note.keys) {
      const auto row = by_identity.find(identity_of(Scope{note.scope}, Key{key}));
      if (row == by_identity.end()) continue;
      const Instant time = row->second.time;
      if (time <= now) {
        note.wanted = true;
        if (harvest.seen.insert(row->first).second) wanted.push_back(row->second);
      } else {
        note.next = std::min(note.next.value_or(time), time);
      }
    }
  }
  const StoreResult<Done> tidied = co_await tidy(kind, *notes);
  if (!tidied) co_return PassResult(Unexpected{tidied.error()});
  last = notes->back();
  co_return PassResult(std::move(wanted));
}

Task<Passes::Page> Passes::due(Status kind, PassQuery query) {
  Harvest harvest{.rows_max = query.rows_max, .deadline = end_of_pass(session_)};
  harvest.full = query.rows_max == 0;
  Note last;
  last.due_at = beginning();
  if (const auto stopped = stopped_at_.find(kind); stopped != stopped_at_.end()) {
    last = stopped->second;
    stopped_at_.erase(stopped);
  }
  while (!harvest.full && !harvest.exhausted && !is_past(harvest.deadline)) {
    std::vector<Candidate> wanted;
    while (harvest.rows.size() + wanted.size() < query.rows_max && !harvest.exhausted &&
           !is_past(harvest.deadline)) {
      StoreResult<std::vector<Candidate>> more =
          co_await look_further(kind, query.now, last, harvest);
      if (!more) co_return Page(Unexpected{more.error()});
      std::ranges::move(*more, std::back_inserter(wanted));
    }
    const StoreResult<Done> done = co_await read(std::move(wanted), harvest);
    if (!done) co_return Page(Unexpected{done.error()});
  }
  const bool out_of_time = !harvest.full && !harvest.exhausted;
  if (out_of_time) stopped_at_.insert_or_assign(kind, last);
  Page page = end(kind, std::move(harvest));
  // Somebody may have moved a row on since it was looked at.
  if (page) std::erase_if(*page, [&](const Record& row) { return status_of(row) != kind; });
  co_return page;
}

}  // namespace pawl::postgres
