-- What was done about records whose outcome is not known. The record itself stays the truth: these
-- rows count and remember, they never decide. Times are microseconds since 1970 (UTC).

-- One row per record that was ever unknown: how often its source was asked, and when next.
CREATE TABLE pawl.cases (
  scope_id         text COLLATE "C" NOT NULL,
  idempotency_key  text COLLATE "C" NOT NULL,
  fence            bigint  NOT NULL,         -- of the owner that is doubted
  subject          text COLLATE "C" NOT NULL,  -- the derived key: what an event may know it by
  source           text    NOT NULL,         -- who is asked; '' for nobody
  -- open; dead: nobody is asked any more; released: found not executed; closed: settled
  state            text    NOT NULL CHECK (state IN ('open', 'dead', 'released', 'closed')),
  attempts         bigint  NOT NULL,         -- counted before the question is sent
  absent           bigint  NOT NULL,         -- how often in a row it was not there, late enough
  next_at          bigint  NOT NULL,         -- not asked before; while one asks, until when it may
  opened_at        bigint  NOT NULL,
  changed_at       bigint  NOT NULL,
  last_result      text    NOT NULL,
  PRIMARY KEY (scope_id, idempotency_key)
);

-- An event looks for its case, and the dead letters are counted.
CREATE INDEX cases_live ON pawl.cases (subject) WHERE state <> 'closed';
CREATE INDEX cases_by_change ON pawl.cases (changed_at);

-- The whole history of a case, in the order it happened.
CREATE TABLE pawl.case_notes (
  scope_id         text COLLATE "C" NOT NULL,
  idempotency_key  text COLLATE "C" NOT NULL,
  at               bigint  NOT NULL,
  fence            bigint  NOT NULL,
  source           text    NOT NULL,
  result           text    NOT NULL,
  detail           text    NOT NULL
);

CREATE INDEX case_notes_by_key ON pawl.case_notes (scope_id, idempotency_key);
CREATE INDEX case_notes_by_time ON pawl.case_notes (at);

-- What providers told by webhook, each event once. Kept before the provider is answered; applied
-- when its record is unknown, however much later that is. Distributed by subject: an event that
-- names only the derived key has no scope to go by.
CREATE TABLE pawl.webhook_events (
  subject          text COLLATE "C" NOT NULL,  -- the derived key of what it is about
  source           text    NOT NULL,
  event_id         text    NOT NULL,
  is_final         bigint  NOT NULL,         -- 0: pending, and never resolves anything
  happened_at      bigint  NOT NULL,         -- as the event says; else received_at
  received_at      bigint  NOT NULL,
  response_code    bigint  NOT NULL,         -- what a completed record would be given
  response_type    text    NOT NULL,
  response_body    text    NOT NULL,
  applied_as       text    NOT NULL,         -- what became of it; '' while it waits
  PRIMARY KEY (subject, source, event_id)
);

CREATE INDEX webhook_events_by_time ON pawl.webhook_events (received_at);

-- The last comparison of a source's ledger with ours, and when the next one is due. One row per
-- source; whoever moves next_at on makes it.
CREATE TABLE pawl.comparisons (
  source           text COLLATE "C" PRIMARY KEY,
  next_at          bigint  NOT NULL,         -- not before; while one is made, until when it may
  ended_at         bigint  NOT NULL,         -- of the last one that was made to the end; 0: none yet
  result           text    NOT NULL,         -- what it counted, as JSON; '' before the first
  trouble          text    NOT NULL          -- why the last try was not made to the end; ''
);

-- What the record was before: a reader of the audit sees the whole step.
ALTER TABLE pawl.audit ADD COLUMN status_before text NOT NULL DEFAULT '';
