-- name: WorkerKeys
-- The newest key comes first. Where none signs any more, the secret becomes one; two workers that do so at once have made two, and both
-- count.
WITH old AS (
    DELETE FROM worker_keys WHERE made_at <= now() - @kept::interval
), made AS (
    INSERT INTO worker_keys (secret)
    SELECT @secret::bytea WHERE NOT EXISTS (SELECT FROM worker_keys WHERE made_at > now() - @signs::interval)
    RETURNING key_id, secret, made_at
)
SELECT key_id, secret, floor(extract(epoch FROM now() - made_at) * 1000)::bigint AS age_ms
FROM (SELECT * FROM made UNION ALL SELECT key_id, secret, made_at FROM worker_keys WHERE made_at > now() - @kept::interval) k
ORDER BY made_at DESC, key_id DESC;
