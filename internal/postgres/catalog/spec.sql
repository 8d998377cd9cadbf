-- name: PublishSpecs
-- Sorted, so that two workers that start at once lock the rows in the same order.
INSERT INTO tool_specs (tool_id, digest, spec)
SELECT s.tool_id, s.digest, s.spec::json
FROM unnest(@tool_ids::text[], @digests::text[], @specs::text[]) AS s (tool_id, digest, spec)
ORDER BY s.tool_id, s.digest
ON CONFLICT (tool_id, digest) DO UPDATE SET spec = excluded.spec, seen_at = now();

-- name: AddWorker
INSERT INTO workers (worker_id, namespace, sources) VALUES (@worker_id, @namespace, @sources::json)
ON CONFLICT (worker_id) DO UPDATE SET seen_at = now(), sources = excluded.sources;

-- name: DropWorkerTools
-- Deletes the tools that a worker no longer has.
DELETE FROM worker_tools WHERE worker_id = @worker_id AND tool_id <> ALL (@tool_ids::text[]);

-- name: SetWorkerTools
INSERT INTO worker_tools (worker_id, tool_id, digest)
SELECT @worker_id, s.tool_id, s.digest FROM unnest(@tool_ids::text[], @digests::text[]) AS s (tool_id, digest)
ON CONFLICT (tool_id, worker_id) DO UPDATE SET digest = excluded.digest;

-- name: RenewWorker
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

-- name: IsLive
SELECT EXISTS (
    SELECT FROM worker_tools t JOIN workers w USING (worker_id)
    WHERE t.tool_id = @tool_id AND w.namespace = @namespace AND w.seen_at > now() - @live::interval
) AS live;
