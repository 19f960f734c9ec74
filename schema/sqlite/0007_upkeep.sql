-- An unknown record says when its attempt began (locked_at; rows of before say nothing), and a
-- pending one when its next try may be made (reconcile_after). The rows are as they were: only what
-- is demanded of new ones changes, which SQLite has no ALTER for. A copy of the table could take
-- minutes.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(replace(sql,
    'CHECK ((locked_at IS NOT NULL) = (status = ''in_progress''))',
    'CHECK ((locked_at IS NOT NULL) = (status = ''in_progress'') OR status = ''unknown'')'),
    'CHECK ((reconcile_after IS NOT NULL) = (status = ''unknown''))',
    'CHECK ((reconcile_after IS NOT NULL) = (status = ''unknown'') OR status = ''pending'')')
  WHERE type = 'table' AND name = 'keys';
PRAGMA writable_schema = RESET;

-- What outlives its record goes when its own retention is over: found by its age.
CREATE INDEX outbox_done ON outbox (done_at) WHERE status = 'done';
CREATE INDEX evidence_by_age ON evidence (kept_at);
CREATE INDEX audit_by_age ON audit (at);
