CREATE TABLE IF NOT EXISTS payments (
  id         bigserial PRIMARY KEY,
  amount     bigint NOT NULL CHECK (amount > 0),
  currency   text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
