// What may happen to a row, seen from outside: before, after, and the honest time.
#include <algorithm>
#include <utility>

#include "src/core/render.hpp"
#include "tests/sim/checker.hpp"
#include "tests/sim/key_exchange.hpp"

namespace pawl::sim {
namespace {

using std::chrono::seconds;

// The store's clock may step by a fraction of a second, and nobody promises better than that.
constexpr Duration clock_slack = seconds(1);
// An expiry is computed before the write travels, from an estimate that is behind the store.
constexpr Duration retention_slack = seconds(20);

// A claim travels, too.
constexpr Duration claim_slack = seconds(15);

std::size_t index_of(const std::optional<Record>& row) {
  return row ? static_cast<std::size_t>(status_of(*row)) : row_states - 1;
}

bool finished(Status status) {
  return status == Status::completed || status == Status::failed_retryable;
}

bool may_follow_under_one_fence(Status from, Status to) {
  switch (from) {
    case Status::in_progress: return to != Status::expired;
    case Status::unknown:
    case Status::pending: return to != Status::in_progress && to != Status::expired;
    case Status::failed_retryable: return to != Status::in_progress;
    case Status::completed: return to == Status::expired;
    case Status::expired: return false;
  }
  return false;
}

}  // namespace

std::string text_of(const Identity& identity) {
  return identity.first.text + "/" + identity.second.text;
}

void Checker::violated(std::string rule, const Identity& identity, std::string detail) {
  if (!violation_) violation_ = {std::move(rule), std::move(detail), text_of(identity)};
}

void Checker::knows(const Fingerprint& fingerprint, Body body) {
  meanings_[fingerprint.text] = body;
}

void Checker::begin_execution(KeyStory& story, const Identity& identity, const Record& record) {
  const auto [execution, fresh] = story.executions.try_emplace(record.fence);
  if (!fresh) {
    violated("a fence is never used twice", identity,
             "fence " + std::to_string(record.fence.number) + " was given out before");
  }
  execution->second.began = ++begun_;
  execution->second.life = static_cast<int>(story.life);
  execution->second.policy = record.policy;
}

void Checker::begin_life(KeyStory& story, const Identity& identity, const Record& record) {
  Life life;
  life.body = meanings_[record.fingerprint.text];
  life.rules = record.policy.fingerprint;
  story.lives.push_back(std::move(life));
  story.life = story.lives.size() - 1;
  begin_execution(story, identity, record);
}

void Checker::row_changed(const Identity& identity, const std::optional<Record>& after,
                          Instant now) {
  KeyStory& story = stories_[identity];
  const std::optional<Record>& before = story.row;
  if (before == after) return;
  ++transitions_[index_of(before)][index_of(after)];
  if (std::exchange(restoring_, false)) {
    begin_execution(story, identity, *after);
    story.executions[after->fence].asked = true;  // by whoever held it, perhaps
  } else if (!before) {
    begin_life(story, identity, *after);
  } else if (!after) {
    check_erasure(identity, *before, now);
  } else if (after->fence < before->fence) {
    violated("a write with an old fence changes nothing", identity,
             "the row's fence was " + std::to_string(before->fence.number) + ", a write with " +
                 std::to_string(after->fence.number) + " replaced it");
  } else if (after->fence == before->fence) {
    check_same_fence(story, identity, *after, now);
  } else {
    check_takeover(story, identity, *after, now);
  }
  if (after) note_claim(story, identity, *after, now);
  story.row = after;
}

// What the row says of its owner, kept for when the row has gone on to another.
void Checker::note_claim(KeyStory& story, const Identity& identity, const Record& after,
                         Instant now) {
  Execution& execution = story.executions[after.fence];
  if (status_of(after) == Status::failed_retryable) execution.released = true;
  const auto* held = std::get_if<InProgress>(&after.state);
  if (held == nullptr) return;
  if (execution.lease_end == Instant{}) execution.owner = after.owner;
  execution.lease_end = std::max(execution.lease_end, held->locked_until);
  const auto step = std::ranges::find(job_steps, after.recovery_point) - job_steps.begin();
  execution.steps = std::max(execution.steps, step);
  if (now + after.policy.lease + clock_slack < held->locked_until) {
    violated("no lease is longer than its policy says", identity,
             std::to_string((held->locked_until - now).count() / 1000) + " ms are left of " +
                 std::to_string(after.policy.lease.count() / 1000));
  }
}

void Checker::check_erasure(const Identity& identity, const Record& before, Instant now) {
  const Status status = status_of(before);
  if (status == Status::in_progress || status == Status::unknown || status == Status::pending) {
    violated("unfinished records are never reaped", identity,
             "a row was deleted while " + std::string(to_text(status)));
  } else if (now + clock_slack < before.expires_at) {
    violated("a finished record is kept for its retention", identity, "deleted before its time");
  } else if (status == Status::failed_retryable && before.policy.mode == Mode::async) {
    violated("what was accepted and never done is not forgotten", identity,
             "a dead letter was deleted");
  }
}

void Checker::check_same_fence(KeyStory& story, const Identity& identity, const Record& after,
                               Instant now) {
  const Record& before = *story.row;
  const Status from = status_of(before);
  const Status to = status_of(after);
  const std::string step = std::string(to_text(from)) + " -> " + std::string(to_text(to));
  if (!may_follow_under_one_fence(from, to)) {
    violated("a record moves only as its states allow", identity, step + " under one fence");
  }
  // By a resolve, which leaves its author's name: the owner itself would know.
  const bool called_off = from == Status::unknown &&
                          (to == Status::failed_retryable || to == Status::pending) &&
                          before.owner != after.owner;
  Execution& execution = story.executions[after.fence];
  if (to != Status::in_progress && after.last_error != "lease-expired") execution.settled = true;
  if (to == Status::unknown) execution.doubted = true;
  if (called_off && execution.effects > 0 && !execution.overdue) {
    violated("what is called not executed did not happen", identity, "money had moved");
  }
  check_grant(story, identity, after);
  // A resolve leaves its author's name, and the execution's owner may still write after it.
  if (before.owner != after.owner && to == Status::in_progress) {
    violated("a new owner brings a new fence", identity, step + " by another owner");
  }
  const auto* held = std::get_if<InProgress>(&before.state);
  const auto* holds = std::get_if<InProgress>(&after.state);
  if (held != nullptr && holds != nullptr && holds->locked_until < held->locked_until) {
    violated("a lease never gets shorter", identity, "a renewal shortened it");
  }
  if (held != nullptr && holds == nullptr && after.last_error == "lease-expired") {
    if (now + clock_slack < held->locked_until) {
      violated("a living lease is left alone", identity, step + ", though the lease was alive");
    }
    const bool may_run_again = to == Status::failed_retryable || to == Status::pending;
    if (may_run_again && before.policy.on_lease_expiry == OnLeaseExpiry::retry) {
      story.executions[before.fence].forgiven = !before.policy.transactional;
    }
  }
  const bool open = from == Status::in_progress || from == Status::unknown;
  const bool gives_up = open && to == Status::failed_retryable;
  if (gives_up && before.policy.mode == Mode::async &&
      before.attempt < before.policy.max_attempts) {
    violated("what was accepted and not executed is tried again", identity,
             step + " with attempts left");
  }
  // Whoever was told "accepted" waits for a worker: only somebody's answer may send them away.
  if (from == Status::pending && to == Status::failed_retryable &&
      !story.executions[before.fence].sent) {
    violated("what was accepted and never sent is tried again", identity, step);
  }
  if (to == Status::expired && now + clock_slack < before.expires_at) {
    violated("a finished record is kept for its retention", identity,
             "a tombstone before its time");
  }
  if (to == Status::completed) completed(story, identity, after, now);
}

void Checker::check_takeover(KeyStory& story, const Identity& identity, const Record& after,
                             Instant now) {
  const Record& before = *story.row;
  const Status from = status_of(before);
  const bool over = finished(from) && before.expires_at <= now + clock_slack;
  // An attempt that lost its own claim before it sent anything may take the key again; and a call
  // of the key API that hung until its key had been forgotten is one for a new key.
  const bool new_life = over && after.attempt == 1;
  const bool forgotten = new_life && is_of_key_api(identity);
  if (before.owner == after.owner && story.executions[before.fence].asked && !forgotten) {
    violated("a new fence brings a new owner", identity, "the old owner's token was kept");
  }
  if (from == Status::unknown || from == Status::expired || (from == Status::completed && !over)) {
    violated("only what may run again is taken over", identity,
             "a record that was " + std::string(to_text(from)) + " was taken over");
  }
  const auto* waits = std::get_if<Pending>(&before.state);
  if (waits != nullptr && after.policy.mode == Mode::async &&
      status_of(after) == Status::in_progress && now + clock_slack < waits->not_before) {
    violated("nothing is tried again before the upstream said", identity, "claimed too early");
  }
  const Instant asked = write_asked_.value_or(now);
  if (from == Status::pending && before.expires_at + claim_slack < asked) {
    violated("what has expired is not begun", identity, "claimed after its time");
  }
  if (const auto* held = std::get_if<InProgress>(&before.state)) {
    if (now + clock_slack < held->locked_until) {
      violated("a living lease is left alone", identity, "taken over while the lease was alive");
    }
    const OnLeaseExpiry rule = before.policy.on_lease_expiry;
    const bool may_act_again =
        rule == OnLeaseExpiry::retry || (rule == OnLeaseExpiry::resume && !paid(before));
    if (may_act_again && !before.policy.transactional) {
      story.executions[before.fence].forgiven = true;
    }
  }
  // A key that was kept for its time begins anew; anything else is the same payment, tried again.
  if (new_life) {
    begin_life(story, identity, after);
  } else {
    check_grant_taken_over(story, identity, after);
    begin_execution(story, identity, after);
  }
}

void Checker::completed(KeyStory& story, const Identity& identity, const Record& after,
                        Instant now) {
  const StoredResponse& response = std::get<Completed>(after.state).response;
  story.lives[story.life].completed = response;
  story.lives[story.life].expires_at = after.expires_at;
  const Instant known = write_asked_.value_or(now);
  if (!retention_excused_ && after.expires_at + retention_slack < known + after.policy.retention) {
    violated("an outcome is kept for a whole retention from when it is known", identity,
             "completed at a moment from which only " +
                 std::to_string((after.expires_at - now).count() / 1'000'000) + " s are left of " +
                 std::to_string(after.policy.retention.count() / 1'000'000) + " s");
  }
  const Instant latest = std::max(story.row->expires_at, now + after.policy.retention);
  if (!retention_excused_ && latest + retention_slack < after.expires_at) {
    violated("an outcome is kept for no longer than its policy says", identity,
             "for another " + std::to_string((after.expires_at - now).count() / 1'000'000) +
                 " s, by a policy of " +
                 std::to_string(after.policy.retention.count() / 1'000'000) + " s");
  }
  const auto given = response.body ? answers_.find(*response.body) : answers_.end();
  if (response.status == 408 && given != answers_.end()) {
    violated("an answer to no request is not stored", identity, "a 408 of the connection");
  }
  if (response.status == 408) {  // ours: abandoned before anybody claimed it
    const int life = static_cast<int>(story.life);
    for (const auto& [fence, execution] : story.executions) {
      if (execution.life == life && execution.sent) {
        violated("abandoned is said only of what was never sent", identity,
                 "fence " + std::to_string(fence.number) + " had been sent");
      }
    }
    return;
  }
  if (given == answers_.end() || given->second.identity != identity) {
    violated("only a complete answer to this very key is stored", identity,
             "stored: " + response.body.value_or("(no body)"));
    return;
  }
  story.lives[story.life].completed_under = after.fence;
  story.lives[story.life].answer_of = given->second.fence;
  check_refusal(story, identity, after.fence);
}

// Stored for an attempt that paid, another one's refusal would have the client pay again.
void Checker::check_refusal(KeyStory& story, const Identity& identity, Fence fence) {
  const Execution& execution = story.executions[fence];
  const Life& life = story.lives[static_cast<std::size_t>(execution.life)];
  const bool refused = life.completed && life.completed->status == 402;
  if (!refused || life.completed_under != fence || life.answer_of == fence) return;
  if (execution.effects > 0 && !execution.overdue) {
    violated("the refusal of one attempt is not the answer of another that acted", identity,
             "fence " + std::to_string(fence.number) + " acted, stored is what fence " +
                 std::to_string(life.answer_of.number) + " was told");
  }
}

void Checker::purged(const Identity& identity, std::int64_t epoch) {
  KeyStory& story = stories_[identity];
  ++transitions_[index_of(story.row)][index_of(std::nullopt)];
  story.lives[story.life].purged = epoch;
  story.row.reset();
}

void Checker::restored(const std::vector<Record>& rows) {
  for (auto& [identity, story] : stories_) {
    // Owners outside go on under what they were granted: nothing can be held against them.
    for (auto& [fence, execution] : story.executions) execution.overdue = true;
    const auto row = std::ranges::find_if(rows, [&](const Record& each) {
      return each.scope == identity.first && each.key == identity.second;
    });
    const bool known = row != rows.end();
    const auto life = known ? static_cast<std::size_t>(story.executions[row->fence].life) : 0;
    const bool same_life = known && life == story.life;
    if (story.row && !same_life) story.lives[story.life].lost = true;
    story.row = known ? std::optional(*row) : std::nullopt;
    if (known) story.life = life;
    if (known && !story.lives.empty()) story.lives[life].purged.reset();  // there it is again
    // Its answer was given after the backup was made: nobody has it any more. Of a life that had
    // ended since, it was given and kept for its time: the next one had the right to begin.
    const bool answered =
        known && (status_of(*row) == Status::completed || status_of(*row) == Status::expired);
    if (same_life && !answered && !story.lives.empty()) {
      story.lives[life].completed.reset();
    }
  }
}

void Checker::evidence_kept(const Identity& identity, Fence fence) {
  // Under any number, where anybody may hand it in: it makes no execution.
  const auto execution = stories_[identity].executions.find(fence);
  if (execution != stories_[identity].executions.end()) execution->second.evidence = true;
}

bool Checker::is_about(const Identity& identity, int life, Fence fence) const {
  const auto story = stories_.find(identity);
  if (story == stories_.end()) return false;
  const auto execution = story->second.executions.find(fence);
  const bool own = execution != story->second.executions.end() && execution->second.life == life;
  return own || story->second.lives[static_cast<std::size_t>(life)].lost;
}

const std::optional<Record>& Checker::row(const Identity& identity) {
  return stories_[identity].row;
}

std::vector<Identity> Checker::keys() const {
  std::vector<Identity> all;
  for (const auto& [identity, story] : stories_) all.push_back(identity);
  return all;
}

}  // namespace pawl::sim
