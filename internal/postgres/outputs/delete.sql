-- name: Discard
-- Expires the output of an attempt that gives it up.
UPDATE outputs SET state = 'expired', expires_at = least(expires_at, now()), touched_at = now()
WHERE ref = @ref AND tenant_id = @tenant_id AND state <> 'expired';

-- name: Expire
-- Expires an output that a person deletes.
WITH expired AS (
    UPDATE outputs SET state = 'expired', expires_at = least(expires_at, now()), touched_at = now()
    WHERE ref = @ref AND tenant_id = @tenant_id AND state <> 'expired'
    RETURNING ref, tenant_id, invocation_id, tool_id, bytes
)
INSERT INTO events (kind, tenant_id, invocation_id, detail)
SELECT 'output_deleted', tenant_id, invocation_id, json_build_object('ref', ref, 'tool', tool_id, 'bytes', bytes, 'by', @by::text) FROM expired;

-- name: ExpireDue
-- Expires outputs whose time is over, and outputs that no attempt will finish: outputs of a settled call, and outputs that got no chunk for
-- longer than an attempt may run.
UPDATE outputs SET state = 'expired', expires_at = least(expires_at, now()), touched_at = now()
WHERE id IN (
    SELECT id FROM outputs WHERE id IN (
        (SELECT id FROM outputs WHERE state <> 'expired' AND expires_at <= now() ORDER BY expires_at LIMIT @batch)
        UNION ALL
        (SELECT o.id FROM outputs o JOIN invocations i USING (invocation_id)
         WHERE o.state = 'writing' AND (i.state = 'settled' OR o.touched_at < now() - interval '25 hours') LIMIT @batch)
    )
    FOR UPDATE SKIP LOCKED
);

-- name: DeleteChunks
-- Deletes a batch of chunks of one expired output, so that no statement takes long or holds the usage of the tenant for long. octet_length
-- does not read the data.
WITH output AS MATERIALIZED (
    SELECT id, tenant_id, stored FROM outputs WHERE state = 'expired' AND stored > 0 AND (@ref = '' OR ref = @ref) ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
), deleted AS (
    DELETE FROM output_chunks c USING output o
    WHERE c.output_id = o.id AND c.first_byte IN (SELECT first_byte FROM output_chunks WHERE output_id = o.id ORDER BY first_byte LIMIT @batch)
    RETURNING coalesce(octet_length(c.data), (SELECT size FROM output_objects WHERE key = c.object)) + @cost AS size
), freed AS (
    -- The last batch frees all bytes that are still counted for the output.
    SELECT o.id, o.tenant_id, d.chunks, CASE WHEN d.chunks < @batch THEN o.stored ELSE d.size END AS size
    FROM output o, (SELECT count(*) AS chunks, coalesce(sum(size), 0)::bigint AS size FROM deleted) d
), output_freed AS (
    UPDATE outputs o SET stored = o.stored - f.size FROM freed f WHERE o.id = f.id
), tenant_freed AS (
    UPDATE output_usage u SET stored = u.stored - f.size FROM freed f WHERE u.tenant_id = f.tenant_id
)
SELECT chunks + 1 AS chunks FROM freed;

-- name: HasLeft
-- Reports whether an expired output has chunks or objects.
SELECT EXISTS (
    SELECT FROM outputs o WHERE o.ref = @ref AND o.tenant_id = @tenant_id AND o.state = 'expired'
        AND (o.stored > 0 OR EXISTS (SELECT FROM output_objects b WHERE b.output_id = o.id))
) AS remains;

-- name: DeleteTombstones
-- Deletes the rows of outputs that expired 30 days ago. Until then a reader of such an output
-- learns that it has expired.
DELETE FROM outputs WHERE id IN (
    SELECT id FROM outputs WHERE state = 'expired' AND stored = 0 AND touched_at < now() - interval '30 days' LIMIT @batch
);
