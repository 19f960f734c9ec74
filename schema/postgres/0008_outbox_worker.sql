-- What the outbox's worker and an operator add to 0003_outbox.sql.
ALTER TABLE pawl.outbox ADD COLUMN discarded_at timestamptz;  -- a dead letter that an operator wants no more of

-- A worker asks for one destination at a time: one that is away must not hide the others.
DROP INDEX pawl.outbox_next;
CREATE INDEX outbox_due ON pawl.outbox (destination, next_attempt_at) WHERE status IN ('pending', 'sending');
-- What waits for an operator.
CREATE INDEX outbox_parked ON pawl.outbox (status, created_at) WHERE status IN ('dead', 'unknown');

-- Which row of the outbox an operator's action was about; empty: it was about the key's record.
ALTER TABLE pawl.audit ADD COLUMN outbox_id text NOT NULL DEFAULT '';
