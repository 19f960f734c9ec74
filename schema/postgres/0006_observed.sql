-- What observe mode saw. Tables of their own: nothing in them is ever replayed or blocks a key, and
-- no function of this schema reads them. Times are microseconds since 1970 (UTC).

-- How far each observed key would be. No key and no answer, only digests and dates.
CREATE TABLE pawl.observed_keys (
  scope_id         text COLLATE "C" NOT NULL,
  key_digest       text COLLATE "C" NOT NULL,  -- of scope and key, hexadecimal
  fingerprint      text        NOT NULL,
  status           text        NOT NULL,       -- what the record's status would be
  fence            bigint      NOT NULL,
  owner            text        NOT NULL,       -- the observation that would have executed it
  response_code    integer     NOT NULL,       -- 0: none
  policy           text        NOT NULL,       -- JSON: the rules it would have been accepted under
  locked_until     bigint      NOT NULL,
  created_at       bigint      NOT NULL,
  completed_at     bigint      NOT NULL,
  expires_at       bigint      NOT NULL,
  reap_after       bigint      NOT NULL,       -- deleted from here on, whatever its status
  PRIMARY KEY (scope_id, key_digest)
);

CREATE INDEX observed_keys_reap_after ON pawl.observed_keys (reap_after);

-- What would have been answered, counted by caller, route and span of time.
CREATE TABLE pawl.observed_counts (
  scope_id         text COLLATE "C" NOT NULL,  -- 'unauthenticated' and 'others' are no caller's
  from_time        bigint      NOT NULL,       -- the span's start
  route            text COLLATE "C" NOT NULL,
  would            text COLLATE "C" NOT NULL,  -- created, replay, key_missing, ..
  requests         bigint      NOT NULL,
  near_duplicates  bigint      NOT NULL,       -- of those
  last_at          bigint      NOT NULL,
  last_key         text COLLATE "C" NOT NULL,  -- its short hash, as in the logs; '' for none
  PRIMARY KEY (scope_id, from_time, route, would)
);

CREATE INDEX observed_counts_from_time ON pawl.observed_counts (from_time);
