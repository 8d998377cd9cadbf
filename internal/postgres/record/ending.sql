-- name: TakeEnding
-- Takes the call whose closing stages have been due longest, if any, and sets when they are due again
-- if this sweep does not finish them: after a minute, doubling to an hour.
WITH due AS (
    SELECT invocation_id FROM endings
    WHERE namespace = @namespace AND due_at <= now()
    ORDER BY due_at
    LIMIT 1
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE endings e SET tries = e.tries + 1, due_at = now() + least(interval '1 hour', interval '1 minute' * power(2, least(e.tries, 6)))
    FROM due WHERE e.invocation_id = due.invocation_id
    RETURNING e.invocation_id, e.done, e.tries
)
SELECT t.invocation_id::text, t.done, t.tries, i.tenant_id, i.run_id, i.tool_call_id, i.tool_id, i.actor_id,
    coalesce(i.subject_id, '') AS subject_id, coalesce(i.session_id, '') AS session_id, coalesce(i.request_id, '') AS request_id,
    coalesce(i.graph_id, '') AS graph_id, coalesce(i.connection_id, '') AS connection_id, i.plan, i.result, i.epoch, i.input_digest,
    i.policy_digest, i.settled_at, now() AS seen_at, ARRAY (
        SELECT e.audit_id FROM events e WHERE e.invocation_id = t.invocation_id AND e.audit_id IS NOT NULL ORDER BY e.at, e.seq
    ) AS audit_ids
FROM taken t JOIN invocations i ON i.invocation_id = t.invocation_id;

-- name: EndStage
-- Records a closing stage of a swept call that has run, unless another sweep has taken the call since.
WITH ended AS (
    UPDATE endings SET done = @done::integer
    WHERE invocation_id = @invocation_id::uuid AND tries = @tries::integer AND done = @done::integer - 1
    RETURNING done
), staged AS (
    INSERT INTO stage_events (month, invocation_id, seq, stage, round, attempt, outcome, by_hook, rule, at, duration_us, notes)
    SELECT i.month, i.invocation_id, done, @stage, 1, 0, @outcome, '', '', @at::timestamptz, @duration_us::bigint, @notes::json
    FROM ended, invocations i WHERE i.invocation_id = @invocation_id::uuid
), audited AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, audit_id, seq, detail)
    SELECT i.month, e.kind, i.tenant_id, i.invocation_id, i.workflow_id, e.audit_id, e.seq, e.detail::json
    FROM ended, invocations i, unnest(@audit_ids::text[], @audit_kinds::text[], @audit_details::text[])
        WITH ORDINALITY AS e (audit_id, kind, detail, seq)
    WHERE i.invocation_id = @invocation_id::uuid
)
SELECT EXISTS (SELECT FROM ended) AS ended;

-- name: DropEnding
DELETE FROM endings WHERE invocation_id = @invocation_id::uuid AND tries = @tries::integer;
