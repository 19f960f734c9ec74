#include "tests/sim/mutants.hpp"

#include <algorithm>
#include <array>
#include <ostream>

namespace pawl::sim {
namespace {

constexpr std::size_t mutants = static_cast<std::size_t>(Mutant::count);

struct Entry {
  Mutant mutant;
  std::string_view name;
  std::string_view bug;
};

#define ENTRY(name, bug) \
  Entry { Mutant::name, #name, bug }

constexpr std::array<Entry, mutants - 1> entries{{
    ENTRY(lease_alive_at_its_end, "`<=` where the lease is compared with the time"),
    ENTRY(lapsed_lease_runs_again, "a lapsed lease is taken over whatever the policy"),
    ENTRY(lapsed_lease_by_todays_policy,
          "a lapsed lease is read by today's policy, not the attempt's"),
    ENTRY(unknown_raises_fence,
          "becoming unknown raises the fence: the owner's late answer is lost"),
    ENTRY(unknown_runs_again, "an unknown outcome is retried"),
    ENTRY(takeover_keeps_fence, "a new owner under the old fence"),
    ENTRY(takeover_forgets_owner, "a new fence under the old owner's token"),
    ENTRY(takeover_forgets_rules,
          "a takeover stores today's fingerprint rules beside the old hash"),
    ENTRY(fingerprint_not_compared, "another body under the same key is taken for a retry"),
    ENTRY(first_fence_is_constant, "every life of a key starts with fence 1"),
    ENTRY(clock_jump_ignored, "a clock that jumped is trusted"),
    ENTRY(lease_end_is_optimistic,
          "an owner reckons its lease by the store's time at least, not at most"),
    ENTRY(tombstone_runs_again, "a tombstone is taken for a free key"),
    ENTRY(claim_keeps_fence, "a worker claims under the old fence"),
    ENTRY(lost_may_run_again, "no answer is taken for not executed"),
    ENTRY(gateway_error_may_run_again, "502 and 504 are taken for not executed"),
    ENTRY(held_error_may_run_again, "a 5xx is released although the policy holds it"),
    ENTRY(unasked_408_is_an_answer, "a 408 without a request is stored as the answer"),
    ENTRY(sweep_frees_unknown, "the sweeper frees lapsed leases under policy `unknown`"),
    ENTRY(abandoned_after_sending, "a pending request is called abandoned although a try was sent"),
    ENTRY(retention_from_creation, "a late outcome is kept from the creation on"),
    ENTRY(resolved_too_early, "`not executed` is accepted while the owner may still be sending"),
    ENTRY(refused_work_dropped, "accepted work is given up after one refusal"),
    ENTRY(resolved_work_dropped, "accepted work that is resolved as not executed is given up"),
    ENTRY(dead_letter_reaped, "accepted work out of attempts is deleted after its retention"),
    ENTRY(claimed_before_its_time, "a worker does not wait for Retry-After"),
    ENTRY(resumed_job_begun_again, "a job at a recovery point is begun again by the next owner"),
    ENTRY(restored_record_runs_again,
          "what had failed when a backup was made may run again after a restore"),
    ENTRY(restored_life_is_new, "after a restore a key whose last known life is over is new"),
    ENTRY(fence_not_checked, "writes are not guarded by the fence"),
    ENTRY(status_not_checked, "writes are not guarded by the state"),
    ENTRY(lease_not_checked, "writes are not guarded by the lease: a renewed one is swept"),
    ENTRY(in_doubt_is_granted, "a reservation in doubt is used"),
    ENTRY(attempt_dated_once,
          "an insert in doubt is repeated with the date and fence of before a pause"),
    ENTRY(reserved_by_wrong_clock, "keys are reserved while the store's clock is not trusted"),
    ENTRY(orphan_forgotten, "a reservation in doubt is never looked up again"),
    ENTRY(orphan_of_anybody, "the look-up releases the key's later owner"),
    ENTRY(orphan_given_up,
          "the look-up ends when it finds another owner: a takeover still arrives"),
    ENTRY(orphan_forgotten_with_its_lease,
          "a reservation in doubt is looked for no longer than its lease"),
    ENTRY(orphan_swept, "a reservation in doubt that arrives late is swept like any other"),
    ENTRY(restored_key_is_new, "after a restore a key that the store has forgotten is new"),
    ENTRY(lease_not_checked_before_sending, "the lease is not checked before the first byte"),
    ENTRY(renewal_in_doubt_counts, "a renewal in doubt counts as a longer lease"),
    ENTRY(lost_renewal_counts, "a renewal that found another owner counts as a longer lease"),
    ENTRY(settle_in_doubt_is_done, "a settlement in doubt is answered as done"),
    ENTRY(answer_before_durable, "the answer leaves although nothing could be written"),
    ENTRY(superseded_answer_is_told,
          "an owner that lost its fence tells its client its own answer"),
    ENTRY(late_answer_overwrites, "a late answer replaces a completed one"),
    ENTRY(settled_by_wrong_clock, "an outcome is dated by a clock that is not trusted"),
    ENTRY(evidence_dropped, "the outcome of a superseded owner is not kept"),
    ENTRY(reaped_by_old_clock, "the reaper dates what it writes by when it asked"),
    ENTRY(stale_finding_accepted, "`not executed` is judged by the time it is written, not seen"),
    ENTRY(finding_about_another, "a finding about an earlier execution resolves the present one"),
    ENTRY(lost_claim_counts, "a worker that lost the race for a request sends it too"),
    ENTRY(claim_in_doubt_counts, "a worker sends under a claim that was not confirmed"),
    ENTRY(event_of_earlier_attempt, "an event about an earlier attempt settles a later one"),
    ENTRY(event_of_another_life, "an event about an earlier life of the key settles this one"),
    ENTRY(contradiction_ignored, "an event that says otherwise than what is stored is ignored"),
    ENTRY(visibility_ignored, "a source's `never seen` counts before it could have seen it"),
    ENTRY(outbox_key_without_life, "the outbox's derived key is the same in every life of a key"),
    ENTRY(outbox_repeated_without_dedupe,
          "a message whose outcome is unknown is sent again to a destination that does not dedupe"),
    ENTRY(outbox_repeated_past_window,
          "a message whose outcome is unknown is sent again past its dedupe_window"),
    ENTRY(outbox_doubt_forgotten, "a message that got no answer is taken for not sent"),
    ENTRY(free_on_hang_up, "a client that hangs up frees its key"),
    ENTRY(cache_across_scopes, "the replay cache is asked by key alone"),
    ENTRY(purge_not_heard, "a node that hears of a purge goes on replaying from memory"),
    ENTRY(unreadable_rows_fill_pages, "rows that cannot be read fill a worker's page for ever"),
    ENTRY(memory_not_compared,
          "another body under a key whose answer is in memory gets that answer"),
    ENTRY(memory_outlives_record, "an answer is replayed from memory after its record has expired"),
    ENTRY(answer_of_another_life,
          "an answer in memory outlasts the next one of its key, and is told as that one"),
    ENTRY(waiter_frees_key, "a waiter whose time is up takes the first for dead and frees the key"),
    ENTRY(landing_forgotten, "who waited for the first is never woken"),
    ENTRY(reap_unknown, "unknown outcomes are reaped past retention"),
    ENTRY(reap_without_condition, "the reaper deletes what was taken over meanwhile"),
    ENTRY(expired_pending_claimed, "a worker claims what has already expired"),
    ENTRY(half_is_an_answer, "half a response is stored as the answer"),
    ENTRY(resend_after_reset, "the proxy sends again after a reset"),
    ENTRY(complete_from_any_state, "pawl.complete also works from failed_retryable"),
    ENTRY(complete_with_old_fence, "pawl.complete does not compare the fence"),
    ENTRY(grant_to_another_token, "a key that is held is granted to another token too"),
    ENTRY(grant_repeated_with_new_fence, "a repeated reserve raises the fence"),
    ENTRY(grant_repeated_past_its_lease, "a repeated reserve brings a lease that is over back"),
    ENTRY(spent_token_granted, "a late reserve takes the key for an owner that let go of it"),
    ENTRY(unconfirmed_grant_released,
          "a node in doubt releases what another node has granted the same token"),
    ENTRY(grant_without_token, "the fence alone is enough to write"),
    ENTRY(grant_without_fence, "the token alone is enough to write"),
    ENTRY(stale_grant_settles, "an owner of before settles what another has taken over"),
    ENTRY(lost_grant_renewed, "to renew what is no longer one's own is said to be done"),
    ENTRY(late_step_taken, "a step that comes late puts an older recovery point back"),
    ENTRY(grant_renewed_by_wrong_clock,
          "an owner outside gets a lease by a clock that jumped while its record was looked up"),
    ENTRY(grant_settled_by_wrong_clock,
          "an answer of an owner outside is dated by a clock that jumped meanwhile"),
    ENTRY(lease_told_by_wrong_clock, "what is left of a lease is told by a clock that jumped"),
    ENTRY(lease_told_in_full, "a repeated reserve is told of the whole lease, not of its rest"),
    ENTRY(refused_answer_dropped, "an answer under an old fence is refused and not kept"),
    ENTRY(refused_write_is_done, "a write of an owner outside is refused and told as done"),
    ENTRY(meaning_not_compared, "a reserve that means something else is taken for a repeated one"),
    ENTRY(silence_is_absence,
          "a source that could not answer is taken for one that has never seen it"),
    ENTRY(still_is_absence, "a source that cannot say yet is taken for one that has never seen it"),
    ENTRY(another_sources_absence_counts,
          "what another source has never seen is taken for not executed"),
    ENTRY(another_sources_decline_counts,
          "what another source has declined is taken for the answer"),
    ENTRY(foreign_event_applied,
          "an event of a source that may not speak for the record settles it"),
    ENTRY(given_up_mark_forgotten, "a dead letter is not marked as one: no operator sees it"),
    ENTRY(contradiction_not_told,
          "an event that says otherwise than what is stored is noted, and raises no alert"),
    ENTRY(absence_counts_at_once, "`never seen` is believed at once, whenever it was asked for"),
    ENTRY(message_sent_without_intent,
          "a message is sent before it is stored that it may have been"),
    ENTRY(message_intent_in_doubt_counts,
          "a message is sent although it is not known whether its intent was stored"),
    ENTRY(message_of_lost_owner_sent,
          "a worker that has lost its row sends the message all the same"),
    ENTRY(message_silence_is_absence,
          "a destination that could not answer is taken for one that has never seen the message"),
    ENTRY(async_outcome_dropped,
          "the answer to accepted work is dropped while the store is unavailable"),
    ENTRY(orphans_never_looked_for, "reservations in doubt are never looked up"),
    ENTRY(lapsed_never_swept, "leases of owners that are gone are left as they are"),
}};
#undef ENTRY

constexpr bool complete() {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (static_cast<std::size_t>(entries[i].mutant) != i + 1) return false;
  }
  return true;
}
static_assert(complete(), "every mutant has its line, in the order of the enumeration");

// Seeds that found a shy bug before. They are tried first, which makes minutes of a quarter of an
// hour; whenever the world changes they may find nothing any more, and the search starts over.
struct Shy {
  Mutant mutant;
  std::uint64_t seed;
};
constexpr std::array shy{Shy{Mutant::lease_alive_at_its_end, 729},
                         Shy{Mutant::lapsed_lease_runs_again, 79},
                         Shy{Mutant::lapsed_lease_by_todays_policy, 2737},
                         Shy{Mutant::unknown_raises_fence, 48},
                         Shy{Mutant::lease_end_is_optimistic, 118},
                         Shy{Mutant::gateway_error_may_run_again, 41},
                         Shy{Mutant::abandoned_after_sending, 312},
                         Shy{Mutant::refused_work_dropped, 126},
                         Shy{Mutant::resolved_work_dropped, 47},
                         Shy{Mutant::claimed_before_its_time, 234},
                         Shy{Mutant::resumed_job_begun_again, 44},
                         Shy{Mutant::restored_record_runs_again, 333},
                         Shy{Mutant::restored_life_is_new, 167},
                         Shy{Mutant::attempt_dated_once, 480},
                         Shy{Mutant::orphan_given_up, 1926},
                         Shy{Mutant::orphan_forgotten_with_its_lease, 1010},
                         Shy{Mutant::renewal_in_doubt_counts, 142},
                         Shy{Mutant::lost_renewal_counts, 142},
                         Shy{Mutant::superseded_answer_is_told, 246},
                         Shy{Mutant::settled_by_wrong_clock, 56},
                         Shy{Mutant::reaped_by_old_clock, 238},
                         Shy{Mutant::finding_about_another, 110},
                         Shy{Mutant::event_of_earlier_attempt, 3255},
                         Shy{Mutant::event_of_another_life, 56},
                         Shy{Mutant::outbox_repeated_without_dedupe, 54},
                         Shy{Mutant::outbox_repeated_past_window, 296},
                         Shy{Mutant::outbox_doubt_forgotten, 54},
                         Shy{Mutant::unreadable_rows_fill_pages, 96},
                         Shy{Mutant::complete_with_old_fence, 156},
                         Shy{Mutant::grant_repeated_past_its_lease, 42},
                         Shy{Mutant::spent_token_granted, 42},
                         Shy{Mutant::unconfirmed_grant_released, 1165},
                         Shy{Mutant::grant_without_token, 59},
                         Shy{Mutant::grant_without_fence, 75},
                         Shy{Mutant::stale_grant_settles, 69},
                         Shy{Mutant::late_step_taken, 6229},
                         Shy{Mutant::grant_renewed_by_wrong_clock, 1144},
                         Shy{Mutant::grant_settled_by_wrong_clock, 951},
                         Shy{Mutant::lease_told_by_wrong_clock, 1243},
                         Shy{Mutant::silence_is_absence, 361},
                         Shy{Mutant::still_is_absence, 41},
                         Shy{Mutant::another_sources_absence_counts, 43},
                         Shy{Mutant::another_sources_decline_counts, 85},
                         Shy{Mutant::foreign_event_applied, 41},
                         Shy{Mutant::message_silence_is_absence, 257},
                         Shy{Mutant::orphans_never_looked_for, 57}};

// The first seed that the mutant breaks and that holds without it: another bug is no finding.
std::optional<Finding> search_genuine(Mutant mutant, Bounds bounds) {
  const std::uint64_t end = bounds.start + bounds.seeds;
  std::optional<Finding> finding;
  bool holds_without = false;
  do {
    active_mutant = mutant;
    finding = search_in_child(bounds);
    active_mutant = Mutant::none;
    if (!finding) break;
    holds_without = !search_in_child({.start = finding->seed, .seeds = 1});
    bounds.start = finding->seed + 1;
    bounds.seeds = end - bounds.start;
  } while (!holds_without);
  return finding;
}

}  // namespace

std::optional<Mutant> mutant_of(std::string_view name) {
  for (const Entry& entry : entries) {
    if (entry.name == name) return entry.mutant;
  }
  return std::nullopt;
}

void list_mutants(std::ostream& out) {
  for (const Entry& entry : entries) out << "  " << entry.name << ": " << entry.bug << '\n';
}

bool hunt_mutants(const Bounds& bounds, std::ostream& out) {
  std::size_t found = 0;
  out << "| mutant | the bug | seed | promise it breaks |\n|---|---|---|---|\n";
  for (const Entry& entry : entries) {
    std::optional<Finding> finding;
    for (const Shy& known : shy) {
      if (known.mutant == entry.mutant) {
        finding = search_genuine(entry.mutant, {.start = known.seed, .seeds = 1});
      }
    }
    if (!finding) finding = search_genuine(entry.mutant, bounds);
    if (finding) ++found;
    out << "| `" << entry.name << "` | " << entry.bug << " | "
        << (finding ? std::to_string(finding->seed) : "NOT FOUND") << " | "
        << (finding ? finding->violation.rule : "") << " |" << std::endl;
  }
  out << '\n' << found << " of " << entries.size() << " mutants found\n";
  return found == entries.size();
}

}  // namespace pawl::sim
