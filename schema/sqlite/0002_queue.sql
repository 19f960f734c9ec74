-- The workers' rows: what async routes have accepted and nobody has claimed.
CREATE INDEX keys_by_queue ON keys (created_at) WHERE status = 'pending';
