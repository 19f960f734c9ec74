-- Who may do what. The functions a service calls run as the owner of this schema, with a search_path
-- of their own, and nobody has them by default: a service's role has EXECUTE on six functions and
-- nothing else here. `pawl migrate --grants` prints or makes the grants.
--
-- A fixed search_path: whoever may create a function in some schema of the database could otherwise
-- plant one that fits better than the server's own, and have it run as somebody else. pg_temp is
-- named, and last, because it would be searched first otherwise.
--
-- CREATE OR REPLACE FUNCTION forgets both settings: a later migration that replaces one of these
-- functions states them again, and a function that is new revokes EXECUTE from PUBLIC.

-- The stored policy, checked as src/core/policy.cpp reads it: a name or value that this version does
-- not know would be taken for something else than what was meant, or make the row unreadable.
CREATE FUNCTION pawl.demand_policy(policy jsonb) RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  -- Without a gateway there is no worker that could send it: reserved here, a key is its caller's to execute.
  choices CONSTANT jsonb := '{"mode": ["sync"],
    "on_lease_expiry": ["unknown", "retry", "resume"], "on_server_error": ["retry", "hold", "store"],
    "on_refusal": ["release", "hold"], "retention_from": ["completed", "created"],
    "expired": ["delete", "tombstone"]}';
  longest CONSTANT bigint := 3155695200000000;  -- 100 years
  m     record;
  kind  text;
  value text;
  good  boolean;
BEGIN
  IF policy IS NULL OR jsonb_typeof(policy) <> 'object' OR jsonb_typeof(policy -> 'v') IS DISTINCT FROM 'number'
     OR (policy ->> 'v') IS DISTINCT FROM '1' THEN
    RAISE EXCEPTION 'policy must be an object with "v": 1' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  FOR m IN SELECT e.key, e.value FROM jsonb_each(policy) e WHERE e.key <> 'v' LOOP
    kind := jsonb_typeof(m.value);
    value := m.value #>> '{}';
    IF choices ? m.key THEN
      good := kind = 'string' AND (choices -> m.key) ? value;
    ELSIF m.key IN ('lease_us', 'upstream_timeout_us', 'retention_us', 'tombstone_for_us') THEN
      -- No time at all for a lease or a retention would make the key free at once.
      good := CASE WHEN kind = 'number' AND value ~ '^[0-9]{1,16}$'
                   THEN value::bigint BETWEEN (CASE WHEN m.key IN ('lease_us', 'retention_us') THEN 1 ELSE 0 END) AND longest
                   ELSE false END;
    ELSIF m.key = 'max_attempts' THEN
      good := CASE WHEN kind = 'number' AND value ~ '^[0-9]{1,7}$' THEN value::bigint BETWEEN 1 AND 1000000
                    ELSE false END;
    ELSIF m.key IN ('include', 'exclude') THEN
      good := kind = 'array';
      IF good THEN
        good := NOT EXISTS (SELECT FROM jsonb_array_elements(m.value) p
                              WHERE jsonb_typeof(p) <> 'string' OR p #>> '{}' !~ '^(/([^~]|~[01])*)?$');
      END IF;
    ELSIF m.key = 'transactional' THEN
      good := kind = 'boolean';
    ELSIF m.key = 'credentials' THEN
      good := kind = 'string';
    ELSE
      RAISE EXCEPTION 'policy has no member "%"', m.key USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF NOT good THEN
      RAISE EXCEPTION 'policy: % is no value for "%"%', m.value, m.key,
        coalesce('; known are ' || (choices -> m.key)::text, '') USING ERRCODE = 'invalid_parameter_value';
    END IF;
  END LOOP;
END
$$;

-- That the store was put back from a backup, while keys may have been used that it has forgotten:
-- since_us, at_us, until_us, and whether its records were gone through (finished). Null: it was not,
-- or that is long ago. What is written there and cannot be read is an error, not "never mind".
CREATE FUNCTION pawl.restoration(at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT f.value::jsonb FROM pawl.facts f
   WHERE f.name = 'restored'
     AND coalesce(timestamptz 'epoch' + (f.value::jsonb ->> 'until_us')::bigint * interval '1 microsecond' > restoration.at,
                  true)  -- without an end it has none
$$;

-- Whether whoever is logged in may write this record through the functions. A service may write what it
-- reserved itself (such a record has no route) and what belongs to a transactional route. The records
-- of other routes are their gateway's alone: to complete one would forge an answer, to release one
-- would make a payment run again. A role that may write the table needs no leave (libpawl).
CREATE FUNCTION pawl.is_services(record pawl.keys) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
  SELECT record.route = '' OR coalesce(record.policy -> 'transactional' = 'true', false)
      OR has_table_privilege(session_user, 'pawl.keys', 'UPDATE')
$$;

CREATE OR REPLACE FUNCTION pawl.lost_fence(what text, scope text, key text, fence bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  found pawl.keys%ROWTYPE;
BEGIN
  SELECT * INTO found FROM pawl.keys k
   WHERE k.scope_id = lost_fence.scope AND k.idempotency_key = lost_fence.key;
  IF found.scope_id IS NOT NULL AND NOT pawl.is_services(found) THEN
    RAISE EXCEPTION 'pawl.%: this record belongs to the route "%", which is not transactional', what, found.route
      USING ERRCODE = 'insufficient_privilege',
            HINT = 'Set transactional = true for the route, or leave its records to the gateway.';
  END IF;
  RAISE EXCEPTION 'pawl.%: fence % does not own this key', what, fence
    USING ERRCODE = 'PW001',
          DETAIL = CASE WHEN found.scope_id IS NULL THEN 'There is no record of this key in this scope.'
                        ELSE format('The record is %s under fence %s.', found.status, found.fence) END,
          HINT = 'Roll back: another owner has this request, or it is already answered.';
END
$$;

-- complete: the answer, committed with the caller's own rows. Belongs last before COMMIT: the record's
-- row stays locked until then. The stored request of an async route, credentials and all, goes with it.
CREATE OR REPLACE FUNCTION pawl.complete(scope text, key text, fence bigint, status integer, headers jsonb, body bytea)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();  -- now() is when the caller's transaction began
BEGIN
  IF complete.status NOT BETWEEN 200 AND 599 THEN
    RAISE EXCEPTION 'status % is no final HTTP status (200 to 599)', complete.status
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM pawl.demand_durability();
  UPDATE pawl.keys k
     SET status = 'completed', locked_at = NULL, locked_until = NULL, last_error = '',
         request = CASE WHEN k.policy ->> 'mode' = 'async' THEN NULL ELSE k.request END,
         request_digest = CASE WHEN k.policy ->> 'mode' = 'async' THEN NULL ELSE k.request_digest END,
         response_code = complete.status, response_headers = pawl.stored_headers(complete.headers),
         response_body = coalesce(complete.body, ''), response_schema_version = 1, completed_at = at,
         expires_at = greatest(k.expires_at,
           at + pawl.policy_duration(k.policy, 'retention_us', interval '48 hours'))
   WHERE k.scope_id = complete.scope AND k.idempotency_key = complete.key
     AND k.fence = complete.fence AND k.status = 'in_progress' AND pawl.is_services(k);
  IF NOT FOUND THEN PERFORM pawl.lost_fence('complete', scope, key, fence); END IF;
END
$$;

-- advance: as 0007_advance.sql has it, for records that the caller may write.
CREATE OR REPLACE FUNCTION pawl.advance(scope text, key text, fence bigint, recovery_point text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
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
     AND k.fence = advance.fence AND k.status = 'in_progress' AND pawl.is_services(k) FOR UPDATE;
  IF NOT FOUND THEN PERFORM pawl.lost_fence('advance', scope, key, fence); END IF;
  ends := held + tick * (1 - extract(microseconds FROM held)::bigint % 2);
  UPDATE pawl.keys k
     SET recovery_point = pawl.stored_text(advance.recovery_point), locked_until = ends
   WHERE k.scope_id = advance.scope AND k.idempotency_key = advance.key
     AND k.fence = advance.fence AND k.status = 'in_progress';
  IF NOT FOUND THEN PERFORM pawl.lost_fence('advance', scope, key, fence); END IF;
END
$$;

-- lookup: the record as it stands, for its own caller. No row: the key was never used, or is forgotten.
-- Of a record that the caller may not write, neither the fence nor the answer.
CREATE OR REPLACE FUNCTION pawl.lookup(scope text, key text)
RETURNS TABLE (status text, fence bigint, attempt integer, recovery_point text, response_code integer,
               response_headers jsonb, response_body bytea, created_at timestamptz, completed_at timestamptz,
               expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT k.status, CASE WHEN own THEN k.fence END, k.attempt, CASE WHEN own THEN k.recovery_point END,
         CASE WHEN own THEN k.response_code END, CASE WHEN own THEN k.response_headers END,
         CASE WHEN own THEN k.response_body END, k.created_at, k.completed_at, k.expires_at
    FROM pawl.keys k, LATERAL (SELECT pawl.is_services(k) AS own) AS leave
   WHERE k.scope_id = lookup.scope AND k.idempotency_key = lookup.key
$$;

-- reserve: the first step, for a service that has no gateway in front. Commit it before the work
-- starts. `decision` is one of execute, replay, in_flight, misuse, undetermined, gone, restored; only
-- execute may go on, with the fence that came with it. `owner` is a random token of this attempt:
-- asking again with the same one returns the same grant.
CREATE OR REPLACE FUNCTION pawl.reserve(scope text, key text, fingerprint text, owner text,
                                        policy jsonb DEFAULT '{"v":1}')
RETURNS TABLE (decision text, fence bigint, recovery_point text, response_code integer, response_headers jsonb,
               response_body bytea)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  lease     interval;
  retention interval;
  at        timestamptz := clock_timestamp();
  held      pawl.keys%ROWTYPE;
  granted   bigint;
  over      boolean;
  restored  jsonb;
  rules     jsonb;
BEGIN
  IF reserve.key IS NULL OR length(reserve.key) NOT BETWEEN 1 AND 255 OR reserve.key !~ '^[\x20-\x7e]+$' THEN
    RAISE EXCEPTION 'key must be 1 to 255 printable ASCII characters' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF '' IN (coalesce(reserve.scope, ''), coalesce(reserve.fingerprint, ''), coalesce(reserve.owner, '')) THEN
    RAISE EXCEPTION 'scope, fingerprint and owner must not be empty' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM pawl.demand_policy(reserve.policy);
  PERFORM pawl.demand_durability();
  lease := pawl.policy_duration(reserve.policy, 'lease_us', interval '30 seconds');
  retention := pawl.policy_duration(reserve.policy, 'retention_us', interval '48 hours');
  restored := pawl.restoration(at);
  granted := (extract(epoch FROM at) * 1000000)::bigint;
  -- A key that a restored store does not know may have been used since its backup: it is not new.
  IF restored IS NULL THEN
    INSERT INTO pawl.keys AS k (scope_id, idempotency_key, fingerprint, status, fence, owner, attempt, locked_at,
                                locked_until, policy, created_at, expires_at, reap_after)
    VALUES (scope, key, pawl.stored_text(reserve.fingerprint), 'in_progress', granted, pawl.stored_text(reserve.owner),
            1, at, at + lease, reserve.policy, at, at + retention, at + retention)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
      PERFORM pawl.note_due(scope, key, 'in_progress', at + lease);
      RETURN QUERY SELECT 'execute', granted, '', NULL::integer, NULL::jsonb, NULL::bytea;
      RETURN;
    END IF;
  END IF;

  SELECT * INTO held FROM pawl.keys k WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key FOR UPDATE;
  IF NOT FOUND AND restored IS NOT NULL THEN
    RETURN QUERY SELECT 'restored', NULL::bigint, '', NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;
  IF NOT FOUND THEN  -- deleted between the two statements: the caller asks again
    RAISE EXCEPTION 'the record of this key was just deleted' USING ERRCODE = 'serialization_failure';
  END IF;
  IF NOT pawl.is_services(held) THEN PERFORM pawl.lost_fence('reserve', scope, key, held.fence); END IF;
  -- Dead letters of async routes are an operator's, however old; a flow that is half done is resumed.
  over := held.expires_at <= at AND (held.status = 'completed'
    OR (held.status = 'failed_retryable' AND coalesce(held.policy ->> 'mode', 'sync') <> 'async'
        AND (held.recovery_point = '' OR held.request IS NULL
             OR held.policy ->> 'on_lease_expiry' IS DISTINCT FROM 'resume')));
  IF held.status = 'expired'
     OR (over AND (coalesce(held.policy ->> 'expired', 'delete') <> 'delete'
                   OR coalesce(reserve.policy ->> 'expired', 'delete') <> 'delete')) THEN
    RETURN QUERY SELECT 'gone', held.fence, '', NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;
  IF NOT over AND held.fingerprint <> pawl.stored_text(reserve.fingerprint) THEN
    RETURN QUERY SELECT 'misuse', held.fence, '', NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;
  IF NOT over AND held.status = 'completed' THEN
    RETURN QUERY SELECT 'replay', held.fence, held.recovery_point, held.response_code, held.response_headers, held.response_body;
    RETURN;
  END IF;
  -- Only a lease that is alive is granted again: what lapsed may have been taken up, or have been sent.
  IF held.status = 'in_progress' AND held.owner = pawl.stored_text(reserve.owner) AND held.locked_until > at THEN
    UPDATE pawl.keys k SET locked_until = greatest(k.locked_until, at + lease)
     WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key;
    RETURN QUERY SELECT 'execute', held.fence, held.recovery_point, NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;
  IF held.status = 'pending' OR (held.status = 'in_progress' AND held.locked_until > at) THEN
    RETURN QUERY SELECT 'in_flight', held.fence, '', NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;
  -- Its owner may have paid before it died. Only a rule that says otherwise in so many words lets it
  -- run again; whatever else stands there, by whoever's hand, is doubt.
  IF held.status = 'in_progress' AND coalesce(held.policy ->> 'on_lease_expiry', '') NOT IN ('retry', 'resume') THEN
    UPDATE pawl.keys k SET status = 'unknown', reconcile_after = at, last_error = 'lease-expired'
     WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key;
    PERFORM pawl.note_due(scope, key, 'unknown', at);
    held.status := 'unknown';
  END IF;
  IF held.status = 'unknown' THEN
    RETURN QUERY SELECT 'undetermined', held.fence, '', NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;
  -- Its life is over, and another may have begun since the backup. Or nobody has gone through the
  -- backup yet: what it says of the key was true then, and the key may have run since.
  IF restored IS NOT NULL
     AND (over OR (held.created_at <= timestamptz 'epoch' + (restored ->> 'at_us')::bigint * interval '1 microsecond'
                   AND (restored ->> 'finished')::boolean IS NOT TRUE)) THEN
    RETURN QUERY SELECT 'restored', held.fence, '', NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;

  -- Past retention: a new life. failed_retryable, or a lapsed lease that may run again: the next attempt.
  IF over THEN
    granted := greatest(granted, held.fence + 1);
    UPDATE pawl.keys k
       SET fingerprint = pawl.stored_text(reserve.fingerprint), status = 'in_progress', fence = granted,
           owner = pawl.stored_text(reserve.owner), attempt = 1, recovery_point = '', locked_at = at,
           locked_until = at + lease, reconcile_after = NULL, request = NULL, request_digest = NULL,
           response_code = NULL, response_headers = NULL, response_body = NULL, response_schema_version = NULL,
           resource_type = '', resource_id = '', last_error = '', policy = reserve.policy, created_at = at,
           completed_at = NULL, expires_at = at + retention, reap_after = at + retention
     WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key;
    held.recovery_point := '';
  ELSE
    granted := held.fence + 1;
    -- The rules that made the stored fingerprint stay, and so does whose record it is. What is half
    -- done under the rule that it is resumed is not begun again under another.
    rules := (reserve.policy - ARRAY['include', 'exclude', 'credentials'])
      || jsonb_strip_nulls(jsonb_build_object('include', held.policy -> 'include', 'exclude', held.policy -> 'exclude',
                                              'credentials', held.policy -> 'credentials'));
    IF held.recovery_point <> '' AND held.policy ->> 'on_lease_expiry' = 'resume' THEN
      rules := rules || '{"on_lease_expiry":"resume"}';
    END IF;
    UPDATE pawl.keys k
       SET status = 'in_progress', fence = granted, owner = pawl.stored_text(reserve.owner), attempt = k.attempt + 1,
           locked_at = at, locked_until = at + lease, reconcile_after = NULL, last_error = '', policy = rules,
           -- a dead letter's retention never ends (src/core/outcome.cpp); that of what it becomes does
           expires_at = CASE WHEN k.expires_at >= at + interval '200 years' THEN at + retention
                             ELSE greatest(k.expires_at, at + retention) END,
           reap_after = least(k.reap_after, at + retention)
     WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key;
  END IF;
  PERFORM pawl.note_due(scope, key, 'in_progress', at + lease);
  RETURN QUERY SELECT 'execute', granted, held.recovery_point, NULL::integer, NULL::jsonb, NULL::bytea;
END
$$;

ALTER FUNCTION pawl.release(text, text, bigint, text) SECURITY DEFINER SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION pawl.enqueue(text, text, bigint, text, bytea, text, jsonb, text)
  SECURITY DEFINER SET search_path = pg_catalog, pg_temp;

ALTER FUNCTION pawl.stored_text(text) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION pawl.stored_headers(jsonb) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION pawl.policy_duration(jsonb, text, interval) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION pawl.demand_durability() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION pawl.note_due(text, text, text, timestamptz) SET search_path = pg_catalog, pg_temp;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA pawl FROM PUBLIC;

-- Whoever was given the tables by hand, as the documentation had it, keeps the functions: a service
-- must not stop because of an upgrade. `pawl migrate --grants service=ROLE` takes the tables away.
DO $$
DECLARE
  role name;
BEGIN
  FOR role IN
    SELECT DISTINCT r.rolname
      FROM pg_catalog.pg_class c, pg_catalog.aclexplode(c.relacl) a JOIN pg_catalog.pg_roles r ON r.oid = a.grantee
     WHERE c.oid = 'pawl.keys'::pg_catalog.regclass AND a.privilege_type = 'UPDATE' AND a.grantee <> c.relowner
  LOOP
    EXECUTE pg_catalog.format(
      'GRANT EXECUTE ON FUNCTION pawl.complete, pawl.advance, pawl.release, pawl.enqueue, pawl.lookup,'
      ' pawl.reserve TO %I', role);
  END LOOP;
END
$$;
