-- What outlives its record goes when its own retention is over: found by its age.
CREATE INDEX outbox_done ON pawl.outbox (done_at) WHERE status = 'done';
CREATE INDEX evidence_recorded_at ON pawl.evidence (recorded_at);
CREATE INDEX audit_recorded_at ON pawl.audit (recorded_at);
