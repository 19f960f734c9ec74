-- Encryption at rest. The columns are those of schema/postgres/0014_sealed.sql.

-- A data key of a scope, wrapped by a key that only the nodes' keys_file has. wrapped = '': erased,
-- and what it sealed with it; the row stays, so that its generation is never used again.
CREATE TABLE data_keys (
  scope_id   TEXT NOT NULL,
  generation INTEGER NOT NULL,
  kek        TEXT NOT NULL,
  wrapped    TEXT NOT NULL,
  PRIMARY KEY (scope_id, generation)
) WITHOUT ROWID;

-- A row whose headers and body are sealed has a digest of its id and its body, so that the same
-- message enqueued again is recognised. '': it lies in clear.
ALTER TABLE outbox ADD COLUMN sealed_digest TEXT NOT NULL DEFAULT '';
