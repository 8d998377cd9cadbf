-- name: TakeTriggerEvents
-- An event that was taken and not dropped is due again after the lease, for example if its worker died.
WITH due AS MATERIALIZED (
    SELECT tenant_id, name, event_id FROM trigger_queue WHERE namespace IN ('', @namespace) AND next_at <= now() AND queued_at >= now() - @keep::interval
    ORDER BY next_at LIMIT @batch
    FOR UPDATE SKIP LOCKED
)
UPDATE trigger_queue q SET attempts = q.attempts + 1, next_at = now() + @lease::interval
FROM due WHERE q.tenant_id = due.tenant_id AND q.name = due.name AND q.event_id = due.event_id
RETURNING q.tenant_id, q.name, q.event_id, q.data, q.attempts;

-- name: DropTriggerEvent
DELETE FROM trigger_queue WHERE tenant_id = @tenant_id AND name = @name AND event_id = @event_id;

-- name: DelayTriggerEvent
UPDATE trigger_queue SET next_at = now() + @delay::interval WHERE tenant_id = @tenant_id AND name = @name AND event_id = @event_id;

-- name: PruneTriggerEvents
DELETE FROM trigger_queue WHERE queued_at < now() - @keep::interval;
