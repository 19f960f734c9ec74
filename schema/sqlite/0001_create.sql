-- The tables of a Pawl store in SQLite. Times are microseconds since 1970 (UTC), by its clock.
-- Every row is checked twice: in code before it is written and after it is read, and here.
-- The store sets application_id and user_version itself, in the transaction that runs this file.

-- One row per (scope, key): all that is known about a request.
-- A rowid table on purpose: rows then lie in the order they came, a completion finds its row on a
-- page that was just written, and random keys of clients scatter over the narrow unique index only.
CREATE TABLE keys (
  -- whose key it is, and the client's string, decoded
  scope_id         TEXT NOT NULL CHECK (scope_id <> ''),
  idempotency_key  TEXT NOT NULL CHECK (idempotency_key <> ''),
  -- what the request means: version.secret-id.hash
  fingerprint      TEXT NOT NULL CHECK (fingerprint <> ''),
  -- (not IN: for a list of more than two SQLite builds a temporary index, anew for every write)
  status           TEXT NOT NULL CHECK (status = 'in_progress' OR status = 'completed'
                                        OR status = 'failed_retryable' OR status = 'unknown'
                                        OR status = 'pending' OR status = 'expired'),
  -- rises with every new owner, and never repeats for a key
  fence            INTEGER NOT NULL CHECK (fence >= 1),
  -- the random token of the attempt
  owner            TEXT NOT NULL CHECK (owner <> ''),
  -- 1 for the first owner of this life of the key
  attempt          INTEGER NOT NULL CHECK (attempt >= 1),
  -- the last atomic phase that committed; '' for none
  recovery_point   TEXT NOT NULL,
  -- the lease; of an unknown record: when the last lease ended
  locked_at        INTEGER CHECK ((locked_at IS NOT NULL) = (status = 'in_progress')),
  locked_until     INTEGER
    CHECK ((locked_until IS NOT NULL) = (status IN ('in_progress', 'unknown'))),
  -- when to ask the provider what became of it
  reconcile_after  INTEGER CHECK ((reconcile_after IS NOT NULL) = (status = 'unknown')),
  method           TEXT NOT NULL,
  path             TEXT NOT NULL,
  -- the route's name in the configuration
  route            TEXT NOT NULL,
  -- async routes: one line of JSON {"target": .., "headers": [[name, value], ..]}, a line feed,
  -- then the body's bytes as they are
  request          BLOB,
  response_code    INTEGER CHECK ((response_code IS NOT NULL) = (status = 'completed')),
  -- JSON [[name, value], ..]; each byte is one code point (Latin-1), so that any bytes survive
  response_headers TEXT CHECK ((response_headers IS NOT NULL) = (status = 'completed')),
  -- exact bytes; NULL in a completed row: too large to keep
  response_body    BLOB CHECK (response_body IS NULL OR status = 'completed'),
  response_schema_version INTEGER
    CHECK ((response_schema_version IS NOT NULL) = (status = 'completed')),
  -- what the answer created; '' for none
  resource_type    TEXT NOT NULL,
  resource_id      TEXT NOT NULL,
  -- why it is not completed; '' for no reason
  last_error       TEXT NOT NULL,
  -- JSON: the rules the attempt was accepted under
  policy           TEXT NOT NULL,
  created_at       INTEGER NOT NULL,
  completed_at     INTEGER CHECK ((completed_at IS NOT NULL) = (status = 'completed')),
  -- in_progress and unknown records never expire, whatever it says
  expires_at       INTEGER NOT NULL,
  UNIQUE (scope_id, idempotency_key)
) STRICT;

-- The sweeper's rows. Holds live leases only, so it stays a few pages whatever the table's size.
CREATE INDEX keys_by_lease ON keys (locked_until) WHERE status = 'in_progress';

-- The reconciler's rows: few, and untouched by a request that goes well.
CREATE INDEX keys_by_doubt ON keys (reconcile_after) WHERE status = 'unknown';

-- The reaper's rows. A row enters when it is finished, near the right edge: expiry times rise.
CREATE INDEX keys_by_expiry ON keys (expires_at) WHERE status NOT IN ('in_progress', 'unknown');

-- Answers that came too late to count. They outlive the record: no foreign key.
CREATE TABLE evidence (
  id               INTEGER PRIMARY KEY,
  scope_id         TEXT NOT NULL,
  idempotency_key  TEXT NOT NULL,
  fence            INTEGER NOT NULL,        -- the fence under which the late owner had executed
  owner            TEXT NOT NULL,
  fingerprint      TEXT NOT NULL,
  attempt          INTEGER NOT NULL,
  -- how far it got
  evidence         TEXT NOT NULL CHECK (evidence IN ('not_sent', 'sent', 'answered')),
  response_code    INTEGER,                 -- these four as in keys; NULL where there was no answer
  response_headers TEXT,
  response_body    BLOB,
  response_schema_version INTEGER,
  detail           TEXT NOT NULL,
  kept_at          INTEGER NOT NULL
) STRICT;

CREATE INDEX evidence_by_key ON evidence (scope_id, idempotency_key);

-- Every manual action and every change against the usual order: who, when, why. Written in the
-- transaction of the change; outlives the record.
CREATE TABLE audit (
  id               INTEGER PRIMARY KEY,
  at               INTEGER NOT NULL,
  scope_id         TEXT NOT NULL,
  idempotency_key  TEXT NOT NULL,
  fence            INTEGER NOT NULL,        -- the record's fence afterwards
  status_before    TEXT NOT NULL,
  status_after     TEXT NOT NULL,
  actor            TEXT NOT NULL,
  action           TEXT NOT NULL,           -- resolve, release, purge, late-answer, ..
  reason           TEXT NOT NULL
) STRICT;

CREATE INDEX audit_by_key ON audit (scope_id, idempotency_key);

-- Facts about the store itself.
CREATE TABLE meta (
  name             TEXT NOT NULL PRIMARY KEY,
  value            TEXT NOT NULL
) STRICT;

INSERT INTO meta (name, value) VALUES
  ('store_id', lower(hex(randomblob(16)))),  -- tells this store from another file put in its place
  ('purge_epoch', '0'),                      -- raised by a purge: caches of an older epoch are void
  ('probe', '0');                            -- rewritten to see whether the disk takes writes
