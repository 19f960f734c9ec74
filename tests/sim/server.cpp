#include "src/core/stored_error.hpp"
#include "tests/mutants/mutant.hpp"
#include "tests/sim/store.hpp"

namespace pawl::sim {
namespace {

Identity identity_of(const Record& record) { return {record.scope, record.key}; }

}  // namespace

Server::Server(Scheduler& scheduler, Checker& checker, History& history)
    : scheduler_(scheduler),
      checker_(checker),
      history_(history),
      truth_([this] { return clock(); }),
      cases_(truth_),
      outbox_([this] { return clock(); }) {}

Instant Server::honest() const {
  constexpr auto start = std::chrono::sys_days(std::chrono::year(2026) / std::chrono::January / 1);
  return Instant(start) + scheduler_.now();
}

void Server::fail_over(Duration until) {
  const std::vector<std::function<void()>> kept = std::move(survivors_);
  survivors_.clear();
  for (const std::function<void()>& commit : kept) commit();
  ++epoch_;
  down_until_ = until;
}

// The outbox stays as it is: what becomes of its rows then is for other tests.
void Server::restore(const Backup& backup) {
  const std::vector<Record>& rows = backup.records;
  ++epoch_;
  survivors_.clear();
  checker_.restored(rows);
  truth_.put_back(rows);
  cases_.put_back(backup.cases);
  for (const Record& row : rows) {
    if (std::optional<Record> next = pawl::restored(row, clock())) {
      std::vector<Replacement> batch;
      batch.push_back({std::move(*next), guard_of(row), std::nullopt});
      checker_.expect_restored();
      replace(std::move(batch));
    }
  }
}

void Server::survives_fail_over(std::function<void()> commit) {
  survivors_.push_back(std::move(commit));
}

bool Server::purge(const Identity& identity) {
  const std::optional<Record>& row = checker_.row(identity);
  if (!row || status_of(*row) != Status::completed) return false;
  if (!truth_.purge(identity.first, identity.second)) return false;
  checker_.purged(identity, run(truth_.time())->purge_epoch);
  return true;
}

void Server::corrupt(const Identity& identity) {
  truth_.corrupt(identity.first, identity.second);
  checker_.corrupted(identity);
}

bool Server::down() const { return scheduler_.now() < down_until_; }

void Server::saw(const Record& record) {
  const Identity identity = identity_of(record);
  if (history_.wanted() && checker_.row(identity) != record) {
    std::string line = text_of(identity) + " is now " + std::string(to_text(status_of(record))) +
                       ", fence ..." + std::to_string(record.fence.number % 1'000'000'000) +
                       ", owner " + record.owner.text;
    if (const auto* held = std::get_if<InProgress>(&record.state)) {
      line += ", lease for " + in_seconds(held->locked_until - clock()) + " s";
    }
    const std::string why = stored_error(record);
    if (!why.empty()) line += " (" + why + ")";
    history_.add(scheduler_.now(), "store", line);
  }
  if (checker_.row(identity) != record) changed_at_[identity] = scheduler_.now();
  checker_.row_changed(identity, record, honest());
}

void Server::saw_nothing(const Identity& identity) {
  if (history_.wanted() && checker_.row(identity)) {
    history_.add(scheduler_.now(), "store", text_of(identity) + " is deleted");
  }
  checker_.row_changed(identity, std::nullopt, honest());
}

std::vector<StoreResult<Written>> Server::insert_or_read(std::vector<Record> fresh) {
  std::vector<StoreResult<Written>> results = run(truth_.insert_or_read(std::move(fresh)));
  for (const StoreResult<Written>& written : results) {
    if (written) saw(*written->current);
  }
  return results;
}

std::vector<StoreResult<Written>> Server::replace(std::vector<Replacement> batch) {
  std::vector<StoreResult<Written>> results = run(truth_.replace(std::move(batch)));
  for (const StoreResult<Written>& written : results) {
    if (written && written->current) saw(*written->current);
  }
  return results;
}

std::vector<StoreResult<Written>> Server::replace_but(const std::vector<Replacement>& batch,
                                                      const std::vector<bool>& fails) {
  std::vector<StoreResult<Written>> results;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (fails[i]) {
      results.emplace_back(Unexpected{StoreError::contended});
      continue;
    }
    std::vector<Replacement> one;
    one.push_back(batch[i]);
    results.push_back(std::move(replace(std::move(one)).front()));
  }
  return results;
}

StoreResult<std::vector<bool>> Server::erase(std::vector<Erasure> batch) {
  if (mutant(Mutant::reap_without_condition)) {
    for (Erasure& erasure : batch) {
      const std::optional<Record>& row = checker_.row({erasure.scope, erasure.key});
      if (row) erasure.expected = guard_of(*row);
    }
  }
  std::vector<Identity> identities;
  for (const Erasure& erasure : batch) identities.emplace_back(erasure.scope, erasure.key);
  StoreResult<std::vector<bool>> erased = run(truth_.erase(std::move(batch)));
  for (std::size_t i = 0; i < identities.size(); ++i) {
    if ((*erased)[i]) saw_nothing(identities[i]);
  }
  return erased;
}

StoreResult<std::optional<Record>> Server::find(const Scope& scope, const Key& key) {
  return run(truth_.find(scope, key));
}

StoreResult<std::vector<Record>> Server::lapsed(PassQuery query) {
  return run(truth_.lapsed(query));
}

StoreResult<std::vector<Record>> Server::past_retention(PassQuery query) {
  StoreResult<std::vector<Record>> rows = run(truth_.past_retention(query));
  if (mutant(Mutant::dead_letter_reaped)) {
    for (const Record& record : truth_.records()) {
      if (is_dead_letter(record) && record.expires_at <= query.now) rows->push_back(record);
    }
  }
  if (mutant(Mutant::reap_unknown)) {
    const StoreResult<std::vector<Record>> doubted = run(truth_.undetermined(query));
    for (const Record& record : *doubted) {
      if (record.expires_at <= query.now) rows->push_back(record);
    }
  }
  return rows;
}

StoreResult<std::vector<Record>> Server::undetermined(PassQuery query) {
  return run(truth_.undetermined(query));
}

StoreResult<std::vector<Record>> Server::pending(PassQuery query) {
  if (mutant(Mutant::claimed_before_its_time)) query.now += std::chrono::hours(1);
  return run(truth_.pending(query));
}

StoreResult<std::size_t> Server::count_active(const Scope& scope, std::size_t up_to) {
  return run(truth_.count_active(scope, up_to));
}

StoreResult<Done> Server::keep_evidence(LateEvidence evidence) {
  checker_.evidence_kept({evidence.scope, evidence.key}, evidence.fence);
  return run(truth_.keep_evidence(std::move(evidence)));
}

bool Server::complete(const Identity& identity, Fence fence, StoredResponse response,
                      const std::function<void(const Record& held)>& effect) {
  const std::optional<Record> row = checker_.row(identity);
  if (!row || checker_.is_corrupt(identity)) return false;
  const Status status = status_of(*row);
  const bool right_state =
      status == Status::in_progress ||
      (mutant(Mutant::complete_from_any_state) && status == Status::failed_retryable);
  const bool right_fence = row->fence == fence || mutant(Mutant::complete_with_old_fence);
  if (!right_state || !right_fence) return false;  // PW001: the service's transaction rolls back
  Record next = *row;
  next.state = Completed{std::move(response), clock()};
  next.expires_at = std::max(row->expires_at, clock() + row->policy.retention);
  next.last_error.clear();
  effect(*row);
  std::vector<Replacement> batch;
  batch.push_back({std::move(next), guard_of(*row), std::nullopt});
  checker_.excuse_retention(jumped());
  replace(std::move(batch));
  checker_.excuse_retention(false);
  return true;
}

}  // namespace pawl::sim
