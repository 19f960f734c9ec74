-- Accepted work that was refused is tried again later, and given up only by a person.

-- The workers' rows, by when they are to be tried.
DROP INDEX keys_by_queue;
CREATE INDEX keys_by_queue ON keys (coalesce(reconcile_after, created_at)) WHERE status = 'pending';

-- What a scope has open besides its live leases: counted against active_keys.
CREATE INDEX keys_waiting ON keys (scope_id) WHERE status IN ('pending', 'unknown');

-- Dead letters: accepted with 202 and out of attempts. They are listed, and never reaped.
CREATE INDEX keys_dead ON keys (created_at)
  WHERE status = 'failed_retryable' AND instr(policy, '"mode":"async"') > 0;
DROP INDEX keys_by_expiry;
CREATE INDEX keys_by_expiry ON keys (expires_at)
  WHERE status NOT IN ('in_progress', 'unknown')
    AND NOT (status = 'failed_retryable' AND instr(policy, '"mode":"async"') > 0);
