-- name: LockQuotas
-- Creates missing buckets, full, and locks all buckets in one order for all callers, so that
-- calls which take from several buckets do not deadlock. Existing buckets do not change.
INSERT INTO quotas (tenant_id, key, full_at)
SELECT @tenant_id, w.key, now() FROM unnest(@keys::text[]) AS w (key)
WHERE EXISTS (SELECT FROM invocations WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id)
ORDER BY w.key
ON CONFLICT (tenant_id, key) DO UPDATE SET key = excluded.key;

-- name: TakeTokens
-- Takes one token from every bucket, or none from any. If a token becomes available later than
-- the call may wait, all buckets stay unchanged. A token that the call has already taken is not
-- taken again.
WITH current AS (
    SELECT FROM invocations WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
), wanted AS (
    SELECT w.key, w.cost * interval '1 microsecond' AS cost, w.every * interval '1 microsecond' AS every, w.max_wait * interval '1 microsecond' AS max_wait
    FROM unnest(@keys::text[], @costs::bigint[], @everys::bigint[], @max_waits::bigint[]) AS w (key, cost, every, max_wait)
    WHERE EXISTS (SELECT FROM current)
), judged AS (
    SELECT w.key, w.cost, d.key IS NOT NULL AS had, greatest(q.full_at, now()) + w.cost AS full_at,
        coalesce(d.ready_at, greatest(q.full_at, now()) + w.cost - w.every) AS ready_at, now() + w.max_wait AS until
    FROM wanted w
    JOIN quotas q ON q.tenant_id = @tenant_id AND q.key = w.key
    LEFT JOIN debits d ON d.invocation_id = @invocation_id::uuid AND d.key = w.key
), refused AS (
    SELECT key, ready_at FROM judged WHERE NOT had AND ready_at > until
), moved AS (
    UPDATE quotas q SET full_at = j.full_at
    FROM judged j WHERE q.tenant_id = @tenant_id AND q.key = j.key AND NOT j.had AND NOT EXISTS (SELECT FROM refused)
), noted AS (
    INSERT INTO debits (invocation_id, tenant_id, key, round, epoch, cost, ready_at)
    SELECT @invocation_id::uuid, @tenant_id, key, @round, @epoch, cost, ready_at FROM judged WHERE NOT had AND NOT EXISTS (SELECT FROM refused)
)
SELECT
    CASE
        WHEN NOT EXISTS (SELECT FROM current) THEN 'superseded'
        WHEN EXISTS (SELECT FROM refused) THEN 'refused'
        ELSE 'done'
    END AS outcome,
    -- The bucket with the longest wait.
    coalesce(l.key, '') AS key, coalesce(ceil(extract(epoch FROM l.ready_at - now()) * 1000)::bigint, 0) AS wait_ms
FROM (SELECT) one LEFT JOIN LATERAL (
    SELECT key, ready_at FROM refused UNION ALL SELECT key, ready_at FROM judged WHERE NOT EXISTS (SELECT FROM refused)
    ORDER BY ready_at DESC, key LIMIT 1
) l ON true;

-- name: DeleteFullQuotas
-- A full bucket is equal to a missing row.
DELETE FROM quotas WHERE ctid = ANY (ARRAY (SELECT ctid FROM quotas WHERE full_at < now() - interval '1 hour' LIMIT @batch FOR UPDATE SKIP LOCKED));
