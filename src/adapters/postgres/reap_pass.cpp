// The reaper's rows: by reap_after.
#include <algorithm>
#include <tuple>

#include "src/adapters/postgres/pass_rows.hpp"

namespace pawl::postgres {
namespace {

// How long the reaper leaves alone what is not over yet and cannot say when it will be.
constexpr std::chrono::hours put_off_by{1};

bool is_finished(Status status) {
  return status != Status::in_progress && status != Status::unknown;
}

}  // namespace

Task<StoreResult<std::vector<Passes::Candidate>>> Passes::next_expired(Instant now,
                                                                       const Candidate& after,
                                                                       std::size_t rows_max) {
  using PassResult = StoreResult<std::vector<Candidate>>;
  Query query{StatementId::reap_page,
              {instant_parameter(now), instant_parameter(after.reap_after),
               text_parameter(after.scope.text), text_parameter(after.key.text),
               int64_parameter(static_cast<std::int64_t>(rows_max))}};
  std::vector<Query> queries = one(std::move(query));
  const Session::Reply reply = co_await session_.exchange(std::move(queries));
  if (!reply) co_return PassResult(Unexpected{store_error(reply.error())});
  const Rows& rows = reply->at(1);
  std::vector<Candidate> found;
  for (int row = 0; row < rows.count(); ++row) {
    Candidate candidate;
    candidate.scope.text = rows.text(row, 0);
    candidate.key.text = rows.text(row, 1);
    candidate.reap_after = instant_in(rows, row, 2);
    candidate.status = from_text<Status>(rows.text(row, 3)).value_or(Status::unknown);
    candidate.fence.number = int64_in(rows, row, 4);
    candidate.time = instant_in(rows, row, 5);
    candidate.bytes = bytes_in(rows, row, 6);
    candidate.stays = rows.text(row, 7) == std::string_view("\1", 1);
    found.push_back(std::move(candidate));
  }
  co_return PassResult(std::move(found));
}

Task<StoreResult<Done>> Passes::put_off(const std::vector<Candidate>& early, Instant now) {
  if (early.empty()) co_return StoreResult<Done>(Done{});
  std::vector<const Candidate*> sorted;
  for (const Candidate& row : early) sorted.push_back(&row);
  std::ranges::sort(sorted, [](const Candidate* a, const Candidate* b) {
    return std::tie(a->scope.text, a->key.text) < std::tie(b->scope.text, b->key.text);
  });
  ArrayBuilder scopes(type::text_array);
  ArrayBuilder keys(type::text_array);
  ArrayBuilder times(type::instant_array);
  ArrayBuilder statuses(type::text_array);
  ArrayBuilder fences(type::int64_array);
  ArrayBuilder expiries(type::instant_array);
  ArrayBuilder next(type::instant_array);
  for (const Candidate* row : sorted) {
    scopes.bytes(row->scope.text);
    keys.bytes(row->key.text);
    times.instant(row->reap_after);
    statuses.bytes(to_text(row->status));
    fences.int64(row->fence.number);
    expiries.instant(row->time);
    next.instant(is_finished(row->status) && !row->stays ? row->time : now + put_off_by);
  }
  Query query{StatementId::reap_later, {}};
  for (ArrayBuilder* array : {&scopes, &keys, &times, &statuses, &fences, &expiries, &next}) {
    query.parameters.push_back(std::move(*array).finish());
  }
  std::vector<Query> queries = one(std::move(query));
  const Session::Reply reply = co_await session_.exchange(std::move(queries));
  // Somebody holds one of the rows: it is looked at again next time.
  if (!reply && store_error(reply.error()) != StoreError::contended) {
    co_return StoreResult<Done>(Unexpected{store_error(reply.error())});
  }
  co_return StoreResult<Done>(Done{});
}

Task<Passes::Page> Passes::past_retention(PassQuery query) {
  Harvest harvest{.rows_max = query.rows_max, .deadline = end_of_pass(session_)};
  harvest.full = query.rows_max == 0;
  harvest.reaping = true;
  Candidate last;
  last.reap_after = beginning();
  if (reaper_stopped_at_) last = std::move(*reaper_stopped_at_);
  reaper_stopped_at_.reset();
  while (!harvest.full && !harvest.exhausted && !is_past(harvest.deadline)) {
    const StoreResult<std::vector<Candidate>> rows =
        co_await next_expired(query.now, last, query.rows_max);
    if (!rows) co_return Page(Unexpected{rows.error()});
    harvest.exhausted = rows->size() < query.rows_max;
    if (rows->empty()) break;
    std::vector<Candidate> early;
    std::vector<Candidate> over;
    for (const Candidate& row : *rows) {
      const bool ends = is_finished(row.status) && !row.stays && row.time <= query.now;
      (ends ? over : early).push_back(row);
    }
    const StoreResult<Done> put = co_await put_off(early, query.now);
    if (!put) co_return Page(Unexpected{put.error()});
    last = rows->back();
    const StoreResult<Done> done = co_await read(std::move(over), harvest);
    if (!done) co_return Page(Unexpected{done.error()});
    const StoreResult<Done> kept = co_await put_off(harvest.kept, query.now);
    if (!kept) co_return Page(Unexpected{kept.error()});
    harvest.kept.clear();
  }
  const bool out_of_time = !harvest.full && !harvest.exhausted;
  if (out_of_time) reaper_stopped_at_ = std::make_unique<Candidate>(std::move(last));
  Page page = end(Status::completed, std::move(harvest));
  if (page) {
    std::erase_if(*page, [&](const Record& row) {
      return !is_finished(status_of(row)) || is_dead_letter(row) || row.expires_at > query.now;
    });
  }
  co_return page;
}

}  // namespace pawl::postgres
