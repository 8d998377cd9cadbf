-- name: LockTrigger
-- Changes of a trigger wait for each other, so that the next statement sees the changes before it.
SELECT pg_advisory_xact_lock(hashtextextended('trigger ' || @tenant_id || ' ' || @name, 0));

-- name: ApplyTrigger
-- Stores a version and makes it the active one, unless the version has another content or the trigger is retired.
WITH own AS (
    SELECT digest FROM triggers WHERE tenant_id = @tenant_id AND name = @name AND version = @version
), pointer AS (
    SELECT version, retired FROM trigger_active WHERE tenant_id = @tenant_id AND name = @name
), verdict AS (
    SELECT CASE
        WHEN EXISTS (SELECT FROM own WHERE digest <> @digest) THEN 'taken'
        WHEN EXISTS (SELECT FROM pointer WHERE retired) THEN 'retired'
        WHEN EXISTS (SELECT FROM pointer WHERE version = @version) THEN 'same'
        ELSE 'active' END AS outcome
), made AS (
    INSERT INTO triggers (tenant_id, name, version, digest, document, applied_by)
    SELECT @tenant_id, @name, @version, @digest, @document, @by FROM verdict WHERE outcome <> 'taken' AND NOT EXISTS (SELECT FROM own)
    RETURNING version
), moved AS (
    INSERT INTO trigger_active (tenant_id, name, version, changed_by)
    SELECT @tenant_id, @name, @version, @by FROM verdict WHERE outcome = 'active'
    ON CONFLICT (tenant_id, name) DO UPDATE SET version = excluded.version, changed_by = excluded.changed_by, changed_at = now()
    RETURNING version
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'trigger_applied', @tenant_id, json_build_object('name', @name, 'version', version, 'digest', @digest, 'by', @by) FROM made
    UNION ALL
    SELECT 'trigger_activated', @tenant_id, json_build_object(
        'name', @name, 'version', version, 'digest', @digest, 'before', coalesce((SELECT version FROM pointer), ''), 'by', @by, 'how', 'apply') FROM moved
)
SELECT outcome, coalesce((SELECT version FROM pointer), '') AS before FROM verdict;

-- name: ActivateTrigger
-- Makes a stored version the active one, also of a retired trigger.
WITH own AS (
    SELECT version, digest FROM triggers WHERE tenant_id = @tenant_id AND name = @name AND version = @version
), pointer AS (
    SELECT version, retired FROM trigger_active WHERE tenant_id = @tenant_id AND name = @name
), moved AS (
    UPDATE trigger_active a SET version = own.version, retired = false, changed_by = @by, changed_at = now()
    FROM own WHERE a.tenant_id = @tenant_id AND a.name = @name AND (a.version <> own.version OR a.retired)
    RETURNING a.version, own.digest
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'trigger_activated', @tenant_id, json_build_object(
        'name', @name, 'version', m.version, 'digest', m.digest, 'before', p.version, 'retired', p.retired, 'by', @by, 'how', 'activate')
    FROM moved m, pointer p
)
SELECT p.version AS before, EXISTS (SELECT FROM moved) AS changed FROM own, pointer p;

-- name: RetireTrigger
WITH pointer AS (
    SELECT version FROM trigger_active WHERE tenant_id = @tenant_id AND name = @name
), moved AS (
    UPDATE trigger_active SET retired = true, changed_by = @by, changed_at = now() WHERE tenant_id = @tenant_id AND name = @name AND NOT retired
    RETURNING version
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'trigger_retired', @tenant_id, json_build_object('name', @name, 'version', version, 'by', @by) FROM moved
)
SELECT version AS before, EXISTS (SELECT FROM moved) AS changed FROM pointer;

-- name: TriggerDocument
-- Returns a version, or the active one for an empty version.
SELECT v.document, a.retired
FROM trigger_active a
JOIN triggers v ON v.tenant_id = a.tenant_id AND v.name = a.name AND v.version = coalesce(nullif(@version, ''), a.version)
WHERE a.tenant_id = @tenant_id AND a.name = @name;

-- name: Triggers
SELECT a.name, a.version, v.digest, v.document::json ->> 'on' AS source, v.document::json ->> 'agent' AS agent, v.document::json ->> 'actor' AS actor,
    a.retired, w.waiting, w.waiting_since, a.changed_by AS by, a.changed_at AS at
FROM trigger_active a JOIN triggers v ON v.tenant_id = a.tenant_id AND v.name = a.name AND v.version = a.version
CROSS JOIN LATERAL (
    SELECT count(*) AS waiting, min(queued_at) AS waiting_since
    FROM (SELECT queued_at FROM trigger_queue q WHERE q.tenant_id = a.tenant_id AND q.name = a.name LIMIT 10000) queued
) w
WHERE a.tenant_id = @tenant_id ORDER BY a.name LIMIT @max;

-- name: HasStarted
SELECT EXISTS (SELECT FROM trigger_events WHERE tenant_id = @tenant_id AND name = @name AND event_id = @event_id AND run_id IS NOT NULL) AS started;

-- name: RecordTriggerEvent
-- Records the run that an event has started, or the reason why it started none. The row of an event that has started a run does not change.
-- Each event also deletes a few old rows of its trigger, so that the table stays bounded.
WITH expired AS (
    DELETE FROM trigger_events t USING (
        SELECT event_id FROM trigger_events
        WHERE tenant_id = @tenant_id AND name = @name AND last_at < now() - @keep::interval AND event_id <> @event_id
        ORDER BY last_at LIMIT 10
    ) old WHERE t.tenant_id = @tenant_id AND t.name = @name AND t.event_id = old.event_id
)
INSERT INTO trigger_events AS e (tenant_id, name, event_id, version, run_id, reason)
VALUES (@tenant_id, @name, @event_id, @version, nullif(@run_id, ''), nullif(@reason, ''))
ON CONFLICT (tenant_id, name, event_id) DO UPDATE SET version = excluded.version, run_id = excluded.run_id, reason = excluded.reason, last_at = now()
WHERE e.run_id IS NULL;

-- name: TriggerEvents
SELECT event_id, version, coalesce(run_id, '') AS run_id, coalesce(reason, '') AS reason, first_at, last_at
FROM trigger_events WHERE tenant_id = @tenant_id AND name = @name ORDER BY last_at DESC, event_id LIMIT @max;
