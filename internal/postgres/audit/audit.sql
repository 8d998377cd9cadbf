-- name: BeginSealing
-- Locks the row of audit_turn, so that one worker seals at a time. first is false for a worker that cannot lock the row. signed says that a
-- chain has the signature of a worker.
WITH turn AS MATERIALIZED (SELECT FROM audit_turn FOR UPDATE SKIP LOCKED)
SELECT EXISTS (SELECT FROM turn) AS first,
    CASE WHEN EXISTS (SELECT FROM turn) THEN EXISTS (SELECT FROM audit_heads WHERE key_id <> '') ELSE false END AS signed, now() AS now;

-- name: TakePending
-- Takes events out of the queue, until their details have @bytes bytes. A row of the queue whose event is deleted is dropped, because the
-- tenant of the event is unknown.
WITH waiting AS MATERIALIZED (
    SELECT p.id, coalesce(octet_length(e.detail::text), 0) AS bytes
    FROM (SELECT ctid AS id, month, event_id FROM audit_pending LIMIT @batch) p LEFT JOIN events e ON e.id = p.event_id AND e.month = p.month
), counted AS (
    SELECT id, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM waiting
), taken AS (
    DELETE FROM audit_pending WHERE ctid = ANY (ARRAY (SELECT id FROM counted WHERE before < @bytes)) RETURNING month, event_id
)
SELECT e.id::text, coalesce(to_char(e.month, 'YYYY-MM-DD'), e.month::text) AS month, CASE WHEN isfinite(e.at) AND e.at >= '0001-01-01Z' THEN to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE e.at::text END AS at, e.kind, coalesce(e.tenant_id, '') AS tenant_id, coalesce(e.invocation_id::text, '') AS invocation_id,
    coalesce(e.workflow_id, '') AS workflow_id, coalesce(e.audit_id, '') AS audit_id, e.seq, e.detail
FROM taken t JOIN events e ON e.id = t.event_id AND e.month = t.month
ORDER BY coalesce(e.tenant_id, ''), e.at, e.seq, e.id;

-- name: LastHeads
SELECT h.tenant_id, h.n, h.link, h.at, h.retention_days, h.after, h.key_id, h.signature
FROM unnest(@tenants::text[]) AS t (id), LATERAL (SELECT * FROM audit_heads WHERE tenant_id = t.id ORDER BY n DESC LIMIT 1) h;

-- name: AddSeals
INSERT INTO audit_seals (tenant_id, n, month, event_id, leaf, link)
SELECT * FROM unnest(@tenants::text[], @ns::bigint[], @months::text[]::date[], @event_ids::text[]::uuid[], @leaves::bytea[], @links::bytea[]);

-- name: AddHeads
INSERT INTO audit_heads (tenant_id, n, link, at, retention_days, after, key_id, signature)
SELECT * FROM unnest(@tenants::text[], @ns::bigint[], @links::bytea[], @ats::timestamptz[], @retentions::integer[], @afters::bigint[], @key_ids::text[], @signatures::bytea[]);

-- name: AuditedTenants
-- Reads one row of each index for each tenant, instead of all rows. A tenant whose heads somebody has deleted still has seals.
WITH RECURSIVE walk AS (
    SELECT least((SELECT min(tenant_id) FROM audit_heads), (SELECT min(tenant_id) FROM audit_seals)) AS tenant_id
    UNION ALL
    SELECT least((SELECT min(h.tenant_id) FROM audit_heads h WHERE h.tenant_id > w.tenant_id), (SELECT min(s.tenant_id) FROM audit_seals s WHERE s.tenant_id > w.tenant_id))
    FROM walk w WHERE w.tenant_id IS NOT NULL
)
SELECT tenant_id FROM walk WHERE tenant_id IS NOT NULL;

-- name: ChainBounds
-- Returns the bounds of the seals and heads that exist when a verification begins.
SELECT coalesce((SELECT min(n) FROM audit_seals WHERE tenant_id = @tenant_id), 0) AS first_seal,
    coalesce((SELECT max(n) FROM audit_seals WHERE tenant_id = @tenant_id), 0) AS last_seal,
    coalesce((SELECT max(n) FROM audit_heads WHERE tenant_id = @tenant_id), 0) AS last_head,
    -- Heads before the first seal are not verified, so their retention does not count.
    coalesce((SELECT min(retention_days) FROM audit_heads WHERE tenant_id = @tenant_id
        AND n >= coalesce((SELECT min(n) FROM audit_seals WHERE tenant_id = @tenant_id), 1) - 1), 0) AS retention_days,
    now() AS now;

-- name: Seals
-- If the event of a seal is deleted, there is false and the columns of the event are empty.
SELECT s.n, coalesce(to_char(s.month, 'YYYY-MM-DD'), s.month::text) AS sealed_month, s.event_id::text AS event_id, s.leaf, s.link, e.id IS NOT NULL AS there,
    coalesce(e.id::text, '') AS id, coalesce(to_char(e.month, 'YYYY-MM-DD'), e.month::text, '') AS month,
    coalesce(CASE WHEN isfinite(e.at) AND e.at >= '0001-01-01Z' THEN to_char(e.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') ELSE e.at::text END, '') AS at,
    coalesce(e.kind, '') AS kind, coalesce(e.tenant_id, '') AS tenant_id, coalesce(e.invocation_id::text, '') AS invocation_id,
    coalesce(e.workflow_id, '') AS workflow_id, coalesce(e.audit_id, '') AS audit_id, coalesce(e.seq, 0) AS seq, e.detail
FROM audit_seals s LEFT JOIN events e ON e.id = s.event_id AND e.month = s.month
WHERE s.tenant_id = @tenant_id AND s.n > @after AND s.n <= @until
ORDER BY s.n LIMIT @max;

-- name: Heads
SELECT tenant_id, n, link, at, retention_days, after, key_id, signature
FROM audit_heads WHERE tenant_id = @tenant_id AND n >= @from AND n <= @until ORDER BY n LIMIT @max;

-- name: Unsealed
-- Counts the events without a seal by tenant: events that wait in the queue, and lost events. One statement reads queue and seals, because the transaction that seals an event takes it out of the queue.
SELECT coalesce(e.tenant_id, '') AS tenant_id, count(*) FILTER (WHERE p.event_id IS NOT NULL) AS waiting,
    count(*) FILTER (WHERE p.event_id IS NULL) AS lost, coalesce(min(e.id::text) FILTER (WHERE p.event_id IS NULL), '') AS lost_id
FROM events e LEFT JOIN audit_pending p ON p.event_id = e.id AND p.month = e.month
WHERE (@all::boolean OR coalesce(e.tenant_id, '') = ANY (@tenants::text[]))
    AND NOT EXISTS (SELECT FROM audit_seals s WHERE s.tenant_id = coalesce(e.tenant_id, '') AND s.event_id = e.id AND s.month = e.month)
GROUP BY coalesce(e.tenant_id, '');

-- name: DeleteExpiredSeals
-- Deletes seals up to a head that is older than the retention, if all events up to this head are deleted. The head stays, because the chain continues from it.
WITH RECURSIVE walk AS (
    (SELECT tenant_id FROM audit_heads ORDER BY tenant_id LIMIT 1)
    UNION ALL
    SELECT (SELECT h.tenant_id FROM audit_heads h WHERE h.tenant_id > w.tenant_id ORDER BY h.tenant_id LIMIT 1) FROM walk w WHERE w.tenant_id IS NOT NULL
), oldest AS MATERIALIZED (
    -- A few heads at a time, so that a statement is short.
    SELECT h.tenant_id, h.n FROM walk w, LATERAL (SELECT * FROM audit_heads o WHERE o.tenant_id = w.tenant_id ORDER BY o.n LIMIT 10) h
    WHERE h.at < now() - make_interval(days => @days::integer + 1)
), kept AS MATERIALIZED (
    SELECT s.tenant_id, min(s.n) AS n
    FROM (SELECT tenant_id, max(n) AS n FROM oldest GROUP BY tenant_id) o
        JOIN audit_seals s ON s.tenant_id = o.tenant_id AND s.n <= o.n
        JOIN events e ON e.id = s.event_id AND e.month = s.month
    GROUP BY s.tenant_id
), anchors AS MATERIALIZED (
    SELECT o.tenant_id, max(o.n) AS n FROM oldest o LEFT JOIN kept k ON k.tenant_id = o.tenant_id
    WHERE k.n IS NULL OR o.n < k.n GROUP BY o.tenant_id
), heads AS (
    DELETE FROM audit_heads h USING anchors a WHERE h.tenant_id = a.tenant_id AND h.n < a.n RETURNING 1
), seals AS (
    DELETE FROM audit_seals s USING anchors a WHERE s.tenant_id = a.tenant_id AND s.n <= a.n RETURNING 1
)
SELECT (SELECT count(*) FROM heads) + (SELECT count(*) FROM seals) AS deleted;

-- name: SettledCalls
-- Returns the newest settled calls, and for each call the event of the audit trail that records its end. A hook may also write events of
-- the kind invocation; only events of Pawl have the keys toolId and ok.
SELECT i.invocation_id::text, i.run_id, i.tool_call_id, i.workflow_id, i.temporal_run_id, i.ok, coalesce(i.error_code, '') AS error_code, i.result,
    coalesce(s.kind, '') AS audited, coalesce(s.detail ->> 'errorCode', '') AS audited_code
FROM invocations i LEFT JOIN LATERAL (
    SELECT e.kind, e.detail FROM events e
    WHERE e.invocation_id = i.invocation_id AND e.month = i.month
        AND (e.kind = 'swept' OR e.kind = 'invocation' AND e.detail -> 'toolId' IS NOT NULL AND e.detail -> 'ok' IS NOT NULL)
    ORDER BY e.kind DESC, e.seq LIMIT 1
) s ON true
WHERE i.tenant_id = @tenant_id AND i.state = 'settled' AND i.created_at >= @since::timestamptz
ORDER BY i.created_at DESC, i.invocation_id DESC
LIMIT @max;
