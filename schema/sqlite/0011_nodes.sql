-- Which nodes serve on this store just now: limits per scope are shared out among them.
CREATE TABLE nodes (
  id      TEXT PRIMARY KEY,
  seen_at INTEGER NOT NULL
) WITHOUT ROWID;
