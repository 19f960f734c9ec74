-- Events that say which attempt they are about, by any name a provider knows it by; rows of the
-- outbox that a source is asked about; and promises that belong to one life of their key.

-- When the attempt that is doubted began: an event from before it says nothing about it, unless the
-- effect is there. 0: not known.
ALTER TABLE pawl.cases ADD COLUMN began_at bigint NOT NULL DEFAULT 0;
-- 'resource:' and what the record's answer called what it made; '' where it named nothing.
ALTER TABLE pawl.cases ADD COLUMN resource text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX cases_by_subject ON pawl.cases (subject);
CREATE INDEX cases_by_resource ON pawl.cases (resource) WHERE resource <> '';

-- The request that an event named; '' where it named only a derived key or a resource.
ALTER TABLE pawl.webhook_events ADD COLUMN scope_id text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE pawl.webhook_events ADD COLUMN idempotency_key text COLLATE "C" NOT NULL DEFAULT '';
-- Not looked at before then, while it waits.
ALTER TABLE pawl.webhook_events ADD COLUMN look_at bigint NOT NULL DEFAULT 0;
-- What came before and waits for no case is looked at when its record is in doubt, as ever.
UPDATE pawl.webhook_events e SET look_at = 9223372036854775807
 WHERE e.applied_as = '' AND NOT EXISTS (
   SELECT 1 FROM pawl.cases c WHERE c.subject = e.subject AND c.state <> 'closed');
CREATE INDEX webhook_events_waiting ON pawl.webhook_events (look_at) WHERE applied_as = '' AND is_final = 1;

-- How often a source was asked about a row in `unknown`, and how often in a row it had not seen it.
ALTER TABLE pawl.outbox ADD COLUMN asked integer NOT NULL DEFAULT 0;
ALTER TABLE pawl.outbox ADD COLUMN absent integer NOT NULL DEFAULT 0;
ALTER TABLE pawl.outbox ADD COLUMN doubted_at timestamptz;  -- when it was first asked about: nobody sends any more
CREATE INDEX outbox_in_doubt ON pawl.outbox (destination, next_attempt_at) WHERE status = 'unknown';

-- enqueue: a call to the outside, promised in this transaction and made by a worker after it. The
-- derived key is what the destination dedupes by. It is of one life of the key (the record's
-- created_at), so that a key that is new again after its retention promises anew; the same promise
-- made again is the same row; another path or body under it is an error (PW002), never swallowed.
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
  IF there.path IS DISTINCT FROM enqueue.path OR there.body <> coalesce(enqueue.body, '') THEN
    RAISE EXCEPTION 'pawl.enqueue: another message was already promised to % under this key and step', destination
      USING ERRCODE = 'PW002',
            DETAIL = format('Row %s has another path or body.', there.id),
            HINT = 'Give each call to one destination a step of its own, the same in every try.';
  END IF;
  RETURN there.id;
END
$$;
