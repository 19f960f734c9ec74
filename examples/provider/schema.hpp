// The processor's own database.
#pragma once

namespace pawl::provider {

inline constexpr const char* schema = R"sql(
CREATE TABLE IF NOT EXISTS charges (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,  -- in the order of commits: the list's cursor
  amount          INTEGER NOT NULL CHECK (amount > 0),
  currency        TEXT NOT NULL,
  customer        TEXT NOT NULL,
  reference       TEXT NOT NULL,
  status          TEXT NOT NULL CHECK (status IN ('succeeded', 'failed')),
  idempotency_key TEXT,
  created_ms      INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS charges_by_key ON charges (idempotency_key)
  WHERE idempotency_key IS NOT NULL;

CREATE TABLE IF NOT EXISTS refunds (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  charge_id       INTEGER NOT NULL REFERENCES charges (id),
  amount          INTEGER NOT NULL CHECK (amount > 0),
  idempotency_key TEXT,
  created_ms      INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS refunds_by_charge ON refunds (charge_id);
CREATE INDEX IF NOT EXISTS refunds_by_key ON refunds (idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- The witness: one row for each time that money moved, written with what moved it, never changed.
CREATE TABLE IF NOT EXISTS movements (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  charge_id  INTEGER NOT NULL REFERENCES charges (id),
  refund_id  INTEGER REFERENCES refunds (id),         -- where money went back
  amount     INTEGER NOT NULL,                        -- negative where money went back
  currency   TEXT NOT NULL,
  reference  TEXT NOT NULL,
  idempotency_key TEXT,
  created_ms INTEGER NOT NULL
) STRICT;
CREATE TRIGGER IF NOT EXISTS movements_stay BEFORE UPDATE ON movements
  BEGIN SELECT raise(ABORT, 'a movement is never changed'); END;
CREATE TRIGGER IF NOT EXISTS movements_are_kept BEFORE DELETE ON movements
  BEGIN SELECT raise(ABORT, 'a movement is never deleted'); END;

-- What was answered under a key, for as long as the key is honoured.
CREATE TABLE IF NOT EXISTS keys (
  idempotency_key TEXT PRIMARY KEY,
  parameters      TEXT NOT NULL,
  status          INTEGER NOT NULL,
  body            TEXT NOT NULL,
  created_ms      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Where events go: one row or none.
CREATE TABLE IF NOT EXISTS endpoint (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  url    TEXT NOT NULL,
  secret TEXT NOT NULL
) STRICT;

CREATE TABLE IF NOT EXISTS deliveries (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  event_id     TEXT NOT NULL,     -- the same twice where an event is sent twice
  body         TEXT NOT NULL,
  due_ms       INTEGER NOT NULL,
  attempts     INTEGER NOT NULL DEFAULT 0,
  delivered_ms INTEGER
) STRICT;
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (due_ms, id) WHERE delivered_ms IS NULL;
)sql";

}  // namespace pawl::provider
