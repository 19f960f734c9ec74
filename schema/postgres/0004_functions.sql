-- The functions a service calls inside a transaction of its own, from any language with a PostgreSQL
-- driver. They are a public contract: names, arguments and SQLSTATEs do not change.
--
-- The rule they share: a write needs the fence of the record's present owner, and a record that is
-- in_progress. Anything else raises PW001, so that the caller's transaction rolls back with it: an
-- owner that lost its lease cannot commit its business rows.
--
-- Arguments are named as the documentation names them, so bodies qualify: complete.fence is the
-- argument, k.fence the column.

-- Text as pawl.keys holds it: what itself starts with \x is written in hexadecimal (see 0001_keys.sql).
CREATE FUNCTION pawl.stored_text(value text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT CASE WHEN left(value, 2) = '\x' THEN '\x' || encode(convert_to(value, 'UTF8'), 'hex') ELSE value END
$$;

-- Headers as pawl.keys holds them: [["Name","value"],...]. Taken as such, or as {"Name": "value"}.
CREATE FUNCTION pawl.stored_headers(headers jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  pairs jsonb;
BEGIN
  IF headers IS NULL OR headers = 'null' THEN RETURN '[]'; END IF;
  IF jsonb_typeof(headers) = 'object' THEN
    SELECT coalesce(jsonb_agg(jsonb_build_array(h.key, h.value)), '[]') INTO pairs FROM jsonb_each(headers) h;
  ELSIF jsonb_typeof(headers) = 'array' THEN
    pairs := headers;
  ELSE
    RAISE EXCEPTION 'headers must be a JSON object or an array of [name, value] pairs, not %', jsonb_typeof(headers)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF EXISTS (SELECT FROM jsonb_array_elements(pairs) p
             WHERE jsonb_typeof(p) <> 'array' OR jsonb_array_length(p) <> 2
                OR jsonb_typeof(p -> 0) <> 'string' OR jsonb_typeof(p -> 1) <> 'string') THEN
    RAISE EXCEPTION 'each header must be a name and a value, both strings' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF EXISTS (SELECT FROM jsonb_array_elements(pairs) p
             WHERE p ->> 0 !~ '^[!#$%&''*+.^_`|~0-9A-Za-z-]+$' OR p ->> 1 ~ '[\x01-\x08\x0a-\x1f\x7f]') THEN
    RAISE EXCEPTION 'a header name must be a token and a value must have no control characters'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN coalesce((SELECT jsonb_agg(jsonb_build_array(p ->> 0, pawl.stored_text(p ->> 1)) ORDER BY n)
                   FROM jsonb_array_elements(pairs) WITH ORDINALITY AS e(p, n)), '[]');
END
$$;

-- A duration of the stored policy; the default is the one frozen with version 1 (src/core/policy.cpp).
CREATE FUNCTION pawl.policy_duration(policy jsonb, name text, usual interval) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce((policy ->> name)::bigint * interval '1 microsecond', usual)
$$;

-- A lost commit of a completion would be a payment that nobody remembers.
CREATE FUNCTION pawl.demand_durability() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_commit') IN ('off', 'local') THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
END
$$;

CREATE FUNCTION pawl.lost_fence(what text, scope text, key text, fence bigint) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  found pawl.keys%ROWTYPE;
BEGIN
  SELECT * INTO found FROM pawl.keys k WHERE k.scope_id = scope AND k.idempotency_key = key;
  RAISE EXCEPTION 'pawl.%: fence % does not own this key', what, fence
    USING ERRCODE = 'PW001',
          DETAIL = CASE WHEN found.scope_id IS NULL THEN 'There is no record of this key in this scope.'
                        ELSE format('The record is %s under fence %s.', found.status, found.fence) END,
          HINT = 'Roll back: another owner has this request, or it is already answered.';
END
$$;

-- complete: the answer, committed with the caller's own rows. Belongs last before COMMIT: the record's
-- row stays locked until then.
CREATE FUNCTION pawl.complete(scope text, key text, fence bigint, status integer, headers jsonb, body bytea)
RETURNS void LANGUAGE plpgsql AS $$
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
         response_code = complete.status, response_headers = pawl.stored_headers(complete.headers),
         response_body = coalesce(complete.body, ''), response_schema_version = 1, completed_at = at,
         expires_at = greatest(k.expires_at,
           at + pawl.policy_duration(k.policy, 'retention_us', interval '48 hours'))
   WHERE k.scope_id = complete.scope AND k.idempotency_key = complete.key
     AND k.fence = complete.fence AND k.status = 'in_progress';
  IF NOT FOUND THEN PERFORM pawl.lost_fence('complete', scope, key, fence); END IF;
END
$$;

-- advance: the recovery point of the phase that commits with this transaction; the lease starts anew.
CREATE FUNCTION pawl.advance(scope text, key text, fence bigint, recovery_point text)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();  -- now() is when the caller's transaction began
BEGIN
  PERFORM pawl.demand_durability();
  UPDATE pawl.keys k
     SET recovery_point = pawl.stored_text(advance.recovery_point),
         locked_until = greatest(k.locked_until,
           at + pawl.policy_duration(k.policy, 'lease_us', interval '30 seconds'))
   WHERE k.scope_id = advance.scope AND k.idempotency_key = advance.key
     AND k.fence = advance.fence AND k.status = 'in_progress';
  IF NOT FOUND THEN PERFORM pawl.lost_fence('advance', scope, key, fence); END IF;
END
$$;

-- release: nothing happened, and the key may run again. Only for an owner that can prove it.
CREATE FUNCTION pawl.release(scope text, key text, fence bigint, reason text DEFAULT '')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  at timestamptz := clock_timestamp();  -- now() is when the caller's transaction began
BEGIN
  PERFORM pawl.demand_durability();
  UPDATE pawl.keys k
     SET status = 'failed_retryable', locked_at = NULL, locked_until = NULL,
         last_error = 'released: ' || coalesce(release.reason, ''),
         expires_at = greatest(k.expires_at,
           at + pawl.policy_duration(k.policy, 'retention_us', interval '48 hours'))
   WHERE k.scope_id = release.scope AND k.idempotency_key = release.key
     AND k.fence = release.fence AND k.status = 'in_progress';
  IF NOT FOUND THEN PERFORM pawl.lost_fence('release', scope, key, fence); END IF;
END
$$;

-- enqueue: a call to the outside, promised in this transaction and made by a worker after it. The
-- derived key is what the destination dedupes by: the same promise made again is the same row.
CREATE FUNCTION pawl.enqueue(scope text, key text, fence bigint, destination text, body bytea,
                             path text DEFAULT '/', headers jsonb DEFAULT '[]', step text DEFAULT '')
RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  derived text;
  made uuid;
BEGIN
  PERFORM pawl.demand_durability();
  -- The row lock makes the guard hold until this transaction ends.
  PERFORM FROM pawl.keys k
    WHERE k.scope_id = enqueue.scope AND k.idempotency_key = enqueue.key
      AND k.fence = enqueue.fence AND k.status = 'in_progress' FOR UPDATE;
  IF NOT FOUND THEN PERFORM pawl.lost_fence('enqueue', scope, key, fence); END IF;
  derived := encode(sha256(convert_to(concat_ws(':', 'pawl-derived-key', length(scope), scope, length(key), key,
    length(destination), destination, length(step), step), 'UTF8')), 'hex');
  INSERT INTO pawl.outbox AS o (scope_id, idempotency_key, destination, derived_key, path, headers, body,
                                next_attempt_at, created_at)
  VALUES (scope, key, destination, derived, path, pawl.stored_headers(headers), coalesce(body, ''), now(), now())
  ON CONFLICT DO NOTHING RETURNING o.id INTO made;
  IF made IS NULL THEN
    SELECT o.id INTO made FROM pawl.outbox o WHERE o.scope_id = scope AND o.derived_key = derived;
  END IF;
  RETURN made;
END
$$;

-- lookup: the record as it stands, for its own caller. No row: the key was never used, or is forgotten.
CREATE FUNCTION pawl.lookup(scope text, key text)
RETURNS TABLE (status text, fence bigint, attempt integer, recovery_point text, response_code integer,
               response_headers jsonb, response_body bytea, created_at timestamptz, completed_at timestamptz,
               expires_at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT k.status, k.fence, k.attempt, k.recovery_point, k.response_code, k.response_headers, k.response_body,
         k.created_at, k.completed_at, k.expires_at
    FROM pawl.keys k WHERE k.scope_id = lookup.scope AND k.idempotency_key = lookup.key
$$;

-- The note by which the background passes find a key (see pawl.due in 0001_keys.sql).
CREATE FUNCTION pawl.note_due(scope text, key text, kind text, due_at timestamptz) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO pawl.due (scope_id, id, kind, due_at, idempotency_keys)
  VALUES (scope, (random() * 9007199254740991)::bigint, kind, due_at, ARRAY[key])
$$;

-- reserve: the first step, for a service that has no gateway in front. Commit it before the work
-- starts. `decision` is one of execute, replay, in_flight, misuse, undetermined, gone; only execute
-- may go on, with the fence that came with it. `owner` is a random token of this attempt: asking
-- again with the same one returns the same grant.
CREATE FUNCTION pawl.reserve(scope text, key text, fingerprint text, owner text, policy jsonb DEFAULT '{"v":1}')
RETURNS TABLE (decision text, fence bigint, recovery_point text, response_code integer, response_headers jsonb,
               response_body bytea)
LANGUAGE plpgsql AS $$
DECLARE
  lease     interval := pawl.policy_duration(reserve.policy, 'lease_us', interval '30 seconds');
  retention interval := pawl.policy_duration(reserve.policy, 'retention_us', interval '48 hours');
  at        timestamptz := clock_timestamp();
  held      pawl.keys%ROWTYPE;
  granted   bigint;
  over      boolean;
BEGIN
  IF length(reserve.key) NOT BETWEEN 1 AND 255 OR reserve.key !~ '^[\x20-\x7e]+$' THEN
    RAISE EXCEPTION 'key must be 1 to 255 printable ASCII characters' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF reserve.scope = '' OR reserve.fingerprint = '' OR reserve.owner = '' OR (reserve.policy ->> 'v') IS DISTINCT FROM '1' THEN
    RAISE EXCEPTION 'scope, fingerprint and owner must not be empty, and policy must be an object with "v": 1'
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM pawl.demand_durability();
  granted := (extract(epoch FROM at) * 1000000)::bigint;
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

  SELECT * INTO held FROM pawl.keys k WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key FOR UPDATE;
  IF NOT FOUND THEN  -- deleted between the two statements: the caller asks again
    RAISE EXCEPTION 'the record of this key was just deleted' USING ERRCODE = 'serialization_failure';
  END IF;
  over := held.status IN ('completed', 'failed_retryable') AND held.expires_at <= at;
  IF held.status = 'expired'
     OR (over AND 'tombstone' IN (coalesce(held.policy ->> 'expired', ''), coalesce(reserve.policy ->> 'expired', ''))) THEN
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
  IF held.status = 'in_progress' AND held.owner = pawl.stored_text(reserve.owner) THEN
    UPDATE pawl.keys k SET locked_until = greatest(k.locked_until, at + lease)
     WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key;
    RETURN QUERY SELECT 'execute', held.fence, held.recovery_point, NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;
  IF held.status = 'pending' OR (held.status = 'in_progress' AND held.locked_until > at) THEN
    RETURN QUERY SELECT 'in_flight', held.fence, '', NULL::integer, NULL::jsonb, NULL::bytea;
    RETURN;
  END IF;
  IF held.status = 'in_progress' AND coalesce(held.policy ->> 'on_lease_expiry', 'unknown') = 'unknown' THEN
    UPDATE pawl.keys k SET status = 'unknown', reconcile_after = at, last_error = 'lease-expired'
     WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key;
    PERFORM pawl.note_due(scope, key, 'unknown', at);
    held.status := 'unknown';
  END IF;
  IF held.status = 'unknown' THEN
    RETURN QUERY SELECT 'undetermined', held.fence, '', NULL::integer, NULL::jsonb, NULL::bytea;
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
    UPDATE pawl.keys k
       SET status = 'in_progress', fence = granted, owner = pawl.stored_text(reserve.owner), attempt = k.attempt + 1,
           locked_at = at, locked_until = at + lease, reconcile_after = NULL, last_error = '', policy = reserve.policy,
           expires_at = greatest(k.expires_at, at + retention)
     WHERE k.scope_id = reserve.scope AND k.idempotency_key = reserve.key;
  END IF;
  PERFORM pawl.note_due(scope, key, 'in_progress', at + lease);
  RETURN QUERY SELECT 'execute', granted, held.recovery_point, NULL::integer, NULL::jsonb, NULL::bytea;
END
$$;
