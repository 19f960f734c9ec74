// Whether money moved once, whether clients were told the truth, and whether anything is left over.
#include "tests/sim/checker.hpp"

namespace pawl::sim {
namespace {

// The store's clock may step by a fraction of a second, and nobody promises better than that.
constexpr Duration clock_slack = std::chrono::seconds(1);
// The store's clock is stepped by less, and nodes follow it.
constexpr Duration memory_slack = std::chrono::seconds(5);

// The stored answer, and what Pawl says beside it.
bool is_answer(const Response& told, const StoredResponse& stored) {
  const bool has_all = std::ranges::all_of(stored.headers, [&](const Header& header) {
    return std::ranges::find(told.headers, header) != told.headers.end();
  });
  return told.status == stored.status && told.body == stored.body.value_or("") && has_all;
}

}  // namespace

std::string_view name_of(Said said) {
  switch (said) {
    case Said::final_answer: return "final answer";
    case Said::passing: return "passing answer";
    case Said::in_flight: return "in flight";
    case Said::misuse: return "key reused";
    case Said::unknown: return "outcome unknown";
    case Said::gone: return "key expired";
    case Said::restored: return "store restored";
    case Said::unavailable: return "store unavailable";
    case Said::trouble: return "upstream trouble";
  }
  return "?";
}

bool Checker::same_meaning(const Life& life, Body body) {
  return life.body.amount == body.amount &&
         (life.body.nonce == body.nonce || !life.rules.exclude.empty());
}

void Checker::asked_to_send(const Identity& identity, Fence fence) {
  KeyStory& story = stories_[identity];
  const auto execution = story.executions.find(fence);
  if (execution != story.executions.end()) {
    execution->second.asked = true;
    return;
  }
  violated("nothing is sent without a reservation", identity,
           "no row ever had fence " + std::to_string(fence.number));
}

bool Checker::asked(const Identity& identity, Fence fence) {
  return stories_[identity].executions[fence].asked;
}

int Checker::life_of(const Identity& identity, Fence fence) {
  return stories_[identity].executions[fence].life;
}

void Checker::first_byte(const Identity& identity, Fence fence, Body body, Instant now) {
  KeyStory& story = stories_[identity];
  Execution& execution = story.executions[fence];
  execution.sent = true;
  if (execution.overdue) return;
  const auto* held = story.row ? std::get_if<InProgress>(&story.row->state) : nullptr;
  if (held == nullptr || story.row->fence != fence) {
    violated("the first byte leaves under a living lease", identity,
             "the record was not in progress under fence " + std::to_string(fence.number));
  } else if (held->locked_until + clock_slack < now) {
    violated(
        "the first byte leaves under a living lease", identity,
        "the lease was over for " + std::to_string((now - held->locked_until).count()) + " us");
  }
  const Life& life = story.lives[static_cast<std::size_t>(execution.life)];
  if (!same_meaning(life, body)) {
    violated("a request with another fingerprint never executes", identity,
             "reserved for amount " + std::to_string(life.body.amount) + ", sent amount " +
                 std::to_string(body.amount));
  }
}

void Checker::forgive(const Identity& identity, Fence fence) {
  stories_[identity].executions[fence].forgiven = true;
}

void Checker::answer_given(const Identity& identity, Fence fence, const Response& response,
                           Body body) {
  answers_[response.body] = {identity, body, fence};
}

void Checker::effect(const Identity& identity, Fence fence) {
  KeyStory& story = stories_[identity];
  ++effects_;
  Execution& execution = story.executions[fence];
  if (++execution.effects > 1) {
    violated("an execution acts once", identity,
             "fence " + std::to_string(fence.number) + " acted twice");
  }
  const bool holds =
      story.row && story.row->fence == fence && status_of(*story.row) == Status::in_progress;
  if (execution.policy.transactional && !holds) {
    violated("a service that lost its fence commits nothing", identity,
             "fence " + std::to_string(fence.number) + " committed without holding the record");
  }
  check_effects(story, identity);
  check_refusal(story, identity, fence);
}

// Two executions that both acted: the earlier one must have been given up in the one way that a
// policy accepts (design section 13). A key that was answered and then kept for its whole retention
// is a new key; one that merely failed is not.
void Checker::check_effects(KeyStory& story, const Identity& identity) {
  // In the order in which they began: a reservation that arrives when its key has been forgotten
  // begins a life under a fence of before.
  std::map<std::uint64_t, std::pair<Fence, const Execution*>> acted;
  for (const auto& [fence, execution] : story.executions) {
    if (execution.effects > 0) acted[execution.began] = {fence, &execution};
  }
  const Execution* earlier = nullptr;
  Fence earlier_fence;
  for (const auto& [began, each] : acted) {
    const Fence fence = each.first;
    const Execution& execution = *each.second;
    if (earlier != nullptr && !earlier->forgiven) {
      const Life& life = story.lives[static_cast<std::size_t>(earlier->life)];
      const bool was_answered = life.completed.has_value() && !life.lost;
      if (earlier->life == execution.life || !was_answered) {
        violated("at most one effect per key", identity,
                 "fences " + std::to_string(earlier_fence.number) + " and " +
                     std::to_string(fence.number) + " both acted");
      }
    }
    earlier = &execution;
    earlier_fence = fence;
  }
}

void Checker::told(const Identity& identity, Body body, const Answer& answer) {
  KeyStory& story = stories_[identity];
  const auto execution = story.executions.find(answer.fence);
  const Life* life = execution == story.executions.end()
                         ? nullptr
                         : &story.lives[static_cast<std::size_t>(execution->second.life)];
  if (answer.said == Said::misuse && life != nullptr && same_meaning(*life, body)) {
    violated("an honest retry is never misuse", identity, "same body, and told that it differs");
  }
  if (answer.said == Said::in_flight && answer.lease_over) {
    violated("in flight means that the lease is alive", identity, "its lease was over");
  }
  if (!answer.response) return;
  const std::string& text = answer.response->body;
  const auto given = answers_.find(text);
  if (given != answers_.end() && given->second.identity != identity) {
    violated("no answer crosses scopes or keys", identity,
             "got the answer of " + text_of(given->second.identity));
  }
  if (answer.said != Said::final_answer) return;
  const bool forgotten = answer.memory_epoch && life != nullptr && life->purged;
  if (forgotten && *life->purged <= *answer.memory_epoch) {
    violated("what was purged is not replayed by a node that has heard of it", identity,
             "told " + text);
  }
  const bool outlived = answer.memory_time && life != nullptr && life->completed &&
                        life->expires_at + memory_slack < *answer.memory_time;
  if (outlived) {
    violated("an answer in memory does not outlive its record", identity, "told " + text);
  }
  if (life == nullptr || !life->completed) {
    violated("durable before answered", identity, "told " + text + ", which nothing has stored");
  } else if (!is_answer(*answer.response, *life->completed)) {
    violated("an acknowledged answer is replayed byte for byte", identity,
             "told " + text + ", stored " + life->completed->body.value_or("(no body)"));
  } else if (!same_meaning(*life, body)) {
    violated("a request with another fingerprint gets no answer", identity, "told " + text);
  }
}

Fence Checker::fence_of(const Identity& identity, const std::string& request_id) const {
  const auto story = stories_.find(identity);
  if (story == stories_.end()) return {};
  Record record;
  record.scope = identity.first;
  record.key = identity.second;
  for (const auto& [fence, execution] : story->second.executions) {
    record.fence = fence;
    if (pawl::request_id(record) == request_id) return fence;
  }
  return {};
}

void Checker::superseded(const Identity& identity, Fence fence, const Outcome& outcome) {
  if (evidence_of(outcome) == Evidence::not_sent) return;
  const auto& executions = stories_[identity].executions;
  const auto execution = executions.find(fence);
  if (execution == executions.end()) return;  // a made-up fence
  if (!execution->second.evidence) {
    violated("a late outcome is kept as evidence", identity,
             "fence " + std::to_string(fence.number) + " had moved on and nothing was kept");
  }
}

// Nobody could get it again: it is in the record, or beside it.
void Checker::call_ended(const Identity& identity, Fence fence, const Outcome& outcome) {
  const auto& executions = stories_[identity].executions;
  const auto execution = executions.find(fence);
  const auto* answer = std::get_if<Answered>(&outcome);
  const int status = answer == nullptr ? 0 : answer->response.status;
  const bool certain =
      evidence_of(outcome) != Evidence::not_sent && status < 500 && status != 408 && status != 429;
  if (execution == executions.end() || !certain || is_corrupt(identity)) return;
  const Execution& call = execution->second;
  // No answer leaves what it was: in doubt, or free by its policy.
  const bool left = call.doubted || call.forgiven || call.released || call.policy.transactional;
  const bool known = call.settled || call.evidence || (answer == nullptr && left);
  if (!known && !call.overdue) {
    violated("a late outcome is kept as evidence", identity,
             "what fence " + std::to_string(fence.number) + " was told is nowhere");
  }
}

void Checker::reservation_leaked(const Identity& identity, const Record& record) {
  violated("a reservation whose acknowledgement was lost is released", identity,
           "fence " + std::to_string(record.fence.number) + " is still " +
               std::string(to_text(status_of(record))) + ", its node alive and nothing sent");
}

void Checker::promised(const std::string& message, const Identity& identity) {
  if (!messages_.emplace(message, 0).second) {
    violated("a life of a key promises once", identity, message);
  }
}

void Checker::delivered(const std::string& message, const Identity& identity) {
  if (++messages_[message] > 1) violated("a message has its effect once", identity, message);
}

void Checker::message_ended(const std::string& message, const Identity& identity,
                            std::string_view how) {
  const int times = messages_[message];
  if (how.empty()) {
    violated("no message is lost", identity, message + " was swallowed");
  } else if (how == "done" && times == 0) {
    violated("no message is lost", identity, message + " is called done, and never arrived");
  } else if (how != "done" && how != "dead") {
    violated("nothing is stuck", identity, message + " is left " + std::string(how));
  }
}

void Checker::end(Instant now) {
  for (const auto& [identity, story] : stories_) {
    if (is_corrupt(identity)) continue;
    const bool waits = story.row && waits_for_its_client(*story.row, now);
    if (story.row && !waits) {
      const Status status = status_of(*story.row);
      if (status == Status::in_progress || status == Status::unknown || status == Status::pending) {
        violated("nothing is stuck", identity, "left " + std::string(to_text(status)));
      }
    }
    for (const auto& [fence, execution] : story.executions) {
      if (execution.effects == 0 || execution.forgiven || execution.evidence) continue;
      const bool may_be_resumed = waits && execution.life == static_cast<int>(story.life);
      if (story.lives[static_cast<std::size_t>(execution.life)].lost) continue;
      if (!may_be_resumed && !story.lives[static_cast<std::size_t>(execution.life)].completed) {
        violated("the ledger equals what was acknowledged", identity,
                 "fence " + std::to_string(fence.number) + " acted, and no record says so");
      }
    }
    for (std::size_t number = 0; number < story.lives.size(); ++number) {
      const std::optional<StoredResponse>& completed = story.lives[number].completed;
      if (!completed || completed->status >= 300) continue;
      bool acted = false;
      for (const auto& [fence, execution] : story.executions) {
        const bool lost = story.lives[static_cast<std::size_t>(execution.life)].lost;
        acted |= (execution.life == static_cast<int>(number) || lost) && execution.effects > 0;
      }
      if (!acted) violated("the ledger equals what was acknowledged", identity, "nothing acted");
    }
  }
}

}  // namespace pawl::sim
