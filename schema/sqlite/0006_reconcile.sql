-- What was done about records whose outcome is not known. The record itself stays the truth: these
-- rows count and remember, they never decide. The columns are those of
-- schema/postgres/0009_reconcile.sql. Times are microseconds since 1970 (UTC).

-- One row per record that was ever unknown: how often its source was asked, and when next.
CREATE TABLE cases (
  scope_id         TEXT NOT NULL CHECK (scope_id <> ''),
  idempotency_key  TEXT NOT NULL CHECK (idempotency_key <> ''),
  fence            INTEGER NOT NULL,         -- of the owner that is doubted
  subject          TEXT NOT NULL,            -- the derived key: what an event may know it by
  source           TEXT NOT NULL,            -- who is asked; '' for nobody
  -- open; dead: nobody is asked any more; released: found not executed; closed: settled
  state            TEXT NOT NULL CHECK (state = 'open' OR state = 'dead' OR state = 'released'
                                        OR state = 'closed'),
  attempts         INTEGER NOT NULL,         -- counted before the question is sent
  absent           INTEGER NOT NULL,         -- how often in a row it was not there, late enough
  next_at          INTEGER NOT NULL,         -- not asked before; while one asks, until when it may
  opened_at        INTEGER NOT NULL,
  changed_at       INTEGER NOT NULL,
  last_result      TEXT NOT NULL,
  PRIMARY KEY (scope_id, idempotency_key)
) STRICT, WITHOUT ROWID;

-- An event looks for its case, and the dead letters are counted.
CREATE INDEX cases_live ON cases (subject) WHERE state <> 'closed';
CREATE INDEX cases_by_change ON cases (changed_at);

-- The whole history of a case, in the order it happened.
CREATE TABLE case_notes (
  id               INTEGER PRIMARY KEY,
  scope_id         TEXT NOT NULL,
  idempotency_key  TEXT NOT NULL,
  at               INTEGER NOT NULL,
  fence            INTEGER NOT NULL,
  source           TEXT NOT NULL,
  result           TEXT NOT NULL,
  detail           TEXT NOT NULL
) STRICT;

CREATE INDEX case_notes_by_key ON case_notes (scope_id, idempotency_key);
CREATE INDEX case_notes_by_time ON case_notes (at);

-- What providers told by webhook, each event once. Kept before the provider is answered; applied
-- when its record is unknown, however much later that is.
CREATE TABLE webhook_events (
  subject          TEXT NOT NULL,            -- the derived key of what it is about
  source           TEXT NOT NULL,
  event_id         TEXT NOT NULL,
  is_final         INTEGER NOT NULL,         -- 0: pending, and never resolves anything
  happened_at      INTEGER NOT NULL,         -- as the event says; else received_at
  received_at      INTEGER NOT NULL,
  response_code    INTEGER NOT NULL,         -- what a completed record would be given
  response_type    TEXT NOT NULL,
  response_body    TEXT NOT NULL,
  applied_as       TEXT NOT NULL,            -- what became of it; '' while it waits
  PRIMARY KEY (subject, source, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_events_by_time ON webhook_events (received_at);

-- The last comparison of a source's ledger with ours, and when the next one is due. One row per
-- source; whoever moves next_at on makes it.
CREATE TABLE comparisons (
  source           TEXT NOT NULL PRIMARY KEY CHECK (source <> ''),
  next_at          INTEGER NOT NULL,         -- not before; while one is made, until when it may
  ended_at         INTEGER NOT NULL,         -- of the last one that was made to the end; 0: none yet
  result           TEXT NOT NULL,            -- what it counted, as JSON; '' before the first
  trouble          TEXT NOT NULL             -- why the last try was not made to the end; ''
) STRICT, WITHOUT ROWID;
