-- The outbox: calls to the outside that were promised in a transaction and are made after it. A row
-- is written by Transaction::enqueue beside the business rows, so that neither is there without the
-- other. The columns are those of schema/postgres/0003_outbox.sql.
CREATE TABLE outbox (
  scope_id         TEXT NOT NULL CHECK (scope_id <> ''),
  id               TEXT NOT NULL CHECK (id <> ''),   -- a random UUID
  idempotency_key  TEXT NOT NULL,                    -- the record it was promised under; may be gone
  destination      TEXT NOT NULL CHECK (destination <> ''),  -- one the worker's configuration names
  derived_key      TEXT NOT NULL CHECK (derived_key <> ''),  -- sent as Idempotency-Key
  method           TEXT NOT NULL DEFAULT 'POST',
  path             TEXT NOT NULL DEFAULT '/',
  headers          TEXT NOT NULL DEFAULT '[]',       -- [["Name","value"],...], as in keys
  body             BLOB NOT NULL DEFAULT x'',
  status           TEXT NOT NULL DEFAULT 'pending'
    CHECK (status = 'pending' OR status = 'sending' OR status = 'done' OR status = 'dead'
           OR status = 'unknown'),  -- not IN: see keys
  attempt          INTEGER NOT NULL DEFAULT 0,
  owner            TEXT NOT NULL DEFAULT '',
  locked_until     INTEGER,                          -- the claim's lease
  next_attempt_at  INTEGER NOT NULL,
  first_sent_at    INTEGER,                          -- begins the destination's dedupe_window
  provider_id      TEXT NOT NULL DEFAULT '',         -- recorded before the row is done
  response_code    INTEGER,
  last_error       TEXT NOT NULL DEFAULT '',
  created_at       INTEGER NOT NULL,
  done_at          INTEGER,
  PRIMARY KEY (scope_id, id),
  UNIQUE (scope_id, derived_key)
) STRICT;

-- The worker's question: what is due, oldest first. Small: done rows are not in it.
CREATE INDEX outbox_next ON outbox (next_attempt_at) WHERE status IN ('pending', 'sending');
