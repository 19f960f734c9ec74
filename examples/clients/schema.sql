CREATE TABLE IF NOT EXISTS payments (
  id         bigserial PRIMARY KEY,
  order_id   text NOT NULL,  -- not unique: a second payment of an order would show
  amount     bigint NOT NULL CHECK (amount > 0),
  created_at timestamptz NOT NULL DEFAULT now()
);
