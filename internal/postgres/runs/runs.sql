-- name: Watch
-- Marks a run as watched, so that its events are notified, and returns the payload of its
-- notifications. It makes the row of a run that has not begun. It writes nothing while the mark
-- still lasts for more than half of the time.
WITH marked AS (
    INSERT INTO runs AS r (tenant_id, run_id, watched_until) VALUES (@tenant_id, @run_id, now() + @lasts::interval)
    ON CONFLICT (tenant_id, run_id) DO UPDATE SET watched_until = excluded.watched_until
        WHERE r.watched_until < now() + @lasts::interval / 2
    RETURNING key
)
SELECT key::text FROM marked
UNION
SELECT key::text FROM runs WHERE tenant_id = @tenant_id AND run_id = @run_id;

-- name: RunKey
SELECT key::text FROM runs WHERE tenant_id = @tenant_id AND run_id = @run_id;

-- name: ListenRuns
LISTEN pawl_runs;

-- name: Events
-- The events of a call are returned only while the call has a record.
SELECT e.seq, floor(extract(epoch FROM e.at) * 1000)::bigint AS at_ms, e.kind, e.tool_call_id, coalesce(e.invocation_id::text, '') AS invocation_id,
    e.tool_id, e.owner_id, CASE WHEN e.kind = 'tool_call_result' THEN i.result ELSE e.detail END AS detail
FROM run_events e LEFT JOIN invocations i ON i.invocation_id = e.invocation_id AND i.tenant_id = e.tenant_id AND i.run_id = e.run_id
WHERE e.tenant_id = @tenant_id AND e.run_id = @run_id AND e.seq > @after AND (e.invocation_id IS NULL OR i.invocation_id IS NOT NULL)
ORDER BY e.seq LIMIT @max;

-- name: LockRun
-- Runs first in a batch. The next statement takes its snapshot while this row is locked, so it
-- sees each event of the run that has a number.
INSERT INTO runs (tenant_id, run_id) VALUES (@tenant_id, @run_id)
ON CONFLICT (tenant_id, run_id) DO UPDATE SET last_seq = runs.last_seq;

-- name: Append
-- Writes a text if it begins where the text of the turn ends. Writes the end of a turn if every call of the
-- run that has an event also has a result. Writes nothing after the end. The primary key of run_events finds
-- the calls of the run. written and done are the state of the turn before this statement.
WITH turn AS (
    INSERT INTO run_turns AS t (tenant_id, run_id, key, written, done)
    SELECT @tenant_id, @run_id, @key, @until::bigint, @done::boolean
    WHERE CASE WHEN @done THEN NOT EXISTS (
        SELECT FROM run_events e JOIN invocations i ON i.invocation_id = e.invocation_id AND i.tenant_id = e.tenant_id AND i.run_id = e.run_id
        WHERE e.tenant_id = @tenant_id AND e.run_id = @run_id AND e.kind IN ('tool_call_start', 'approval_requested') AND i.state = 'open'
    ) ELSE @first::bigint = 0 OR EXISTS (SELECT FROM run_turns o WHERE o.tenant_id = @tenant_id AND o.run_id = @run_id AND o.key = @key) END
    ON CONFLICT (tenant_id, run_id, key) DO UPDATE SET written = greatest(t.written, excluded.written), done = excluded.done
        WHERE NOT t.done AND (excluded.done OR t.written = @first)
    RETURNING 1
)
SELECT coalesce(b.written, 0) AS written, coalesce(b.done, false) AS done, (
    SELECT append_run_event(date_trunc('month', now() AT TIME ZONE 'UTC')::date, @tenant_id, @run_id, CASE WHEN @done THEN 'done' ELSE 'text_delta' END,
        NULL, '', '', @owner_id, @detail::json)
    FROM turn
) AS seq
FROM (SELECT) AS one LEFT JOIN run_turns b ON b.tenant_id = @tenant_id AND b.run_id = @run_id AND b.key = @key;

-- name: LockRunOf
-- Locks the watched run of a call, so that the call cannot settle before the report of its progress
-- is committed.
SELECT 1 FROM runs r JOIN invocations i ON i.tenant_id = r.tenant_id AND i.run_id = r.run_id
WHERE i.invocation_id = @invocation_id::uuid AND r.watched_until > now()
FOR NO KEY UPDATE OF r;

-- name: ReportProgress
SELECT CASE WHEN i.begun_at IS NOT NULL AND i.state = 'open' AND i.epoch = @epoch THEN append_run_event(
    i.month, i.tenant_id, i.run_id, 'tool_call_progress', i.invocation_id, i.tool_call_id, i.tool_id, '', @progress::json
) END AS seq
FROM invocations i JOIN runs r ON r.tenant_id = i.tenant_id AND r.run_id = i.run_id
WHERE i.invocation_id = @invocation_id::uuid AND r.watched_until > now();

-- name: Run
SELECT tenant_id, run_id, last_seq, calls, outcomes, attempts, latency_ms, max_latency_ms, approval_wait_ms, result_bytes, first_started_at, last_ended_at
FROM runs WHERE tenant_id = @tenant_id AND run_id = @run_id AND last_seq > 0;
