-- name: TakeMessages
-- A message that was taken and not sent is due again after the lease, for example if its relay
-- died. The messages of one namespace come from the index in their order; both namespaces together would be sorted.
WITH earlier AS MATERIALIZED (
    SELECT id FROM outbox WHERE sent_at IS NULL AND next_at <= now() AND namespace = '' ORDER BY next_at LIMIT @batch FOR UPDATE SKIP LOCKED
), own AS MATERIALIZED (
    SELECT id FROM outbox WHERE sent_at IS NULL AND next_at <= now() AND namespace = @namespace ORDER BY next_at LIMIT @batch FOR UPDATE SKIP LOCKED
), due AS (
    SELECT id FROM earlier UNION ALL SELECT id FROM own LIMIT @batch
)
UPDATE outbox o SET attempts = o.attempts + 1, next_at = now() + @lease::interval
FROM due WHERE o.id = due.id
RETURNING o.id, kind, workflow_id, signal, payload, attempts;

-- name: MarkSent
UPDATE outbox SET sent_at = now(), last_error = nullif(@last_error, '') WHERE id = @id;

-- name: MarkFailed
UPDATE outbox SET next_at = now() + @delay::interval, last_error = @last_error WHERE id = @id AND sent_at IS NULL;

-- name: PruneOutbox
DELETE FROM outbox WHERE sent_at < now() - @keep::interval;

-- name: ListenOutbox
LISTEN pawl_outbox;

-- name: ListenTools
LISTEN pawl_tools;

-- name: ListenPolicy
LISTEN pawl_policy;
