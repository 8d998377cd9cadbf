-- +goose Up

-- The statement that adds the column waits for the lock of a busy table, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- The Temporal namespace of the call that the message is for. Only workers of this namespace send the message: Temporal tells other workers that there is no such
-- workflow, and a message without a receiver counts as sent. Empty for a message that an earlier release has written: any worker sends it.
ALTER TABLE outbox ADD namespace text NOT NULL DEFAULT '';

CREATE INDEX outbox_due_by_namespace ON outbox (namespace, next_at) WHERE sent_at IS NULL;
DROP INDEX outbox_due;
