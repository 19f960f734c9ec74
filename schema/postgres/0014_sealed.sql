-- Encryption at rest. What is sealed is a matter of the nodes: the database holds no key that opens it.

-- A data key of a scope, wrapped by a key that only the nodes' keys_file has. Erasing the wrapped key
-- erases everything that was sealed with it; the row stays, so that its generation is never used again.
CREATE TABLE pawl.data_keys (
  scope_id   text COLLATE "C" NOT NULL,
  generation bigint NOT NULL,
  kek        text COLLATE "C" NOT NULL,  -- the id of the key that wraps it
  wrapped    text   NOT NULL,            -- in hexadecimal; '': erased
  PRIMARY KEY (scope_id, generation)
);

-- A row whose headers and body are sealed has a digest of its id and its body, so that the same
-- message enqueued again is recognised. '': it lies in clear.
ALTER TABLE pawl.outbox ADD COLUMN sealed_digest text NOT NULL DEFAULT '';

-- response_schema_version above 100: the answer is sealed, and response_body is no body.

-- lookup: as it was, without the headers and the body of an answer that is sealed.
CREATE OR REPLACE FUNCTION pawl.lookup(scope text, key text)
RETURNS TABLE (status text, fence bigint, attempt integer, recovery_point text, response_code integer,
               response_headers jsonb, response_body bytea, created_at timestamptz, completed_at timestamptz,
               expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
  SELECT k.status, CASE WHEN own THEN k.fence END, k.attempt, CASE WHEN own THEN k.recovery_point END,
         CASE WHEN own THEN k.response_code END,
         CASE WHEN own AND k.response_schema_version < 100 THEN k.response_headers END,
         CASE WHEN own AND k.response_schema_version < 100 THEN k.response_body END, k.created_at, k.completed_at, k.expires_at
    FROM pawl.keys k, LATERAL (SELECT pawl.is_services(k) AS own) AS leave
   WHERE k.scope_id = lookup.scope AND k.idempotency_key = lookup.key
$$;

-- reserve: as it was; an answer that is sealed cannot be replayed from here (PW003), and is never a
-- reason to execute.
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
    IF held.response_schema_version > 100 THEN
      RAISE EXCEPTION 'pawl.reserve: the answer of this key is sealed'
        USING ERRCODE = 'PW003',
              DETAIL = 'A node with encryption keys has stored it; the database has none of them.',
              HINT = 'Ask that node for it (GET /_pawl/v1/keys/KEY). Do not execute the request.';
    END IF;
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

-- enqueue: as it was; a message that was sealed since is compared by its digest.
CREATE OR REPLACE FUNCTION pawl.enqueue(scope text, key text, fence bigint, destination text, body bytea,
                                        path text DEFAULT '/', headers jsonb DEFAULT '[]', step text DEFAULT '')
RETURNS uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  held    pawl.keys%ROWTYPE;
  there   pawl.outbox%ROWTYPE;
  life    text;
  derived text;
  former  text;  -- as it was derived before lives were part of it
BEGIN
  PERFORM pawl.demand_durability();
  -- The row lock makes the guard hold until this transaction ends.
  SELECT * INTO held FROM pawl.keys k
    WHERE k.scope_id = enqueue.scope AND k.idempotency_key = enqueue.key
      AND k.fence = enqueue.fence AND k.status = 'in_progress' AND pawl.is_services(k) FOR UPDATE;
  IF NOT FOUND THEN PERFORM pawl.lost_fence('enqueue', scope, key, fence); END IF;
  life := ((extract(epoch FROM held.created_at) * 1000000)::bigint)::text;
  former := concat_ws(':', 'pawl-derived-key', length(scope), scope, length(key), key,
    length(destination), destination, length(step), step);
  derived := encode(sha256(convert_to(concat_ws(':', former, length(life), life), 'UTF8')), 'hex');
  former := encode(sha256(convert_to(former, 'UTF8')), 'hex');
  -- A row from before this version, of this very life: the promise is made. An earlier life's is
  -- older than its retention.
  SELECT * INTO there FROM pawl.outbox o
   WHERE o.scope_id = enqueue.scope AND o.derived_key = former
     AND o.created_at > held.created_at
         - least(pawl.policy_duration(held.policy, 'retention_us', interval '48 hours'), interval '10 minutes');
  IF NOT FOUND THEN
    INSERT INTO pawl.outbox AS o (scope_id, idempotency_key, destination, derived_key, path, headers, body,
                                  next_attempt_at, created_at)
    VALUES (scope, key, destination, derived, path, pawl.stored_headers(headers), coalesce(body, ''), now(), now())
    ON CONFLICT DO NOTHING RETURNING * INTO there;
    IF FOUND THEN RETURN there.id; END IF;
    SELECT * INTO there FROM pawl.outbox o WHERE o.scope_id = enqueue.scope AND o.derived_key = derived;
  END IF;
  IF there.path IS DISTINCT FROM enqueue.path OR (CASE WHEN there.sealed_digest = '' THEN there.body <> coalesce(enqueue.body, '')
             ELSE there.sealed_digest <>
                  encode(sha256(convert_to(there.id::text, 'UTF8') || coalesce(enqueue.body, '')), 'hex') END) THEN
    RAISE EXCEPTION 'pawl.enqueue: another message was already promised to % under this key and step', destination
      USING ERRCODE = 'PW002',
            DETAIL = format('Row %s has another path or body.', there.id),
            HINT = 'Give each call to one destination a step of its own, the same in every try.';
  END IF;
  RETURN there.id;
END
$$;
