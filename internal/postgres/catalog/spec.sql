-- name: PublishSpecs
-- Sorted, so that two workers that start at once lock the rows in the same order.
INSERT INTO tool_specs (tool_id, digest, spec)
SELECT s.tool_id, s.digest, s.spec::json
FROM unnest(@tool_ids::text[], @digests::text[], @specs::text[]) AS s (tool_id, digest, spec)
ORDER BY s.tool_id, s.digest
ON CONFLICT (tool_id, digest) DO UPDATE SET spec = excluded.spec, seen_at = now();

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
-- Deletes the tools that a worker no longer has.
DELETE FROM worker_tools WHERE worker_id = @worker_id AND tool_id <> ALL (@tool_ids::text[]);

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
-- Skips rows that another worker deletes at the same time.
DELETE FROM workers
WHERE worker_id IN (SELECT worker_id FROM workers WHERE seen_at < now() - @keep::interval ORDER BY worker_id FOR UPDATE SKIP LOCKED);

-- name: Specs
SELECT DISTINCT ON (tool_id) spec FROM tool_specs ORDER BY tool_id, seen_at DESC, published_at DESC;

-- name: LiveSpecs
-- If live workers have different definitions of a tool, the definition of the worker that started last counts.
SELECT s.spec
FROM (
    SELECT DISTINCT ON (t.tool_id) t.tool_id, t.digest
    FROM workers w JOIN worker_tools t USING (worker_id)
    WHERE w.seen_at > now() - @live::interval AND (@namespace = '' OR w.namespace = @namespace)
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
-- Returns what a worker published of a definition that a server gave, also if no worker has it any more.
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
-- Returns the pools that offer each tool that only pools offer. A call of any other tool stays on the shared queue.
SELECT t.tool_id, json_agg(DISTINCT w.pool ORDER BY w.pool) AS pools
FROM workers w JOIN worker_tools t USING (worker_id)
WHERE w.seen_at > now() - @live::interval AND (@namespace = '' OR w.namespace = @namespace)
GROUP BY t.tool_id HAVING bool_and(w.pool <> '')
ORDER BY t.tool_id;

-- name: Pools
-- Returns the pools of which calls may wait, the last seen first, with the number of their running workers and of their live workers.
SELECT p.pool,
    (count(w.worker_id) FILTER (WHERE w.seen_at > now() - @running::interval))::integer AS running,
    (count(w.worker_id) FILTER (WHERE w.seen_at > now() - @live::interval))::integer AS live
FROM pools p LEFT JOIN workers w ON w.namespace = p.namespace AND w.pool = p.pool
WHERE p.namespace = @namespace AND p.seen_at > now() - @waits::interval
GROUP BY p.pool, p.seen_at
ORDER BY p.seen_at DESC, p.pool;

-- name: HasShared
SELECT EXISTS (SELECT FROM workers WHERE pool = '' AND namespace = @namespace AND seen_at > now() - @live::interval) AS live;
