-- name: DeleteExpiredCalls
-- Deletes expired settled calls, with their claims, approvals and decisions. It goes month by month, so that the index finds a batch
-- without reading calls that are kept. A call settles in its month or later. A call stays while its outputs have chunks, because chunks
-- count against a quota. It also stays while the sweeper may run its endings, which is up to 7 days.
WITH expired AS MATERIALIZED (
    SELECT now() - make_interval(days => @days::integer) AS until
), batch AS MATERIALIZED (
    SELECT c.invocation_id
    FROM expired, generate_series((SELECT min(month) FROM invocations)::timestamp, until AT TIME ZONE 'UTC', interval '1 month') AS m (month),
        LATERAL (
            SELECT i.invocation_id FROM invocations i
            WHERE i.month = m.month::date AND i.settled_at < until AND i.state = 'settled'
                AND NOT EXISTS (SELECT FROM outputs o WHERE o.invocation_id = i.invocation_id AND o.stored > 0)
                AND (i.settled_at < now() - interval '8 days'
                    OR NOT EXISTS (SELECT FROM endings n WHERE n.invocation_id = i.invocation_id))
            ORDER BY i.settled_at
            LIMIT @batch
            FOR UPDATE SKIP LOCKED
        ) c
    LIMIT @batch
)
DELETE FROM invocations WHERE invocation_id IN (SELECT invocation_id FROM batch);

-- name: DeleteExpiredRows
-- Deletes a batch of rows of each DEFAULT partition. A month qualifies if it is wholly expired
-- and no call of it is left.
WITH months AS MATERIALIZED (
    SELECT m.month::date AS month
    FROM generate_series(
        -- No row of Pawl is older. A row with the month -infinity would make the series endless.
        greatest('2020-01-01', least(
            (SELECT min(month) FROM stage_events_default), (SELECT min(month) FROM attempts_default),
            (SELECT min(month) FROM payloads_default), (SELECT min(month) FROM events_default),
            (SELECT min(month) FROM hydrations_default), (SELECT min(month) FROM run_events_default)
        ))::timestamp,
        date_trunc('month', (now() - make_interval(days => @days::integer)) AT TIME ZONE 'UTC') - interval '1 month', interval '1 month'
    ) AS m (month)
    WHERE NOT EXISTS (SELECT FROM invocations i WHERE i.month = m.month::date)
), stages AS (
    DELETE FROM stage_events_default WHERE ctid = ANY (ARRAY (
        SELECT r.ctid FROM months m, LATERAL (SELECT d.ctid FROM stage_events_default d WHERE d.month = m.month LIMIT @batch) r LIMIT @batch
    )) RETURNING 1
), tries AS (
    DELETE FROM attempts_default WHERE ctid = ANY (ARRAY (
        SELECT r.ctid FROM months m, LATERAL (SELECT d.ctid FROM attempts_default d WHERE d.month = m.month LIMIT @batch) r LIMIT @batch
    )) RETURNING 1
), outputs AS (
    DELETE FROM payloads_default WHERE ctid = ANY (ARRAY (
        SELECT r.ctid FROM months m, LATERAL (SELECT d.ctid FROM payloads_default d WHERE d.month = m.month LIMIT @batch) r LIMIT @batch
    )) RETURNING 1
), trail AS (
    DELETE FROM events_default WHERE ctid = ANY (ARRAY (
        SELECT r.ctid FROM months m, LATERAL (SELECT d.ctid FROM events_default d WHERE d.month = m.month LIMIT @batch) r LIMIT @batch
    )) RETURNING 1
), origins AS (
    DELETE FROM hydrations_default WHERE ctid = ANY (ARRAY (
        SELECT r.ctid FROM months m, LATERAL (SELECT d.ctid FROM hydrations_default d WHERE d.month = m.month LIMIT @batch) r LIMIT @batch
    )) RETURNING 1
), watched AS (
    DELETE FROM run_events_default WHERE ctid = ANY (ARRAY (
        SELECT r.ctid FROM months m, LATERAL (SELECT d.ctid FROM run_events_default d WHERE d.month = m.month LIMIT @batch) r LIMIT @batch
    )) RETURNING 1
)
SELECT (SELECT count(*) FROM watched) + (SELECT count(*) FROM origins) + (SELECT count(*) FROM stages) + (SELECT count(*) FROM tries) + (SELECT count(*) FROM outputs) + (SELECT count(*) FROM trail) AS deleted;

-- name: DeleteExpiredRuns
-- A run keeps its row while it has an event, so that its numbers do not begin again.
DELETE FROM runs WHERE ctid = ANY (ARRAY (
    SELECT r.ctid FROM runs r
    WHERE r.created_at < now() - make_interval(days => @days::integer) AND r.watched_until < now()
        AND coalesce(r.last_ended_at, r.created_at) < now() - make_interval(days => @days::integer)
        AND NOT EXISTS (SELECT FROM run_events e WHERE e.tenant_id = r.tenant_id AND e.run_id = r.run_id)
    ORDER BY r.created_at LIMIT @batch FOR UPDATE SKIP LOCKED
));

-- name: ExpiredPartitions
-- Returns the partitions of months that are wholly expired and have no call left. An open call
-- still has rows to write to its month; a kept call still has stages there.
SELECT c.relname::text AS name
FROM pg_inherits h
JOIN pg_class c ON c.oid = h.inhrelid
JOIN pg_class p ON p.oid = h.inhparent AND p.relnamespace = current_schema()::regnamespace
    AND p.relname IN ('stage_events', 'attempts', 'payloads', 'events', 'hydrations', 'run_events'),
    LATERAL (SELECT to_date(substring(c.relname FROM '_(\d{4}_\d{2})$'), 'YYYY_MM') AS month) m
WHERE m.month < date_trunc('month', (now() - make_interval(days => @days::integer)) AT TIME ZONE 'UTC')
    AND NOT EXISTS (SELECT FROM invocations i WHERE i.month = m.month)
ORDER BY m.month, name;

-- name: DropPartition
-- Drops a partition, as the owner of the table.
SELECT drop_partition(@name);
