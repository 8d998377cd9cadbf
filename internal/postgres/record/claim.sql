-- name: LockInvocation
-- Runs first in a batch. The next statement takes its snapshot while this row is locked, so it
-- sees everything that other statements about this call have committed.
SELECT 1 FROM invocations WHERE invocation_id = @invocation_id::uuid FOR NO KEY UPDATE;

-- name: Claim
WITH verdict AS (
    SELECT CASE
        WHEN NOT EXISTS (
            SELECT FROM invocations
            WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND tool_id = @tool_id
                AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
        ) THEN 'superseded'
        WHEN EXISTS (
            SELECT FROM claims
            WHERE invocation_id = @invocation_id::uuid AND dispatch = @dispatch AND kind = 'tombstone'
        ) THEN 'tombstoned'
        -- An unanswered claim blocks the dispatch unless the tool was repeatable at that claim
        -- and is repeatable now. An answer accounts for a claim by dispatch and id, not by
        -- dispatch alone. With a subject (in the claimed lane), a repeatable claim blocks too if
        -- it has a kept answer of this subject, or if it has no kept answer and its tool may
        -- still run: a lost workflow task does not stop a tool that runs inside it.
        WHEN EXISTS (
            SELECT FROM claims c
            WHERE c.invocation_id = @invocation_id::uuid AND c.kind = 'claim'
                AND (NOT (@repeatable::boolean AND c.repeatable) OR @subject <> '' AND (c.subject = @subject OR c.subject IS NULL AND c.over_at > now() + @margin::interval))
                AND NOT EXISTS (
                    SELECT FROM unnest(@answered::integer[], @answered_ids::text[]) AS a (dispatch, claim_id)
                    WHERE a.dispatch = c.dispatch AND a.claim_id = c.claim_id
                )
        ) THEN 'claimed'
        -- This dispatch has a claim and may be running. The next attempt has the next number.
        WHEN EXISTS (
            SELECT FROM claims WHERE invocation_id = @invocation_id::uuid AND dispatch = @dispatch
        ) THEN 'redelivered'
        -- The approval must cover exactly these digests.
        WHEN @approval_id <> '' AND NOT EXISTS (
            SELECT FROM approvals
            WHERE approval_id = @approval_id AND invocation_id = @invocation_id::uuid AND state = 'approved' AND digest = @approval_digest
                AND coalesce(granted ->> 'previewDigest', '') = @preview_digest
        ) THEN 'refused'
        -- A kill switch promises that no dispatch begins after it is on.
        WHEN EXISTS (
            SELECT FROM kill_switches k JOIN invocations i ON i.invocation_id = @invocation_id::uuid
            WHERE k.off_at IS NULL AND k.tenant_id IN ('', i.tenant_id) AND k.effect IN ('', @effect)
                AND (k.tool = i.tool_id OR right(k.tool, 1) = '*' AND starts_with(i.tool_id, left(k.tool, -1)))
        ) THEN 'killed'
        -- RenewLeases runs before this and locks the leases that it renews.
        WHEN EXISTS (
            SELECT FROM leases
            WHERE invocation_id = @invocation_id::uuid AND kind = 'semaphore' AND state <> 'held'
        ) THEN 'unleased'
        ELSE 'done'
    END AS outcome
), claimed AS (
    INSERT INTO claims (invocation_id, dispatch, kind, epoch, approval_id, repeatable, claim_id, over_at)
    SELECT @invocation_id::uuid, @dispatch, 'claim', @epoch, nullif(@approval_id, ''), @repeatable::boolean, @claim_id, now() + @runs::interval
    FROM verdict WHERE outcome = 'done'
), counted AS (
    -- The first claim begins the call: a trigger writes the start event of its run.
    UPDATE invocations SET dispatch_round = greatest(dispatch_round, @dispatch), begun_at = coalesce(begun_at, now()),
        safe_args = coalesce(@safe_args::json, safe_args)
    WHERE invocation_id = @invocation_id::uuid AND (SELECT outcome FROM verdict) = 'done'
), consumed AS (
    UPDATE approvals SET consumed_dispatch = @dispatch
    WHERE approval_id = @approval_id AND consumed_dispatch IS NULL AND (SELECT outcome FROM verdict) = 'done'
)
SELECT outcome FROM verdict;

-- name: Earlier
-- Returns the claim that the run cannot account for and that has an answer of the subject, or else
-- the last claim that the run cannot account for, and the time in milliseconds until its tool has
-- ended.
SELECT c.dispatch, c.claim_id, c.answer, coalesce(c.subject, '') AS subject,
    greatest(ceil(extract(epoch FROM c.over_at - @margin::interval - now()) * 1000), 0)::bigint AS runs_ms
FROM claims c JOIN invocations i USING (invocation_id)
WHERE c.invocation_id = @invocation_id::uuid AND c.kind = 'claim'
    AND i.tenant_id = @tenant_id AND i.state = 'open' AND i.epoch = @epoch AND i.temporal_run_id = @temporal_run_id
    AND NOT EXISTS (
        SELECT FROM unnest(@answered::integer[], @answered_ids::text[]) AS a (dispatch, claim_id)
        WHERE a.dispatch = c.dispatch AND a.claim_id = c.claim_id
    )
ORDER BY (c.subject = @subject) IS TRUE DESC, c.dispatch DESC LIMIT 1;

-- name: Keep
-- A tool may answer after another execution has raised the epoch: the other execution waits for
-- this answer. A settled call keeps no answer, so the lock makes a settle wait.
WITH call AS (
    SELECT 1 FROM invocations WHERE invocation_id = @invocation_id::uuid AND state = 'open' FOR NO KEY UPDATE
)
UPDATE claims SET answer = @answer::json, subject = @subject
WHERE invocation_id = @invocation_id::uuid AND dispatch = @dispatch AND claim_id = @claim_id AND kind = 'claim' AND EXISTS (SELECT FROM call);

-- name: DeleteKeptAnswers
-- Settle and Sweep delete the answers of their call. The statements of release 0.1.0 do not.
UPDATE claims SET answer = NULL, subject = NULL WHERE ctid = ANY (ARRAY (
    SELECT c.ctid FROM claims c JOIN invocations i USING (invocation_id)
    WHERE c.answer IS NOT NULL AND i.state = 'settled' LIMIT @batch FOR UPDATE OF c SKIP LOCKED
));

-- name: Begin
-- Begins a call without a claim, for the watchers of its run. A trigger writes the start event.
UPDATE invocations SET begun_at = now(), safe_args = @safe_args::json
WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
    AND begun_at IS NULL;

-- name: Check
-- A claimed dispatch is lost. An unclaimed dispatch gets a tombstone, and the epoch in which it
-- could still claim ends. The result also has the existing claims, and the time in milliseconds
-- until none of their tools can still run.
WITH current AS (
    SELECT epoch FROM invocations WHERE invocation_id = @invocation_id::uuid AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
), seen AS (
    SELECT kind FROM claims WHERE invocation_id = @invocation_id::uuid AND dispatch = @dispatch
), buried AS (
    INSERT INTO claims (invocation_id, dispatch, kind, epoch)
    SELECT @invocation_id::uuid, @dispatch, 'tombstone', @epoch FROM current WHERE NOT EXISTS (SELECT FROM seen)
    RETURNING epoch
), raised AS (
    UPDATE invocations SET epoch = epoch + 1, dispatch_round = greatest(dispatch_round, @dispatch)
    WHERE invocation_id = @invocation_id::uuid AND EXISTS (SELECT FROM buried)
    RETURNING epoch
)
SELECT
    CASE
        WHEN NOT EXISTS (SELECT FROM current) THEN 'superseded'
        WHEN EXISTS (SELECT FROM seen WHERE kind = 'claim') THEN 'lost'
        ELSE 'free'
    END AS outcome,
    coalesce((SELECT epoch FROM raised), (SELECT epoch FROM current), 0) AS epoch,
    (SELECT json_agg(json_build_object('dispatch', dispatch, 'id', claim_id) ORDER BY dispatch) FROM claims
        WHERE invocation_id = @invocation_id::uuid AND kind = 'claim') AS claims,
    coalesce((
        SELECT ceil(extract(epoch FROM max(c.over_at) - now()) * 1000) FROM claims c
        WHERE c.invocation_id = @invocation_id::uuid AND c.kind = 'claim' AND NOT EXISTS (
            SELECT FROM unnest(@over::integer[], @over_ids::text[]) AS o (dispatch, claim_id) WHERE o.dispatch = c.dispatch AND o.claim_id = c.claim_id
        )
    ), 0)::bigint AS over_in_ms;

-- name: Owned
-- Returns the plan if the record matches the input of the activity.
SELECT plan FROM invocations
WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND run_id = @run_id AND tool_call_id = @tool_call_id
    AND tool_id = @tool_id AND actor_id = @actor_id AND coalesce(subject_id, '') = @subject_id AND coalesce(session_id, '') = @session_id
    AND coalesce(connection_id, '') = @connection_id
    AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id;

-- name: Forged
-- Writes one event per answer, also if several runs report the answer. A settled call gets no
-- event: a replaced run may report late, and the call's audit trail has ended.
INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, detail)
SELECT month, 'answer_forged', tenant_id, invocation_id, workflow_id, json_build_object('activity', @activity::text, 'answer', @answer::text)
FROM invocations
WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND NOT EXISTS (
    SELECT FROM events
    WHERE invocation_id = @invocation_id::uuid AND kind = 'answer_forged' AND detail ->> 'answer' = @answer
);
