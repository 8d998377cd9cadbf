-- name: WorkerKeys
-- Returns the newest key first. If no key may sign any more, the given secret becomes a key. Two
-- workers that run this at once create two keys, and both are valid.
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
