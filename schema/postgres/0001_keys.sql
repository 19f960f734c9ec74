-- The table the promise lives in, and the notes by which the background passes find their rows.
-- Names follow docs and code. Everything may be distributed by scope_id (Citus): every unique
-- constraint starts with it, there are no triggers, and no statement needs a global sequence.
--
-- Text and bytes. Columns of type text hold what they say, with one exception: a value that is no
-- UTF-8 (or has a zero byte, or itself starts with \x) is written as \x and its bytes in
-- hexadecimal. So a header or an error in Latin-1 survives, and everything else can be read as it
-- stands. scope_id and idempotency_key are never written that way: what is no text is refused.

CREATE TABLE pawl.keys (
  scope_id         text COLLATE "C" NOT NULL,  -- whose key it is; compared byte by byte
  idempotency_key  text COLLATE "C" NOT NULL,  -- decoded: k, "k" and "k";a=1 are one key
  fingerprint      text        NOT NULL,       -- what the request means: version.secret-id.hash
  status           text        NOT NULL,       -- design section 3
  fence            bigint      NOT NULL,       -- rises with every owner; never repeats for a key
  owner            text        NOT NULL,       -- random, per attempt
  attempt          integer     NOT NULL,
  recovery_point   text        NOT NULL DEFAULT '',
  locked_at        timestamptz,                -- in_progress: since when it is held
  locked_until     timestamptz,                -- in_progress: the lease. unknown: its end, once
  reconcile_after  timestamptz,                -- unknown: when to ask next
  method           text        NOT NULL DEFAULT '',
  path             text        NOT NULL DEFAULT '',
  route            text        NOT NULL DEFAULT '',
  request          bytea,                      -- async: a line of JSON (target, headers), the body
  request_digest   bytea,                      -- of `request`: lets it be left alone if it is large
  response_code    integer,
  response_headers jsonb,                      -- [["Name","value"],...] in order, repeats and all
  response_body    bytea,                      -- exact bytes; null with a code: too large to keep
  response_schema_version integer,
  resource_type    text        NOT NULL DEFAULT '',
  resource_id      text        NOT NULL DEFAULT '',
  last_error       text        NOT NULL DEFAULT '',
  policy           jsonb       NOT NULL,       -- the rules this attempt was accepted under
  created_at       timestamptz NOT NULL,
  completed_at     timestamptz,
  expires_at       timestamptz NOT NULL,       -- finished rows: reaped from here on
  -- When the reaper looks at the row next. Set once, to the first expires_at, and left alone by a
  -- completion: it is indexed, and a completion must stay a HOT update. Never later than expires_at
  -- of a row that may be reaped; a statement that lowers expires_at says least(reap_after, ...).
  reap_after       timestamptz NOT NULL,
  PRIMARY KEY (scope_id, idempotency_key),
  -- Few and short: a server reads every CHECK anew for every statement. Programs check the rest.
  CHECK (status IN
    ('completed', 'in_progress', 'failed_retryable', 'unknown', 'pending', 'expired')),
  CHECK (fence > 0 AND (status <> 'completed' OR response_code IS NOT NULL)
    AND (status <> 'in_progress' OR locked_until IS NOT NULL))
)
-- More than half a page is left for the completion that follows every reservation: a HOT update
-- then touches no index. Vacuum by small shares: a fifth of a table of millions is far too late.
WITH (fillfactor = 45,
      autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 10000,
      autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.02,
      autovacuum_vacuum_cost_delay = 1);

CREATE INDEX keys_reap_after ON pawl.keys (reap_after);

-- Which keys a background pass must look at, and when. One row per batch and scope, written in the
-- batch's own transaction, so group commit makes it nearly free; nothing is written when a key
-- completes or renews its lease. The rule that makes it safe:
--
--   every key that is in_progress, unknown or pending stands in at least one row of that kind whose
--   due_at is not later than its locked_until, reconcile_after or created_at.
--
-- A pass reads the rows that are due, looks at their keys, and then deletes the row, or moves it to
-- the next time one of the keys that are left is due. Whoever makes a key in_progress, unknown or
-- pending, or brings such a time forward, writes a row here in the same transaction. A superfluous
-- row does no harm.
CREATE TABLE pawl.due (
  scope_id         text COLLATE "C" NOT NULL,
  id               bigint      NOT NULL,  -- random
  kind             text        NOT NULL,  -- the status it is about
  due_at           timestamptz NOT NULL,
  idempotency_keys text[]      NOT NULL,
  PRIMARY KEY (scope_id, id, kind),
  CHECK (kind IN ('in_progress', 'unknown', 'pending'))
)
WITH (toast_tuple_target = 8160,
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
      autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 50000,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 5000,
      autovacuum_vacuum_cost_delay = 0);

-- Keys are mostly random: trying to compress them only costs time.
ALTER TABLE pawl.due ALTER COLUMN idempotency_keys SET STORAGE EXTERNAL;

CREATE INDEX due_kind_due_at ON pawl.due (kind, due_at, scope_id, id);
