// What the key API promises to owners outside of the process (docs/key-api.md).
#include <algorithm>

#include "tests/sim/checker.hpp"
#include "tests/sim/key_exchange.hpp"

namespace pawl::sim {
namespace {

// The store's clock may step by a fraction of a second, and nobody promises better than that.
constexpr Duration clock_slack = std::chrono::seconds(1);

// The sweeper comes every two seconds, to a world without faults.
constexpr Duration sweep_slack = std::chrono::seconds(10);

std::ptrdiff_t step_of(std::string_view recovery_point) {
  return std::ranges::find(job_steps, recovery_point) - job_steps.begin();
}

std::string text_of(Fence fence) { return "fence " + std::to_string(fence.number); }

}  // namespace

// Under one fence.
void Checker::check_grant(KeyStory& story, const Identity& identity, const Record& after) {
  if (!is_of_key_api(identity)) return;
  const Record& before = *story.row;
  const auto* held = std::get_if<InProgress>(&before.state);
  const auto* holds = std::get_if<InProgress>(&after.state);
  if (held != nullptr && holds != nullptr && held->locked_at != holds->locked_at) {
    violated("to ask again is not to begin again", identity,
             "a reserve gave the owner of " + text_of(after.fence) + " another lease");
  }
  // A resolve leaves its author's name, also where it disproves an earlier finding.
  const bool resolved = held == nullptr && status_of(after) == Status::completed;
  if (before.owner != after.owner && !resolved) {
    violated("a write needs the owner's token", identity,
             "written by " + after.owner.text + ", held by " + before.owner.text);
  }
  if (step_of(after.recovery_point) < step_of(before.recovery_point)) {
    violated("a recovery point never goes back", identity,
             "from \"" + before.recovery_point + "\" to \"" + after.recovery_point + "\"");
  }
  const auto* done = std::get_if<Completed>(&after.state);
  if (done == nullptr || before.owner != after.owner || paid(before)) return;
  const auto given = answers_.find(done->response.body.value_or(""));
  if (given != answers_.end() && given->second.fence != after.fence) {
    violated(
        "a write with an old fence changes nothing", identity,
        text_of(after.fence) + " was completed with the answer of " + text_of(given->second.fence));
  }
}

bool Checker::paid(const Record& record) { return record.recovery_point == job_steps.back(); }

// A job that is to be resumed, and that only its client can resume: it is waited for as long as an
// answer would be kept.
bool Checker::waits_for_its_client(const Record& record, Instant now) {
  const auto* held = std::get_if<InProgress>(&record.state);
  return held != nullptr && !record.request &&
         record.policy.on_lease_expiry == OnLeaseExpiry::resume &&
         now < held->locked_until + record.policy.retention + sweep_slack;
}

void Checker::check_grant_taken_over(KeyStory& story, const Identity& identity,
                                     const Record& after) {
  if (!is_of_key_api(identity)) return;
  const Record& before = *story.row;
  if (before.owner == after.owner) {
    violated(
        "a token is for one attempt", identity,
        after.owner.text + " had " + text_of(before.fence) + " and got " + text_of(after.fence));
  }
  if (before.recovery_point != after.recovery_point) {
    violated("a recovery point never goes back", identity,
             "the next owner was given \"" + after.recovery_point + "\", not \"" +
                 before.recovery_point + "\"");
  }
}

const Checker::Execution* Checker::execution_of(const Held& held, std::string_view what) {
  const KeyStory& story = stories_[held.identity];
  const auto found = story.executions.find(held.fence);
  if (found != story.executions.end() && found->second.owner == held.owner) return &found->second;
  violated("only the owner's token and fence together are worth something", held.identity,
           held.owner.text + " was " + std::string(what) + " under " + text_of(held.fence) +
               (found == story.executions.end() ? ", which nobody ever had"
                                                : ", which is " + found->second.owner.text + "'s"));
  return nullptr;
}

void Checker::granted(const Held& held, Body body) {
  const Execution* execution = execution_of(held, "granted the key");
  if (execution == nullptr) return;
  const KeyStory& story = stories_[held.identity];
  if (!same_meaning(story.lives[static_cast<std::size_t>(execution->life)], body)) {
    violated("a request with another fingerprint is granted nothing", held.identity,
             held.owner.text + " was granted the key for another body");
  }
}

void Checker::called_spent(const Identity& identity, const Owner& owner) {
  const KeyStory& story = stories_[identity];
  const bool had_it = std::ranges::any_of(
      story.executions, [&](const auto& entry) { return entry.second.owner == owner; });
  if (!had_it) {
    violated("only a token that had its attempt is spent", identity,
             owner.text + " never had the key");
  }
}

void Checker::told_lease(const Identity& identity, Fence fence, Duration left, Instant now) {
  if (left <= Duration{0}) return;  // nobody counts on it
  const KeyStory& story = stories_[identity];
  const auto execution = story.executions.find(fence);
  if (execution == story.executions.end()) return;  // said elsewhere
  const Instant until = now + left;
  if (execution->second.lease_end + clock_slack < until) {
    const auto more =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - execution->second.lease_end);
    violated("no owner is told of more time than its lease has", identity,
             text_of(fence) + " was told of " + std::to_string(more.count()) + " ms too many");
  }
}

void Checker::renewed_by(const Held& held, const Record& record) {
  const Execution* execution = execution_of(held, "told that it renewed its lease");
  if (execution == nullptr) return;
  const auto* lease = std::get_if<InProgress>(&record.state);
  if (lease == nullptr || record.fence != held.fence ||
      execution->lease_end < lease->locked_until) {
    violated("what an owner is told is written is written", held.identity,
             text_of(held.fence) + " has no such lease");
  }
}

void Checker::completed_by(const Held& held, const StoredResponse& response) {
  const Execution* execution = execution_of(held, "told that it completed the key");
  if (execution == nullptr) return;
  const KeyStory& story = stories_[held.identity];
  if (story.lives[static_cast<std::size_t>(execution->life)].completed != response) {
    violated("what an owner is told is written is written", held.identity,
             "completed under " + text_of(held.fence) + ", and another answer is stored, or none");
  }
}

void Checker::released_by(const Held& held) {
  const Execution* execution = execution_of(held, "told that it released the key");
  if (execution != nullptr && !execution->released) {
    violated("what an owner is told is written is written", held.identity,
             text_of(held.fence) + " was never released");
  }
}

void Checker::advanced_by(const Held& held, const std::string& recovery_point) {
  const Execution* execution = execution_of(held, "told that it took a step");
  if (execution != nullptr && execution->steps < step_of(recovery_point)) {
    violated("what an owner is told is written is written", held.identity,
             text_of(held.fence) + " never came to \"" + recovery_point + "\"");
  }
}

// A consumer that acts without a look at its lease breaks its side of the contract where the lease
// is over: what it does then is on its own head, and only its writes are judged.
void Checker::acts_unchecked(const Identity& identity, Fence fence, Instant now) {
  KeyStory& story = stories_[identity];
  const auto* held = story.row ? std::get_if<InProgress>(&story.row->state) : nullptr;
  const bool alive =
      held != nullptr && story.row->fence == fence && now <= held->locked_until + clock_slack;
  if (alive) return;
  Execution& execution = story.executions[fence];
  execution.overdue = true;
  execution.forgiven = true;
}

}  // namespace pawl::sim
