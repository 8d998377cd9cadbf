-- name: TriggerChannels
-- The channels of the active triggers.
SELECT DISTINCT v.document::json #>> '{postgres,channel}' AS channel
FROM triggers v JOIN trigger_active a ON a.tenant_id = v.tenant_id AND a.name = v.name AND a.version = v.version
WHERE v.document::json #>> '{postgres,channel}' IS NOT NULL AND NOT a.retired
ORDER BY channel LIMIT @max;

-- name: TriggersOfChannel
SELECT v.document
FROM triggers v JOIN trigger_active a ON a.tenant_id = v.tenant_id AND a.name = v.name AND a.version = v.version
WHERE v.document::json #>> '{postgres,channel}' = @channel AND NOT a.retired
ORDER BY v.tenant_id, v.name LIMIT @max;

-- name: FileTriggers
SELECT v.document
FROM triggers v JOIN trigger_active a ON a.tenant_id = v.tenant_id AND a.name = v.name AND a.version = v.version
WHERE v.document::json ->> 'on' = 'files' AND NOT a.retired
ORDER BY v.tenant_id, v.name LIMIT @max;

-- name: QueueTriggerEvents
-- Queues events for one trigger. An event that waits, or that has started its run, is not queued again. Beyond @most events that wait, events are not
-- queued, and one row for an hour says so.
WITH active AS (
    SELECT version FROM trigger_active WHERE tenant_id = @tenant_id AND name = @name AND NOT retired
), given AS MATERIALIZED (
    SELECT g.event_id, g.data, row_number() OVER (ORDER BY g.n)
        + (SELECT count(*) FROM (SELECT FROM trigger_queue WHERE tenant_id = @tenant_id AND name = @name LIMIT @most::bigint) waiting) <= @most AS fits
    FROM unnest(@event_ids::text[], @data::text[]) WITH ORDINALITY AS g (event_id, data, n)
    WHERE EXISTS (SELECT FROM active)
        AND NOT EXISTS (SELECT FROM trigger_queue q WHERE q.tenant_id = @tenant_id AND q.name = @name AND q.event_id = g.event_id)
        AND NOT EXISTS (SELECT FROM trigger_events e WHERE e.tenant_id = @tenant_id AND e.name = @name AND e.event_id = g.event_id AND e.run_id IS NOT NULL)
), queued AS (
    -- The workers that got the same events insert them in one order, so that they do not deadlock.
    INSERT INTO trigger_queue (tenant_id, name, event_id, namespace, data, source)
    SELECT @tenant_id, @name, event_id, @namespace, data::json, @source FROM given WHERE fits ORDER BY event_id
    ON CONFLICT DO NOTHING
), noted AS (
    INSERT INTO trigger_events (tenant_id, name, event_id, version, reason)
    SELECT @tenant_id, @name, @refusal_id, version, @reason FROM active WHERE EXISTS (SELECT FROM given WHERE NOT fits)
    ON CONFLICT DO NOTHING
)
SELECT count(*) FILTER (WHERE NOT fits) AS refused FROM given;
