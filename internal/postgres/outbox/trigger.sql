-- name: LockTriggerQueue
-- Workers take events one after another, so that the next statement sees the tokens that others have taken.
SELECT pg_advisory_xact_lock(hashtext('pawl trigger queue'));

-- name: TakeTriggerEvents
-- An event that was taken and not dropped is due again after the lease, for example if its worker died.
--
-- Each tenant with due events gets its turn before any tenant gets a second one, and a tenant's events are taken in the order in which they are due. If
-- there are more tenants than places, chance decides: no tenant can have the places of another. A trigger with a quota gets no more new events
-- than its bucket has tokens; the others are not touched, and keep their order.
WITH RECURSIVE waiting (tenant_id, name) AS (
    (SELECT tenant_id, name FROM trigger_queue ORDER BY tenant_id, name LIMIT 1)
    UNION ALL
    SELECT n.tenant_id, n.name FROM waiting w CROSS JOIN LATERAL (
        SELECT q.tenant_id, q.name FROM trigger_queue q WHERE (q.tenant_id, q.name) > (w.tenant_id, w.name) ORDER BY q.tenant_id, q.name LIMIT 1
    ) n
), paced AS MATERIALIZED (
    SELECT w.tenant_id, w.name, d.key, d.every / d.tokens AS cost,
        -- The small number is for the rounding of intervals.
        CASE WHEN d.tokens IS NULL THEN @batch::bigint ELSE least(@batch, floor(d.tokens + 0.001
            - greatest(extract(epoch FROM b.full_at - now()), 0) * d.tokens / extract(epoch FROM d.every))::bigint) END AS room
    FROM waiting w
    LEFT JOIN trigger_active a ON a.tenant_id = w.tenant_id AND a.name = w.name
    LEFT JOIN triggers v ON v.tenant_id = a.tenant_id AND v.name = a.name AND v.version = a.version
    CROSS JOIN LATERAL (
        SELECT (v.document::json #>> '{quota,tokens}')::integer AS tokens, (v.document::json #>> '{quota,everySeconds}')::integer * interval '1 second' AS every,
            -- A version with another time begins with a full bucket.
            'trigger:' || w.name || ':' || (v.document::json #>> '{quota,everySeconds}') AS key
    ) d
    LEFT JOIN quotas b ON b.tenant_id = w.tenant_id AND b.key = d.key
), due AS (
    SELECT p.tenant_id, p.name, p.key, p.cost, c.event_id, c.has_token,
        row_number() OVER (PARTITION BY p.tenant_id ORDER BY c.next_at, c.queued_at, c.event_id) AS turn
    FROM paced p CROSS JOIN LATERAL (
        (SELECT event_id, has_token, next_at, queued_at FROM trigger_queue
        WHERE tenant_id = p.tenant_id AND name = p.name AND has_token
            AND next_at <= now() AND namespace IN ('', @namespace) AND queued_at >= now() - @keep::interval
        ORDER BY next_at, queued_at LIMIT @batch)
        UNION ALL
        (SELECT event_id, has_token, next_at, queued_at FROM trigger_queue
        WHERE tenant_id = p.tenant_id AND name = p.name AND NOT has_token
            AND next_at <= now() AND namespace IN ('', @namespace) AND queued_at >= now() - @keep::interval
        ORDER BY next_at, queued_at LIMIT greatest(p.room, 0))
    ) c
), picked AS MATERIALIZED (
    SELECT * FROM due ORDER BY turn, random() LIMIT @batch
), taken AS (
    -- A worker of an earlier release may have taken the event meanwhile.
    UPDATE trigger_queue q SET attempts = q.attempts + 1, has_token = true, next_at = now() + @lease::interval
    FROM picked p WHERE q.tenant_id = p.tenant_id AND q.name = p.name AND q.event_id = p.event_id AND q.next_at <= now()
    RETURNING q.tenant_id, q.name, q.event_id, q.source, q.data, q.attempts, p.has_token AS had_token, p.key, p.cost
), spent AS (
    INSERT INTO quotas AS b (tenant_id, key, full_at)
    SELECT tenant_id, key, now() + count(*) * cost FROM taken WHERE NOT had_token AND cost IS NOT NULL GROUP BY tenant_id, key, cost
    ON CONFLICT (tenant_id, key) DO UPDATE SET full_at = greatest(b.full_at, now()) + (excluded.full_at - now())
)
SELECT tenant_id, name, event_id, source, data, attempts FROM taken;

-- name: DropTriggerEvent
DELETE FROM trigger_queue WHERE tenant_id = @tenant_id AND name = @name AND event_id = @event_id;

-- name: DelayTriggerEvent
UPDATE trigger_queue SET next_at = now() + @delay::interval WHERE tenant_id = @tenant_id AND name = @name AND event_id = @event_id;

-- name: PruneTriggerEvents
-- Drops events that have waited too long, and records that they have started no run.
WITH dropped AS (
    DELETE FROM trigger_queue WHERE queued_at < now() - @keep::interval RETURNING tenant_id, name, event_id
)
INSERT INTO trigger_events AS e (tenant_id, name, event_id, version, reason)
SELECT d.tenant_id, d.name, d.event_id, a.version, @reason FROM dropped d JOIN trigger_active a ON a.tenant_id = d.tenant_id AND a.name = d.name
ON CONFLICT (tenant_id, name, event_id) DO UPDATE SET version = excluded.version, reason = excluded.reason, last_at = now() WHERE e.run_id IS NULL;
