-- Accepted work that was refused is tried again later, and given up only by a person.
--
-- pawl.keys.reconcile_after of a pending row: not to be tried before then (NULL: at once). Its note in
-- pawl.due is due then, and not when it was created.

-- Notes of kind failed_retryable lead to dead letters: accepted with 202 and out of attempts. No pass
-- deals with them; operators list them, and they are never reaped. The table of keys has no index
-- on the status, so that completions stay HOT updates.
ALTER TABLE pawl.due DROP CONSTRAINT due_kind_check;
ALTER TABLE pawl.due ADD CONSTRAINT due_kind_check
  CHECK (kind IN ('in_progress', 'unknown', 'pending', 'failed_retryable'));

-- Those that were given up before this version.
INSERT INTO pawl.due (scope_id, id, kind, due_at, idempotency_keys)
SELECT k.scope_id, (random() * 9007199254740991)::bigint, 'failed_retryable', min(k.created_at),
       array_agg(k.idempotency_key)
  FROM pawl.keys k WHERE k.status = 'failed_retryable' AND k.policy ->> 'mode' = 'async'
 GROUP BY k.scope_id;

-- release: accepted work that its own service lets go of waits for a worker again, while attempts are
-- left; after that it is a dead letter, with its note.
CREATE OR REPLACE FUNCTION pawl.release(scope text, key text, fence bigint, reason text DEFAULT '')
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at    timestamptz := clock_timestamp();  -- now() is when the caller's transaction began
  held  pawl.keys%ROWTYPE;
  async boolean;
  again boolean;
BEGIN
  PERFORM pawl.demand_durability();
  SELECT * INTO held FROM pawl.keys k
   WHERE k.scope_id = release.scope AND k.idempotency_key = release.key
     AND k.fence = release.fence AND k.status = 'in_progress' AND pawl.is_services(k) FOR UPDATE;
  IF NOT FOUND THEN PERFORM pawl.lost_fence('release', scope, key, fence); END IF;
  async := coalesce(held.policy ->> 'mode', 'sync') = 'async' AND held.request IS NOT NULL;
  again := async AND held.attempt < coalesce((held.policy ->> 'max_attempts')::integer, 10);
  UPDATE pawl.keys k
     SET status = CASE WHEN again THEN 'pending' ELSE 'failed_retryable' END,
         attempt = k.attempt + CASE WHEN again THEN 1 ELSE 0 END,
         locked_at = NULL, locked_until = NULL, reconcile_after = NULL,
         last_error = 'released: ' || coalesce(release.reason, ''),
         expires_at = greatest(k.expires_at,
           at + pawl.policy_duration(k.policy, 'retention_us', interval '48 hours'))
   WHERE k.scope_id = release.scope AND k.idempotency_key = release.key;
  IF async THEN
    PERFORM pawl.note_due(scope, key, CASE WHEN again THEN 'pending' ELSE 'failed_retryable' END,
                          held.created_at);
  END IF;
END
$$;
