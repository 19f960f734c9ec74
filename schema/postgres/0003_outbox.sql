-- The outbox: calls to the outside that were promised in a transaction and are made after it. A row
-- is written by pawl.enqueue beside the business rows, so that neither is there without the other.
CREATE TABLE pawl.outbox (
  scope_id         text COLLATE "C" NOT NULL,
  id               uuid        NOT NULL DEFAULT gen_random_uuid(),
  idempotency_key  text COLLATE "C" NOT NULL,  -- the record it was promised under; it may be gone by now
  destination      text        NOT NULL,       -- a destination the worker's configuration names
  derived_key      text        NOT NULL,       -- sent as Idempotency-Key; stored before anything is sent
  method           text        NOT NULL DEFAULT 'POST',
  path             text        NOT NULL DEFAULT '/',
  headers          jsonb       NOT NULL DEFAULT '[]',  -- [["Name","value"],...]
  body             bytea       NOT NULL DEFAULT '',
  status           text        NOT NULL DEFAULT 'pending',
  attempt          integer     NOT NULL DEFAULT 0,
  owner            text        NOT NULL DEFAULT '',
  locked_until     timestamptz,                -- the claim's lease
  next_attempt_at  timestamptz NOT NULL,
  first_sent_at    timestamptz,                -- begins the destination's dedupe_window
  provider_id      text        NOT NULL DEFAULT '',  -- recorded before the row is done
  response_code    integer,
  last_error       text        NOT NULL DEFAULT '',
  created_at       timestamptz NOT NULL,
  done_at          timestamptz,
  PRIMARY KEY (scope_id, id),
  UNIQUE (scope_id, derived_key),
  CHECK (status IN ('pending', 'sending', 'done', 'dead', 'unknown'))
);

-- The worker's question: what is due, oldest first. Small: done rows are not in it.
CREATE INDEX outbox_next ON pawl.outbox (next_attempt_at) WHERE status IN ('pending', 'sending');
