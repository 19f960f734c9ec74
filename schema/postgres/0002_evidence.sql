-- What outlives a record. No foreign key to pawl.keys: the reaper must not be held up by it, and
-- these rows are read when the record is long gone.

-- Answers that came too late to count: their owner had lost the record (design section 4).
CREATE TABLE pawl.evidence (
  scope_id                text COLLATE "C" NOT NULL,
  id                      bytea       NOT NULL,  -- digest of the row: told twice, stored once
  idempotency_key         text COLLATE "C" NOT NULL,
  fence                   bigint      NOT NULL,
  owner                   text        NOT NULL,
  fingerprint             text        NOT NULL,
  attempt                 integer     NOT NULL,
  evidence                text        NOT NULL CHECK (evidence IN ('not_sent', 'sent', 'answered')),
  response_code           integer,
  response_headers        jsonb,
  response_body           bytea,
  response_schema_version integer,
  detail                  text        NOT NULL DEFAULT '',
  recorded_at             timestamptz NOT NULL,
  PRIMARY KEY (scope_id, id)
);

CREATE INDEX evidence_key ON pawl.evidence (scope_id, idempotency_key);

-- Every manual action, and everything done against the usual order: who, when, why. Written in the
-- same transaction as the change it tells of.
CREATE TABLE pawl.audit (
  scope_id        text COLLATE "C" NOT NULL,
  id              bytea       NOT NULL,  -- digest of the change: telling it twice stores it once
  idempotency_key text COLLATE "C" NOT NULL,
  fence           bigint      NOT NULL,
  status          text        NOT NULL,  -- what the record became
  actor           text        NOT NULL,
  action          text        NOT NULL,
  reason          text        NOT NULL,
  recorded_at     timestamptz NOT NULL,
  PRIMARY KEY (scope_id, id)
);

CREATE INDEX audit_key ON pawl.audit (scope_id, idempotency_key);

-- Facts about the whole store, one row each. On a distributed PostgreSQL this is a reference table.
CREATE TABLE pawl.meta (
  name  text PRIMARY KEY,
  value text NOT NULL
);

-- Raised by every purge; nodes that see a new one empty their caches.
INSERT INTO pawl.meta (name, value) VALUES ('purge_epoch', '1');
