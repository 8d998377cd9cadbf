-- name: LockFlight
-- Runs first in the batch of a lookup. If there is no value, it serializes the calls for one
-- key: the next statement takes its snapshot while the locks are held. A call that finds its
-- value takes no lock and does not wait.
SELECT pg_advisory_xact_lock(hashtextextended(@key, 0))
FROM (
    SELECT FROM invocations
    WHERE invocation_id = @invocation_id::uuid AND NOT EXISTS (
        SELECT FROM result_cache e
        WHERE e.tenant_id = @tenant_id AND e.key = @key AND e.expires_at > now() AND NOT EXISTS (
            SELECT FROM cache_tags t WHERE t.tenant_id = e.tenant_id AND t.tag = ANY (e.tags) AND t.invalidated_at >= e.made_at
        )
    )
    FOR NO KEY UPDATE
) locked;

-- name: Lookup
-- Returns the value. If there is no value, it manages the single-flight lease for the key: the
-- first call holds the lease, other calls wait. If the lease has expired, the next call that asks
-- takes it over.
WITH current AS (
    SELECT invocation_id FROM invocations
    WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
), entry AS MATERIALIZED (
    SELECT e.value FROM result_cache e
    WHERE e.tenant_id = @tenant_id AND e.key = @key AND e.expires_at > now() AND NOT EXISTS (
        SELECT FROM cache_tags t WHERE t.tenant_id = e.tenant_id AND t.tag = ANY (e.tags) AND t.invalidated_at >= e.made_at
    )
), asks AS MATERIALIZED (
    SELECT invocation_id FROM current WHERE NOT EXISTS (SELECT FROM entry)
), in_flight AS MATERIALIZED (
    SELECT expires_at FROM leases
    WHERE kind = 'single_flight' AND tenant_id = @tenant_id AND key = @key AND state = 'held' AND expires_at > now()
        AND invocation_id <> @invocation_id::uuid
), overdue AS (
    UPDATE leases SET state = 'lost'
    WHERE kind = 'single_flight' AND tenant_id = @tenant_id AND key = @key AND state = 'held' AND expires_at <= now()
        AND invocation_id <> @invocation_id::uuid AND EXISTS (SELECT FROM asks)
), placed AS (
    INSERT INTO leases (invocation_id, kind, tenant_id, key, state, round, epoch, expires_at)
    SELECT invocation_id, 'single_flight', @tenant_id, @key, CASE WHEN EXISTS (SELECT FROM in_flight) THEN 'waiting' ELSE 'held' END,
        @round, @epoch, now() + @lease::interval
    FROM asks
    ON CONFLICT (invocation_id, kind, key) DO UPDATE
        SET state = excluded.state, round = excluded.round, epoch = excluded.epoch, expires_at = excluded.expires_at
)
SELECT NOT EXISTS (SELECT FROM current) AS superseded, (SELECT value FROM entry) AS value,
    EXISTS (SELECT FROM asks) AND EXISTS (SELECT FROM in_flight) AS in_flight,
    coalesce((SELECT ceil(extract(epoch FROM max(expires_at) - now()) * 1000) FROM in_flight), 0)::bigint AS remaining_ms;

-- name: InvalidateTags
-- Invalidates values with one of the tags from now on, including values that calls are still
-- reading from their tools. The deletion only frees space, so it skips locked rows.
WITH noted AS (
    INSERT INTO cache_tags (tenant_id, tag, invalidated_at)
    SELECT @tenant_id, tag, now() FROM unnest(@tags::text[]) AS tag
    ON CONFLICT (tenant_id, tag) DO UPDATE SET invalidated_at = greatest(cache_tags.invalidated_at, excluded.invalidated_at)
), gone AS (
    DELETE FROM result_cache WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM result_cache WHERE tenant_id = @tenant_id AND tags && @tags::text[] AND tags <> '{}' FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT count(*) AS deleted FROM gone;

-- name: DeleteExpiredCache
-- Deletes a batch of expired values, and a batch of tags that are older than any valid value.
WITH entries AS (
    DELETE FROM result_cache WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM result_cache WHERE expires_at <= now() LIMIT @batch FOR UPDATE SKIP LOCKED
    )) RETURNING 1
), tags AS (
    DELETE FROM cache_tags WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM cache_tags WHERE invalidated_at < now() - @longest::interval LIMIT @batch FOR UPDATE SKIP LOCKED
    )) RETURNING 1
)
SELECT (SELECT count(*) FROM entries) + (SELECT count(*) FROM tags) AS deleted;
