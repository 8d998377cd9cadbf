-- name: LockSpecs
-- Locks the definitions that a publication writes: the definitions that the worker has now and the definitions that it had. All are locked in one
-- order, so that the publications of two workers do not deadlock.
SELECT FROM tool_specs s
WHERE EXISTS (SELECT FROM unnest(@tool_ids::text[], @digests::text[]) AS n (tool_id, digest) WHERE n.tool_id = s.tool_id AND n.digest = s.digest)
    OR EXISTS (SELECT FROM worker_tools t WHERE t.worker_id = @worker_id AND t.tool_id = s.tool_id AND t.digest = s.digest)
ORDER BY s.tool_id, s.digest FOR NO KEY UPDATE;

-- name: PublishSpecs
-- The rows are sorted, so that two workers that start at once lock the rows in the same order. A row is written if
-- the definition is new for the worker, or if the stored spec differs.
INSERT INTO tool_specs (tool_id, digest, spec)
SELECT s.tool_id, s.digest, s.spec::json
FROM unnest(@tool_ids::text[], @digests::text[], @specs::text[]) AS s (tool_id, digest, spec)
ORDER BY s.tool_id, s.digest
ON CONFLICT (tool_id, digest) DO UPDATE SET spec = excluded.spec, seen_at = now() 
WHERE tool_specs.spec::text <> excluded.spec::text OR NOT EXISTS (
    SELECT FROM worker_tools t WHERE t.worker_id = @worker_id AND t.tool_id = excluded.tool_id AND t.digest = excluded.digest);

-- name: AddWorker
INSERT INTO workers (worker_id, namespace, pool, sources) VALUES (@worker_id, @namespace, @pool, @sources::json)
ON CONFLICT (worker_id) DO UPDATE SET seen_at = now(), sources = excluded.sources;

-- name: AddPool
INSERT INTO pools (namespace, pool) SELECT @namespace, @pool WHERE @pool <> ''
ON CONFLICT (namespace, pool) DO UPDATE SET seen_at = now();

-- name: DeleteOldPools
-- Skips rows that another worker deletes at the same time.
DELETE FROM pools
WHERE (namespace, pool) IN (SELECT namespace, pool FROM pools WHERE seen_at < now() - @waits::interval ORDER BY namespace, pool FOR UPDATE SKIP LOCKED);

-- name: DropWorkerTools
-- Deletes the tools that a worker no longer has. The age of their definitions counts from now on.
WITH dropped AS (
    DELETE FROM worker_tools t WHERE worker_id = @worker_id
        AND NOT EXISTS (SELECT FROM unnest(@tool_ids::text[], @digests::text[]) AS s (tool_id, digest) WHERE s.tool_id = t.tool_id AND s.digest = t.digest)
    RETURNING tool_id, digest
), locked AS MATERIALIZED (
    SELECT s.tool_id, s.digest FROM tool_specs s JOIN dropped USING (tool_id, digest) ORDER BY s.tool_id, s.digest FOR NO KEY UPDATE OF s
)
UPDATE tool_specs s SET seen_at = now() FROM locked l WHERE s.tool_id = l.tool_id AND s.digest = l.digest;

-- name: SetWorkerTools
INSERT INTO worker_tools (worker_id, tool_id, digest)
SELECT @worker_id, s.tool_id, s.digest FROM unnest(@tool_ids::text[], @digests::text[]) AS s (tool_id, digest)
ON CONFLICT (tool_id, worker_id) DO UPDATE SET digest = excluded.digest;

-- name: RenewWorker
-- Writes the row of the pool at most once in an hour, so that its workers do not wait for each other.
WITH kept AS (
    UPDATE pools p SET seen_at = now() FROM workers w
    WHERE w.worker_id = @worker_id AND p.namespace = w.namespace AND p.pool = w.pool AND p.seen_at < now() - interval '1 hour'
)
UPDATE workers SET seen_at = now() WHERE worker_id = @worker_id;

-- name: DeleteOldWorkers
-- Skips rows that another worker deletes at the same time. The age of the definitions of these workers counts
-- from now on.
WITH old AS MATERIALIZED (
    SELECT worker_id FROM workers WHERE seen_at < now() - @keep::interval ORDER BY worker_id FOR UPDATE SKIP LOCKED
), locked AS MATERIALIZED (
    -- A definition that another transaction has locked is skipped: that transaction sets its age,
    -- or deletes it.
    SELECT s.tool_id, s.digest FROM tool_specs s
    WHERE EXISTS (SELECT FROM worker_tools t JOIN old USING (worker_id) WHERE t.tool_id = s.tool_id AND t.digest = s.digest)
    ORDER BY s.tool_id, s.digest FOR NO KEY UPDATE OF s SKIP LOCKED
), seen AS (
    UPDATE tool_specs s SET seen_at = now() FROM locked l WHERE s.tool_id = l.tool_id AND s.digest = l.digest
)
DELETE FROM workers WHERE worker_id IN (SELECT worker_id FROM old);

-- name: DeleteOldSpecs
-- Deletes a batch of definitions that no worker has. A definition older than @keep is deleted. Of discovered definitions only the newest
-- @most are kept, and of registered definitions only the newest @most_tenant of each tenant: otherwise a server that renames its tools all
-- the time, or a tenant that registers all the time, would fill the table. A row that a worker publishes at this moment is skipped.
WITH unused AS (
    SELECT o.tool_id, o.digest, o.seen_at, o.spec -> 'discovered' IS NOT NULL AS discovered,
        CASE WHEN starts_with(o.tool_id, 'tenant-') THEN split_part(o.tool_id, '_', 1)
            WHEN starts_with(o.tool_id, 'mcp__tenant-') THEN split_part(substr(o.tool_id, 6), '_', 1) ELSE '' END AS tenant
    FROM tool_specs o
    WHERE NOT EXISTS (SELECT FROM worker_tools t WHERE t.tool_id = o.tool_id AND t.digest = o.digest)
), counted AS (
    SELECT tool_id, digest, seen_at, discovered, tenant,
        row_number() OVER (PARTITION BY tenant, CASE WHEN tenant = '' THEN discovered END ORDER BY seen_at DESC) AS nth
    FROM unused
)
DELETE FROM tool_specs WHERE (tool_id, digest) IN (
    SELECT s.tool_id, s.digest FROM tool_specs s JOIN counted c USING (tool_id, digest)
    WHERE c.seen_at < now() - @keep::interval OR (c.discovered OR c.tenant <> '') AND c.nth > CASE WHEN c.tenant = '' THEN @most::integer ELSE @most_tenant::integer END
    ORDER BY s.tool_id, s.digest LIMIT @batch FOR UPDATE OF s SKIP LOCKED
);

-- name: Specs
-- A definition that a worker has comes before a definition that no worker has.
SELECT DISTINCT ON (s.tool_id) s.spec FROM tool_specs s
ORDER BY s.tool_id, EXISTS (SELECT FROM worker_tools t WHERE t.tool_id = s.tool_id AND t.digest = s.digest) DESC, s.seen_at DESC, s.published_at DESC;

-- name: LiveSpecs
-- If live workers have different definitions of a tool, the definition of the worker that started last counts. With a namespace of registered tools
-- in @tenant, the tools of other tenants are left out. Without ids in @tool_ids, all tools count.
SELECT s.spec
FROM (
    SELECT DISTINCT ON (t.tool_id) t.tool_id, t.digest
    FROM workers w JOIN worker_tools t USING (worker_id)
    WHERE w.seen_at > now() - @live::interval AND (@namespace = '' OR w.namespace = @namespace)
        AND (@tenant = '' OR NOT starts_with(t.tool_id, 'tenant-') AND NOT starts_with(t.tool_id, 'mcp__tenant-')
            OR starts_with(t.tool_id, @tenant || '__') OR starts_with(t.tool_id, 'mcp__' || @tenant || '_'))
        AND (cardinality(@tool_ids::text[]) = 0 OR t.tool_id = ANY (@tool_ids::text[]))
    ORDER BY t.tool_id, w.started_at DESC, w.worker_id
) newest JOIN tool_specs s USING (tool_id, digest)
ORDER BY s.tool_id;

-- name: WorkerSources
SELECT worker_id, sources FROM workers
WHERE seen_at > now() - @running::interval AND (@namespace = '' OR namespace = @namespace) AND sources IS NOT NULL
ORDER BY worker_id;

-- name: ToolConflicts
SELECT t.tool_id
FROM workers w JOIN worker_tools t USING (worker_id)
WHERE w.seen_at > now() - @running::interval AND (@namespace = '' OR w.namespace = @namespace)
GROUP BY t.tool_id HAVING count(DISTINCT t.digest) > 1
ORDER BY t.tool_id;

-- name: DiscoveredSpec
-- Returns the spec that a worker published for a definition of a server, also if no worker has it any
-- more.
SELECT spec FROM tool_specs
WHERE tool_id = @tool_id AND spec -> 'discovered' ->> 'digest' = @digest::text
ORDER BY seen_at DESC, published_at DESC LIMIT 1;

-- name: IsLive
-- The row of a worker of a pool counts longer, until the deadline of a call that began when the last worker of the pool stopped.
SELECT EXISTS (
    SELECT FROM worker_tools t JOIN workers w USING (worker_id)
    WHERE t.tool_id = @tool_id AND w.namespace = @namespace
        AND w.seen_at > now() - CASE WHEN w.pool = '' THEN @live::interval ELSE @keep::interval END
) AS live;

-- name: PoolsOf
-- Returns the pools with a running worker that has the tool; the shared queue is "".
SELECT DISTINCT w.pool
FROM worker_tools t JOIN workers w USING (worker_id)
WHERE t.tool_id = @tool_id AND w.namespace = @namespace AND w.seen_at > now() - @running::interval
ORDER BY w.pool;

-- name: ToolPools
-- Returns the pools of each tool that no live worker of the shared queue has. Calls of all other tools go to the shared queue.
SELECT t.tool_id, json_agg(DISTINCT w.pool ORDER BY w.pool) AS pools
FROM workers w JOIN worker_tools t USING (worker_id)
WHERE w.seen_at > now() - @live::interval AND (@namespace = '' OR w.namespace = @namespace)
GROUP BY t.tool_id HAVING bool_and(w.pool <> '')
ORDER BY t.tool_id;

-- name: Pools
-- Returns the pools for which calls may wait, the last seen first, with the number of their running workers and of their live
-- workers.
SELECT p.pool,
    (count(w.worker_id) FILTER (WHERE w.seen_at > now() - @running::interval))::integer AS running,
    (count(w.worker_id) FILTER (WHERE w.seen_at > now() - @live::interval))::integer AS live
FROM pools p LEFT JOIN workers w ON w.namespace = p.namespace AND w.pool = p.pool
WHERE p.namespace = @namespace AND p.seen_at > now() - @waits::interval
GROUP BY p.pool, p.seen_at
ORDER BY p.seen_at DESC, p.pool;

-- name: HasShared
SELECT EXISTS (SELECT FROM workers WHERE pool = '' AND namespace = @namespace AND seen_at > now() - @live::interval) AS live;
