-- name: RecordedCalls
-- Returns the workflows that have a call in the record. It does not compare namespaces, because the id of a call belongs to one namespace.
SELECT workflow_id, state = 'settled' AS settled FROM invocations WHERE workflow_id = ANY (@workflow_ids::text[]);

-- name: DispatchesOf
-- Returns the claims and tombstones of open calls.
SELECT i.invocation_id::text, coalesce((i.plan ->> 'repeatable')::boolean, false) AS repeatable,
    coalesce(i.plan ->> 'lane' = 'claimed', false) AS claimed,
    ARRAY (SELECT dispatch FROM claims c WHERE c.invocation_id = i.invocation_id ORDER BY dispatch) AS dispatches,
    EXISTS (SELECT FROM claims c WHERE c.invocation_id = i.invocation_id AND c.claim_id = @fence_id) AS fenced
FROM invocations i
WHERE i.invocation_id = ANY (@invocation_ids::uuid[]) AND i.state = 'open';

-- name: RunsInTasks
-- Reports whether the newest plan of a tool has the claimed lane, and the tool must not be repeated. It is true for a tool without a plan.
SELECT coalesce((
    SELECT plan ->> 'lane' = 'claimed' AND NOT coalesce((plan ->> 'repeatable')::boolean, false)
    FROM invocations WHERE tool_id = @tool_id AND plan ->> 'lane' IS NOT NULL
    ORDER BY created_at DESC LIMIT 1
), true) AS runs;

-- name: Fence
-- Writes claims that the record has lost, and ends the epoch: an attempt of a worker that was not stopped cannot claim any more. A claim
-- without an answer stops every later attempt of a tool that must not be repeated.
WITH fenced AS (
    INSERT INTO claims (invocation_id, dispatch, kind, epoch, repeatable, claim_id, over_at)
    SELECT i.invocation_id, d.dispatch, 'claim', i.epoch, coalesce((i.plan ->> 'repeatable')::boolean, false), d.claim_id, d.over_at
    FROM invocations i, unnest(@dispatches::integer[], @claim_ids::text[], @over_ats::timestamptz[]) AS d (dispatch, claim_id, over_at)
    WHERE i.invocation_id = @invocation_id::uuid AND i.namespace = @namespace AND i.state = 'open' AND i.epoch = @epoch
    ON CONFLICT (invocation_id, dispatch) DO NOTHING
    RETURNING dispatch
), raised AS (
    UPDATE invocations SET epoch = epoch + 1, dispatch_round = greatest(dispatch_round, (SELECT max(dispatch) FROM fenced)), begun_at = coalesce(begun_at, now())
    WHERE invocation_id = @invocation_id::uuid AND EXISTS (SELECT FROM fenced)
    RETURNING month, tenant_id, workflow_id, epoch
), audited AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, detail)
    SELECT month, 'restored', tenant_id, @invocation_id::uuid, workflow_id,
        json_build_object('claims', (SELECT json_agg(dispatch ORDER BY dispatch) FROM fenced), 'epoch', @epoch::integer)
    FROM raised
)
SELECT coalesce((SELECT epoch FROM raised), @epoch::integer) AS epoch;

-- name: RecordLost
-- Writes a call that the record has lost, with an unknown outcome. An existing record does not change.
WITH recorded AS (
    INSERT INTO invocations (
        invocation_id, tenant_id, run_id, tool_call_id, tool_id, actor_id, subject_id, session_id, request_id, graph_id, connection_id,
        workflow_id, temporal_run_id, namespace, input_digest, plan, started_at, begun_at, state, settled_at, result, ok, error_code, attempts
    ) VALUES (
        @invocation_id::uuid, @tenant_id, @run_id, @tool_call_id, @tool_id, @actor_id, nullif(@subject_id, ''), nullif(@session_id, ''),
        nullif(@request_id, ''), nullif(@graph_id, ''), nullif(@connection_id, ''), @workflow_id, @temporal_run_id, @namespace, @input_digest,
        json_build_object('v', 0, 'toolId', @tool_id::text), @started_at::timestamptz, now(), 'settled', now(), @result::json, false, @error_code, @attempts
    )
    ON CONFLICT (invocation_id) DO NOTHING
    RETURNING month, tenant_id, workflow_id, attempts
), audited AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, detail)
    SELECT month, 'restored', tenant_id, @invocation_id::uuid, workflow_id, json_build_object('errorCode', @error_code::text, 'attempts', attempts)
    FROM recorded
), new_events AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, seq, at, detail)
    SELECT r.month, e.kind, r.tenant_id, @invocation_id::uuid, r.workflow_id, e.seq, now(), e.detail
    FROM recorded r, LATERAL (VALUES
        ('tool_call_start', -1, json_build_object('args', false)), ('tool_call_result', 1, NULL)
    ) AS e (kind, seq, detail)
)
SELECT EXISTS (SELECT FROM recorded) AS recorded;
