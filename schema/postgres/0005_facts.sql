-- Facts about the store itself, by name: how scopes are made, for one. A handful of rows, read when
-- a node starts.
CREATE TABLE pawl.facts (
  name   text PRIMARY KEY,
  value  text NOT NULL
);
