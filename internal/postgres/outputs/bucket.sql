-- name: ReserveObjects
-- Writes the keys of objects before the objects exist, or none if the tenant is beyond its quota. AppendChunk enforces the quota also for concurrent writers.
WITH quota AS (
    SELECT NOT EXISTS (SELECT FROM output_usage WHERE tenant_id = @tenant_id AND stored + @total::bigint > @quota) AS done
), reserved AS (
    INSERT INTO output_objects (key, bucket, size, sha256)
    SELECT o.key, @bucket, o.size, o.sha256 FROM quota, unnest(@keys::text[]::uuid[], @sizes::integer[], @digests::bytea[]) AS o (key, size, sha256)
    WHERE quota.done
    ON CONFLICT (key) DO NOTHING
)
SELECT done FROM quota;

-- name: ExpireReservations
-- Turns reservations without a chunk into garbage: their worker was killed or gave up. A request to a bucket takes less than ten minutes, so
-- that no object can appear after its deletion.
UPDATE output_objects SET state = 'garbage', changed_at = now() WHERE key IN (
    SELECT key FROM output_objects WHERE state = 'reserved' AND changed_at < now() - interval '10 minutes'
    ORDER BY changed_at LIMIT @batch FOR UPDATE SKIP LOCKED
);

-- name: Garbage
SELECT key::text FROM output_objects
WHERE state = 'garbage' AND bucket = @bucket
    AND (@ref = '' OR output_id = (SELECT id FROM outputs WHERE ref = @ref AND tenant_id = @tenant_id))
ORDER BY tried_at LIMIT @batch;

-- name: ForgetObjects
DELETE FROM output_objects WHERE key = ANY (@keys::text[]::uuid[]) AND state = 'garbage';

-- name: PostponeObjects
-- Moves objects whose deletion failed behind other objects, so that the next batch begins with other objects.
UPDATE output_objects SET tried_at = now() WHERE key = ANY (@keys::text[]::uuid[]) AND state = 'garbage';

-- name: ForeignObjects
-- Returns a bucket that this program does not use and that has objects of the output.
SELECT bucket FROM output_objects
WHERE state <> 'reserved' AND bucket <> @bucket AND output_id = (SELECT id FROM outputs WHERE ref = @ref AND tenant_id = @tenant_id)
LIMIT 1;

-- name: Buckets
-- The buckets that the database refers to, and since when the oldest object waits for its deletion.
SELECT bucket, count(*) AS objects, min(changed_at) FILTER (WHERE state = 'garbage') AS garbage_since FROM output_objects GROUP BY bucket ORDER BY bucket;

-- name: ForgetProbe
DELETE FROM output_objects WHERE key = @key::text::uuid AND state = 'reserved';
