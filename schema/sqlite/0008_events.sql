-- Events that say which attempt they are about, by any name a provider knows it by; and rows of the
-- outbox that a source is asked about. The columns are those of schema/postgres/0012_events.sql.

-- When the attempt that is doubted began: an event from before it says nothing about it, unless the
-- effect is there. 0: not known.
ALTER TABLE cases ADD COLUMN began_at INTEGER NOT NULL DEFAULT 0;
-- 'resource:' and what the record's answer called what it made; '' where it named nothing.
ALTER TABLE cases ADD COLUMN resource TEXT NOT NULL DEFAULT '';
CREATE INDEX cases_by_subject ON cases (subject);
CREATE INDEX cases_by_resource ON cases (resource) WHERE resource <> '';

-- The request that an event named; '' where it named only a derived key or a resource.
ALTER TABLE webhook_events ADD COLUMN scope_id TEXT NOT NULL DEFAULT '';
ALTER TABLE webhook_events ADD COLUMN idempotency_key TEXT NOT NULL DEFAULT '';
-- Not looked at before then, while it waits.
ALTER TABLE webhook_events ADD COLUMN look_at INTEGER NOT NULL DEFAULT 0;
-- What came before and waits for no case is looked at when its record is in doubt, as ever.
UPDATE webhook_events SET look_at = 9223372036854775807
 WHERE applied_as = '' AND NOT EXISTS (
   SELECT 1 FROM cases c WHERE c.subject = webhook_events.subject AND c.state <> 'closed');
CREATE INDEX webhook_events_waiting ON webhook_events (look_at) WHERE applied_as = '' AND is_final = 1;

-- How often a source was asked about a row in `unknown`, and how often in a row it had not seen it.
ALTER TABLE outbox ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN absent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN doubted_at INTEGER;  -- when it was first asked about: nobody sends any more
CREATE INDEX outbox_in_doubt ON outbox (destination, next_attempt_at) WHERE status = 'unknown';
