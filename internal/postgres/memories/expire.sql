-- name: DeleteExpired
-- Deletes expired entries of one session. It takes locks in the order of writers: the session, then its entries, then the
-- tenant.
WITH due AS MATERIALIZED (
    SELECT u.tenant_id, u.session FROM memory_usage u
    WHERE (u.tenant_id, u.session) IN (SELECT tenant_id, session FROM memories WHERE expires_at <= now() ORDER BY expires_at LIMIT 50)
    LIMIT 1 FOR UPDATE SKIP LOCKED
), deleted AS (
    DELETE FROM memories m USING due d
    WHERE m.tenant_id = d.tenant_id AND m.session = d.session AND m.path IN (
        SELECT path FROM memories e WHERE e.tenant_id = d.tenant_id AND e.session = d.session AND e.expires_at <= now() LIMIT @batch
    ) AND m.expires_at <= now()
    RETURNING m.tenant_id, m.session, octet_length(m.path) + octet_length(m.title) + octet_length(m.content) AS bytes
), freed AS (
    SELECT tenant_id, session, count(*) AS entries, sum(bytes) AS bytes FROM deleted GROUP BY tenant_id, session
), session_freed AS (
    UPDATE memory_usage u SET entries = u.entries - f.entries, bytes = u.bytes - f.bytes, touched_at = now()
    FROM freed f WHERE u.tenant_id = f.tenant_id AND u.session = f.session
), tenant_freed AS (
    UPDATE memory_usage u SET entries = u.entries - f.entries, bytes = u.bytes - f.bytes
    FROM freed f WHERE u.tenant_id = f.tenant_id AND u.session = ''
)
SELECT coalesce(sum(entries), 0)::bigint AS entries FROM freed;

-- name: ForgetWrites
-- Deletes the answers of writes that are so old that no attempt of a call repeats them.
DELETE FROM memory_writes WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM memory_writes WHERE created_at < now() - interval '30 days' ORDER BY created_at LIMIT @batch FOR UPDATE SKIP LOCKED
));

-- name: ForgetSessions
-- Deletes the rows of sessions without entries that were not written for 30 days. The row of the tenant keeps their highest version, and
-- the next write of such a session uses a higher one, so that no version is used twice.
WITH forgotten AS (
    DELETE FROM memory_usage WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM memory_usage WHERE entries = 0 AND session <> '' AND touched_at < now() - interval '30 days'
        ORDER BY touched_at LIMIT @batch FOR UPDATE SKIP LOCKED
    ))
    RETURNING tenant_id, version
), kept AS (
    UPDATE memory_usage u SET version = greatest(u.version, f.version)
    FROM (SELECT tenant_id, max(version) AS version FROM forgotten GROUP BY tenant_id) f WHERE u.tenant_id = f.tenant_id AND u.session = ''
)
SELECT count(*) AS entries FROM forgotten;
