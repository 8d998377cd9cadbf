-- name: LockFlight
-- Goes first in a lookup that finds nothing, so that the calls for one value take their turns: what follows has a snapshot of its own,
-- taken while the locks are held. A call whose value is there needs no turn, and waits for nobody.
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
-- The value, or else the single flight for it: the first call is in the air, the others wait. One that should have landed by now has lost
-- its flight to the first who asks.
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
), flies AS MATERIALIZED (
    SELECT expires_at FROM leases
    WHERE kind = 'single_flight' AND tenant_id = @tenant_id AND key = @key AND state = 'held' AND expires_at > now()
        AND invocation_id <> @invocation_id::uuid
), overdue AS (
    UPDATE leases SET state = 'lost'
    WHERE kind = 'single_flight' AND tenant_id = @tenant_id AND key = @key AND state = 'held' AND expires_at <= now()
        AND invocation_id <> @invocation_id::uuid AND EXISTS (SELECT FROM asks)
), placed AS (
    INSERT INTO leases (invocation_id, kind, tenant_id, key, state, round, epoch, expires_at)
    SELECT invocation_id, 'single_flight', @tenant_id, @key, CASE WHEN EXISTS (SELECT FROM flies) THEN 'waiting' ELSE 'held' END,
        @round, @epoch, now() + @lease::interval
    FROM asks
    ON CONFLICT (invocation_id, kind, key) DO UPDATE
        SET state = excluded.state, round = excluded.round, epoch = excluded.epoch, expires_at = excluded.expires_at
)
SELECT NOT EXISTS (SELECT FROM current) AS superseded, (SELECT value FROM entry) AS value,
    EXISTS (SELECT FROM asks) AND EXISTS (SELECT FROM flies) AS flies,
    coalesce((SELECT ceil(extract(epoch FROM max(expires_at) - now()) * 1000) FROM flies), 0)::bigint AS remaining_ms;

-- name: InvalidateTags
-- Values with one of the tags are void from now on, those among them that are still being read. Deleting is for space alone, so what
-- somebody else holds is left.
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
-- A batch each of values past their time, and of tags that no value can be older than.
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
