-- advance always moves the lease's end, by a microsecond at least, and to an odd one. A renewal that
-- was under way when the phase committed guards itself by the lease it saw and writes even ones: it
-- can neither pass its guard after this nor take this row for its own, and so never writes the
-- recovery point of before over the new one.
CREATE OR REPLACE FUNCTION pawl.advance(scope text, key text, fence bigint, recovery_point text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at   timestamptz := clock_timestamp();  -- now() is when the caller's transaction began
  tick CONSTANT interval := interval '1 microsecond';
  held timestamptz;
  ends timestamptz;
BEGIN
  PERFORM pawl.demand_durability();
  -- The row lock makes what was seen hold until this transaction ends.
  SELECT greatest(k.locked_until + tick, at + pawl.policy_duration(k.policy, 'lease_us', interval '30 seconds'))
    INTO held FROM pawl.keys k
   WHERE k.scope_id = advance.scope AND k.idempotency_key = advance.key
     AND k.fence = advance.fence AND k.status = 'in_progress' FOR UPDATE;
  IF NOT FOUND THEN PERFORM pawl.lost_fence('advance', scope, key, fence); END IF;
  ends := held + tick * (1 - extract(microseconds FROM held)::bigint % 2);
  UPDATE pawl.keys k
     SET recovery_point = pawl.stored_text(advance.recovery_point), locked_until = ends
   WHERE k.scope_id = advance.scope AND k.idempotency_key = advance.key
     AND k.fence = advance.fence AND k.status = 'in_progress';
  IF NOT FOUND THEN PERFORM pawl.lost_fence('advance', scope, key, fence); END IF;
END
$$;
