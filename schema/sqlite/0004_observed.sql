-- What observe mode saw. Tables of their own: nothing in them is ever replayed or blocks a key.

-- How far each observed key would be. No key and no answer, only digests and dates.
CREATE TABLE observed_keys (
  scope_id         TEXT NOT NULL CHECK (scope_id <> ''),
  key_digest       TEXT NOT NULL,            -- of scope and key, hexadecimal
  fingerprint      TEXT NOT NULL,
  status           TEXT NOT NULL,            -- what the record's status would be
  fence            INTEGER NOT NULL,
  owner            TEXT NOT NULL,            -- the observation that would have executed it
  response_code    INTEGER NOT NULL,         -- 0: none
  policy           TEXT NOT NULL,            -- JSON: the rules it would have been accepted under
  locked_until     INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  completed_at     INTEGER NOT NULL,
  expires_at       INTEGER NOT NULL,
  reap_after       INTEGER NOT NULL,         -- deleted from here on, whatever its status
  PRIMARY KEY (scope_id, key_digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX observed_keys_by_reap ON observed_keys (reap_after);

-- What would have been answered, counted by caller, route and span of time.
CREATE TABLE observed_counts (
  scope_id         TEXT NOT NULL,            -- 'unauthenticated' and 'others' are no caller's
  from_time        INTEGER NOT NULL,         -- the span's start
  route            TEXT NOT NULL,
  would            TEXT NOT NULL,            -- created, replay, key_missing, ..
  requests         INTEGER NOT NULL,
  near_duplicates  INTEGER NOT NULL,         -- of those
  last_at          INTEGER NOT NULL,
  last_key         TEXT NOT NULL,            -- its short hash, as in the logs; '' for none
  PRIMARY KEY (scope_id, from_time, route, would)
) STRICT, WITHOUT ROWID;

CREATE INDEX observed_counts_by_time ON observed_counts (from_time);
