-- name: ShowCall
-- Takes an invocation id, a workflow id or a toolCallId. If several calls match, it returns the
-- newest.
SELECT invocation_id::text, tenant_id, run_id, tool_call_id, tool_id, actor_id, coalesce(subject_id, '') AS subject_id,
    coalesce(session_id, '') AS session_id, coalesce(request_id, '') AS request_id, coalesce(graph_id, '') AS graph_id,
    coalesce(connection_id, '') AS connection_id, workflow_id, temporal_run_id, epoch, input_digest, plan,
    gate_round, dispatch_round, request_round, capacity_round, policy_digest, result, safe_args, input_history, output_history, attempts, started_at, settled_at,
    created_at,
    coalesce(error_code, CASE WHEN ok THEN 'ok' END, '') AS outcome,
    CASE
        WHEN state = 'settled' THEN 'settled'
        WHEN EXISTS (SELECT FROM approvals a WHERE a.invocation_id = i.invocation_id AND a.state = 'open' AND a.parked <> '') THEN 'parked_unknown'
        WHEN EXISTS (SELECT FROM approvals a WHERE a.invocation_id = i.invocation_id AND a.state = 'open') THEN 'waiting_approval'
        WHEN EXISTS (SELECT FROM leases l WHERE l.invocation_id = i.invocation_id AND l.state = 'waiting')
            OR EXISTS (SELECT FROM debits d WHERE d.invocation_id = i.invocation_id AND d.ready_at > now()) THEN 'waiting_capacity'
        ELSE 'running'
    END AS status
FROM invocations i
WHERE tenant_id = @tenant_id AND (invocation_id = @invocation_id::uuid OR workflow_id = @name OR tool_call_id = @name)
ORDER BY created_at DESC, invocation_id DESC
LIMIT 1;

-- name: ShowStages
SELECT stage, round, attempt, outcome, by_hook, rule, at, duration_us, notes
FROM stage_events WHERE invocation_id = @invocation_id::uuid ORDER BY seq;

-- name: ShowAttempts
SELECT attempt, dispatch, lane, outcome, code, at, duration_us
FROM attempts WHERE invocation_id = @invocation_id::uuid ORDER BY seq;

-- name: ShowHydrations
SELECT at, provenance FROM hydrations WHERE invocation_id = @invocation_id::uuid ORDER BY at, seq;

-- name: ShowClaims
SELECT dispatch, kind, epoch, coalesce(approval_id, '') AS approval_id, at
FROM claims WHERE invocation_id = @invocation_id::uuid ORDER BY dispatch;

-- name: ShowOutputs
SELECT ref, invocation_id::text, tool_id, media_type, CASE WHEN expires_at <= now() THEN 'expired' ELSE state END AS state, bytes, created_at, expires_at
FROM outputs WHERE invocation_id = @invocation_id::uuid ORDER BY created_at DESC, id DESC LIMIT @max;

-- name: OutputsOfRun
-- Finds the calls of the run by their start events: a call writes this event before it stores an output.
SELECT ref, invocation_id::text, tool_id, media_type, CASE WHEN expires_at <= now() THEN 'expired' ELSE state END AS state, bytes, created_at, expires_at
FROM outputs
WHERE tenant_id = @tenant_id AND invocation_id IN (
    SELECT e.invocation_id FROM run_events e WHERE e.tenant_id = @tenant_id AND e.run_id = @run_id AND e.kind = 'tool_call_start'
)
ORDER BY created_at DESC, id DESC
LIMIT @max;

-- name: ShowCapacity
-- Returns the capacity that the call holds or waits for. A settled call has none: settle gives
-- it back.
SELECT kind, key, state, ahead, at FROM (
    SELECT l.kind, l.key, l.state, l.expires_at AS at, (
        SELECT count(*) FROM leases o
        WHERE l.state = 'waiting' AND o.kind = l.kind AND o.tenant_id = l.tenant_id AND o.key = l.key AND o.state = 'waiting' AND o.ticket < l.ticket
    ) AS ahead
    FROM leases l WHERE l.invocation_id = @invocation_id::uuid
    UNION ALL
    SELECT 'quota', d.key, CASE WHEN d.ready_at > now() THEN 'waiting' ELSE 'held' END, d.ready_at, 0
    FROM debits d WHERE d.invocation_id = @invocation_id::uuid
) c
ORDER BY kind, key;

-- name: ShowEvents
-- A settled call has one start event and one result event. Their details come from the call's
-- record.
SELECT e.kind, coalesce(e.audit_id, '') AS audit_id, e.at,
    CASE
        WHEN e.kind = 'tool_call_start' AND (e.detail ->> 'args')::boolean AND i.safe_args IS NOT NULL
            THEN json_build_object('toolCallId', i.tool_call_id, 'args', i.safe_args)
        WHEN e.kind = 'tool_call_start' THEN json_build_object('toolCallId', i.tool_call_id)
        WHEN e.kind = 'tool_call_result' THEN json_build_object('toolCallId', i.tool_call_id, 'result', i.result)
        ELSE e.detail
    END AS detail
FROM events e JOIN invocations i USING (invocation_id)
WHERE invocation_id = @invocation_id::uuid ORDER BY e.at, e.seq;

-- name: ShowApprovals
SELECT approval_id, invocation_id::text, workflow_id, number, digest, a.tool_id, effect, risk, a.safe_args, message, requested_by,
    on_behalf_of, edited_by, approvers_text, policy_rule, a.policy_digest, parked, a.state, coalesce(approver, '') AS approver, decided_at, consumed_dispatch, expires_at,
    a.created_at, rule, a.preview, coalesce(a.granted ->> 'previewDigest', '') AS preview_digest, now() AS now
FROM approvals a JOIN invocations i USING (invocation_id)
WHERE invocation_id = @invocation_id::uuid
ORDER BY number;

-- name: ShowDecisions
SELECT approval_id, decision, approver, reason, remember, signed, coalesce(key_id, '') AS key_id, counted, counted AND final AS final, seat AS entry, hook_entries, answer, at
FROM decisions WHERE approval_id = ANY (@approval_ids::text[]) ORDER BY at, decision_hash;

-- name: ListApprovals
SELECT approval_id, invocation_id::text, workflow_id, number, digest, a.tool_id, effect, risk, a.safe_args, message, requested_by,
    on_behalf_of, edited_by, approvers_text, policy_rule, a.policy_digest, parked, a.state, coalesce(approver, '') AS approver, decided_at, consumed_dispatch, expires_at,
    a.created_at, rule, a.preview, coalesce(a.granted ->> 'previewDigest', '') AS preview_digest, now() AS now
FROM approvals a JOIN invocations i USING (invocation_id)
WHERE a.tenant_id = @tenant_id AND (NOT @only_open::boolean OR a.state = 'open' AND a.expires_at > now())
    AND (@run_id::text = '' OR i.run_id = @run_id)
    AND (@before::timestamptz IS NULL OR (a.created_at, approval_id) < (@before::timestamptz, @before_id::text))
ORDER BY a.created_at DESC, approval_id DESC
LIMIT @max;

-- name: ListCalls
SELECT * FROM (
    SELECT invocation_id::text, run_id, tool_call_id, tool_id, actor_id, workflow_id, attempts, started_at, settled_at, created_at,
        coalesce(error_code, CASE WHEN ok THEN 'ok' END, '') AS outcome,
        CASE
            WHEN state = 'settled' THEN 'settled'
            WHEN EXISTS (SELECT FROM leases l WHERE l.invocation_id = i.invocation_id AND l.state = 'waiting')
                OR EXISTS (SELECT FROM debits d WHERE d.invocation_id = i.invocation_id AND d.ready_at > now()) THEN 'waiting_capacity'
            ELSE coalesce((
                SELECT CASE WHEN parked = '' THEN 'waiting_approval' ELSE 'parked_unknown' END
                FROM approvals a WHERE a.invocation_id = i.invocation_id AND a.state = 'open'
            ), 'running')
        END AS status
    FROM invocations i
    WHERE tenant_id = @tenant_id
        AND (@tool_id = '' OR tool_id = @tool_id)
        AND (@outcome = '' OR @outcome = coalesce(error_code, CASE WHEN ok THEN 'ok' END, ''))
        AND (@before::timestamptz IS NULL OR (created_at, invocation_id) < (@before::timestamptz, @before_id::uuid))
) c
WHERE @status = '' OR status = @status
ORDER BY created_at DESC, invocation_id DESC
LIMIT @max;

-- name: DecidedCalls
SELECT invocation_id::text, tenant_id, tool_id, actor_id, run_id, coalesce(connection_id, '') AS connection_id,
    coalesce(plan ->> 'effect', '') AS effect, coalesce(plan ->> 'risk', '') AS risk,
    coalesce(plan -> 'discovered' ->> 'digest', '') AS discovered, safe_args, policy_digest, created_at,
    EXISTS (SELECT FROM hydrations h WHERE h.invocation_id = i.invocation_id AND h.month = i.month AND h.repaired) AS repaired,
    EXISTS (
        SELECT FROM hydrations h
        WHERE h.invocation_id = i.invocation_id AND h.month = i.month AND h.outcome = 'success' AND h.provenance -> 'validator' IS NULL
    ) AS no_schema
FROM invocations i
WHERE tenant_id = @tenant_id AND state = 'settled' AND created_at >= @since::timestamptz AND plan ->> 'toolDigest' <> ''
    AND (@before::timestamptz IS NULL OR (created_at, invocation_id) < (@before::timestamptz, @before_id::uuid))
ORDER BY created_at DESC, invocation_id DESC
LIMIT @max;
