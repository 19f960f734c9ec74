// The service's own tables, beside Pawl's records. The same text for SQLite and PostgreSQL.
#pragma once

namespace pawl::payments {

inline constexpr const char* schema = R"sql(
CREATE TABLE IF NOT EXISTS payments (
  id         TEXT PRIMARY KEY,
  owner      TEXT NOT NULL,
  customer   TEXT NOT NULL,
  amount     BIGINT NOT NULL CHECK (amount > 0),
  currency   TEXT NOT NULL,
  refunded   BIGINT NOT NULL DEFAULT 0 CHECK (refunded >= 0 AND refunded <= amount),
  status     TEXT NOT NULL,
  charge     TEXT,                       -- the provider's id
  client_key TEXT NOT NULL,              -- the Idempotency-Key it was asked for with
  created_us BIGINT NOT NULL
);
CREATE INDEX IF NOT EXISTS payments_by_key ON payments (owner, client_key);
CREATE INDEX IF NOT EXISTS payments_in_order ON payments (owner, created_us, id);

CREATE TABLE IF NOT EXISTS refunds (
  id         TEXT PRIMARY KEY,
  payment    TEXT NOT NULL REFERENCES payments (id),
  amount     BIGINT NOT NULL CHECK (amount > 0),
  status     TEXT NOT NULL,              -- pending, succeeded, failed
  refund     TEXT,                       -- the provider's id
  created_us BIGINT NOT NULL
);

CREATE TABLE IF NOT EXISTS transfers (
  id              TEXT PRIMARY KEY,
  user_id         TEXT NOT NULL,
  source_currency TEXT NOT NULL,
  target_currency TEXT NOT NULL,
  amount          BIGINT NOT NULL CHECK (amount > 0),
  target_amount   BIGINT NOT NULL CHECK (target_amount > 0),
  status          TEXT NOT NULL,         -- completed, cancelled, failed
  created_us      BIGINT NOT NULL,
  minute_bucket   BIGINT NOT NULL        -- minutes since 1970: stored, so that it can be indexed
);
-- The last net. Whatever went wrong above it, a forgotten guard, a new endpoint, a client that makes
-- a new key for each retry: the same transfer twice within a minute is not written.
CREATE UNIQUE INDEX IF NOT EXISTS transfers_dedup
  ON transfers (user_id, source_currency, target_currency, amount, minute_bucket)
  WHERE status NOT IN ('cancelled', 'failed');

-- Double entry: the entries of one posting sum to zero in each currency. A balance is the sum of an
-- account's entries, and is stored nowhere.
CREATE TABLE IF NOT EXISTS postings (
  id         TEXT PRIMARY KEY,           -- made of the request: posting it again is refused
  kind       TEXT NOT NULL,              -- hold, capture, release, refund, transfer
  subject    TEXT NOT NULL,              -- the payment's or the transfer's id
  created_us BIGINT NOT NULL
);
CREATE TABLE IF NOT EXISTS entries (
  posting  TEXT NOT NULL REFERENCES postings (id),
  account  TEXT NOT NULL,
  currency TEXT NOT NULL,
  amount   BIGINT NOT NULL CHECK (amount <> 0),
  PRIMARY KEY (posting, account, currency)
);
)sql";

}  // namespace pawl::payments
