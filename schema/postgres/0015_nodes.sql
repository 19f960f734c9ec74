-- Which nodes serve on this store just now: limits per scope are shared out among them.
CREATE TABLE pawl.nodes (
  id      text COLLATE "C" PRIMARY KEY,
  seen_at bigint NOT NULL  -- microseconds, by the store's clock
);
