// Small bugs on purpose. The simulator must find every one of them, or its world is too kind; see
// docs/proof.md. The product has none of them: NAME.patch, beside this file, puts one into the copy
// of the sources that the simulator is built from, where it waits for its turn. The bugs of the
// simulator's own models stand in tests/sim.
#pragma once

namespace pawl {

enum class Mutant {
  none,

  // decide
  lease_alive_at_its_end,
  lapsed_lease_runs_again,
  lapsed_lease_by_todays_policy,
  unknown_raises_fence,
  unknown_runs_again,
  takeover_keeps_fence,
  takeover_forgets_owner,
  takeover_forgets_rules,
  fingerprint_not_compared,
  first_fence_is_constant,
  clock_jump_ignored,
  lease_end_is_optimistic,
  tombstone_runs_again,
  claim_keeps_fence,

  // outcome
  lost_may_run_again,
  gateway_error_may_run_again,
  held_error_may_run_again,
  unasked_408_is_an_answer,
  sweep_frees_unknown,
  abandoned_after_sending,
  retention_from_creation,
  resolved_too_early,
  refused_work_dropped,
  resolved_work_dropped,
  dead_letter_reaped,
  claimed_before_its_time,
  resumed_job_begun_again,
  restored_record_runs_again,
  restored_life_is_new,

  // guards
  fence_not_checked,
  status_not_checked,
  lease_not_checked,

  // engine
  in_doubt_is_granted,
  attempt_dated_once,
  reserved_by_wrong_clock,
  orphan_forgotten,
  orphan_of_anybody,
  orphan_given_up,
  orphan_forgotten_with_its_lease,
  orphan_swept,
  restored_key_is_new,
  lease_not_checked_before_sending,
  renewal_in_doubt_counts,
  lost_renewal_counts,
  settle_in_doubt_is_done,
  answer_before_durable,
  superseded_answer_is_told,
  late_answer_overwrites,
  settled_by_wrong_clock,
  evidence_dropped,
  reaped_by_old_clock,
  stale_finding_accepted,
  finding_about_another,
  lost_claim_counts,
  claim_in_doubt_counts,

  // reconcile: what a source tells or is asked
  event_of_earlier_attempt,
  event_of_another_life,
  contradiction_ignored,
  visibility_ignored,

  // the outbox
  outbox_key_without_life,
  outbox_repeated_without_dedupe,
  outbox_repeated_past_window,
  outbox_doubt_forgotten,

  // around the engine: what a gateway, a store or a service could get wrong
  free_on_hang_up,
  cache_across_scopes,
  purge_not_heard,
  unreadable_rows_fill_pages,
  memory_not_compared,
  memory_outlives_record,
  answer_of_another_life,
  waiter_frees_key,
  landing_forgotten,
  reap_unknown,
  reap_without_condition,
  expired_pending_claimed,
  half_is_an_answer,
  resend_after_reset,
  complete_from_any_state,
  complete_with_old_fence,

  // the key API: owners outside of the process
  grant_to_another_token,
  grant_repeated_with_new_fence,
  grant_repeated_past_its_lease,
  spent_token_granted,
  unconfirmed_grant_released,
  grant_without_token,
  grant_without_fence,
  stale_grant_settles,
  lost_grant_renewed,
  late_step_taken,
  grant_renewed_by_wrong_clock,
  grant_settled_by_wrong_clock,
  lease_told_by_wrong_clock,
  lease_told_in_full,
  refused_answer_dropped,
  refused_write_is_done,
  meaning_not_compared,

  // reconciler
  silence_is_absence,
  still_is_absence,
  another_sources_absence_counts,
  another_sources_decline_counts,
  foreign_event_applied,
  given_up_mark_forgotten,
  contradiction_not_told,
  absence_counts_at_once,

  // outbox worker
  message_sent_without_intent,
  message_intent_in_doubt_counts,
  message_of_lost_owner_sent,

  // outbox reconciler
  message_silence_is_absence,

  // async worker
  async_outcome_dropped,

  // maintenance
  orphans_never_looked_for,
  lapsed_never_swept,

  // replay cache

  count
};

inline Mutant active_mutant = Mutant::none;
inline bool mutant(Mutant which) { return active_mutant == which; }

}  // namespace pawl
