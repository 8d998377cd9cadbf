-- name: CloseOtherRequests
-- A call waits for one request at a time. This closes open requests for other arguments and
-- expires overdue requests. It closes no request that the caller does not know: a late try of an
-- activity must not close the request that followed it.
WITH closed AS (
    UPDATE approvals a SET state = CASE WHEN a.expires_at <= now() THEN 'expired' ELSE 'closed' END
    FROM invocations i
    WHERE i.invocation_id = @invocation_id::uuid AND i.tenant_id = @tenant_id AND i.state = 'open' AND i.epoch = @epoch AND i.temporal_run_id = @temporal_run_id
        AND a.invocation_id = i.invocation_id AND a.state = 'open'
        AND (a.expires_at <= now() OR a.number <= @last AND (a.digest <> @digest OR a.edited_by <> @edited_by) AND NOT EXISTS (
            -- An edit has already answered this request. The call is about to find the request
            -- that followed it.
            SELECT FROM approvals e
            WHERE e.invocation_id = i.invocation_id AND e.digest = @digest AND e.edited_by = @edited_by
                AND e.state = 'edited' AND e.number = ANY (@edits::integer[])
        ))
    RETURNING a.approval_id, a.state
)
INSERT INTO notices (approval_id, kind) SELECT approval_id, state FROM closed ON CONFLICT DO NOTHING;

-- name: Request
-- Returns an existing request for the same digest, or opens the next one. It returns three kinds
-- of existing requests: an open or approved request (CloseOtherRequests runs before this); a
-- request with a final answer whose worker died before the call used it, so that people are not
-- asked twice; and an edited request, if the call has that edit. It opens no request if the call has
-- a request that the caller does not know. Then the caller is a late try of an activity, or its run
-- has lost the workflow task in which it opened that request. The run finds it in the record when
-- it admits the call again. The shared lock on the active
-- policy orders this against a policy change: either the change waits and then sees this
-- request, or this statement sees the new policy and sends the recheck itself.
WITH active AS MATERIALIZED (
    SELECT coalesce(digest, '') AS digest FROM policy_active FOR SHARE
), current AS (
    SELECT request_round, month, workflow_id, namespace FROM invocations
    WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
), standing AS (
    SELECT approval_id, number, state, approver, granted, rule, expires_at, created_at, preview
    FROM approvals
    -- A request for edited arguments is a separate request, also if the arguments are equal: the
    -- editor may not approve it.
    WHERE invocation_id = @invocation_id::uuid AND digest = @digest AND edited_by = @edited_by
        AND (state IN ('open', 'approved', 'denied', 'withdrawn', 'settled_ok', 'settled_failed', 'expired') OR state = 'edited' AND number = ANY (@edits::integer[]))
        AND EXISTS (SELECT FROM current)
    ORDER BY state IN ('denied', 'withdrawn', 'settled_ok', 'settled_failed') DESC, state = 'approved' DESC, state = 'open' DESC, number DESC
    LIMIT 1
), remembered AS (
    -- The lock orders this against a revocation.
    SELECT grant_id, approver FROM approval_grants
    WHERE grant_id = nullif(@remembered, '')::uuid AND tenant_id = @tenant_id AND revoked_at IS NULL AND expires_at > now()
    FOR SHARE
), opened AS (
    INSERT INTO approvals (
        approval_id, invocation_id, number, tenant_id, digest, tool_id, effect, risk, safe_args, message, requested_by, edited_by,
        approvers_text, rule, granted, policy_rule, policy_digest, parked, on_behalf_of, expires_at,
        state, approver, decided_at, remembered, preview
    )
    SELECT
        @invocation_id || '.' || n.number, @invocation_id::uuid, n.number, @tenant_id, @digest, @tool_id, @effect, @risk, @safe_args::json,
        @message, @requested_by, @edited_by, @approvers_text, @rule::json, @granted::json, @policy_rule, @policy_digest, @parked, @on_behalf_of,
        now() + @expire_after::interval,
        CASE WHEN r.grant_id IS NULL THEN 'open' ELSE 'approved' END, r.approver, CASE WHEN r.grant_id IS NOT NULL THEN now() END, r.grant_id, @preview::json
    FROM (SELECT @last::integer + 1 AS number FROM current WHERE request_round <= @last::integer) n LEFT JOIN remembered r ON true
    -- If the grant has ended since it was read, no request is opened: the caller then asks people, with
    -- a preview.
    WHERE NOT EXISTS (SELECT FROM standing) AND (@remembered = '' OR r.grant_id IS NOT NULL)
    RETURNING approval_id, number, state, approver, granted, rule, expires_at, created_at, preview, remembered
), new_notices AS (
    -- A request that a grant approves needs no notices. Reminders and escalations are stored
    -- now, with the time at which they are due.
    INSERT INTO notices (approval_id, kind, number, at, happened)
    SELECT o.approval_id, w.kind, w.number, o.created_at + w.after, w.after = interval '0'
    FROM opened o, LATERAL (
        SELECT 'requested' AS kind, 0 AS number, interval '0' AS after
        UNION ALL
        SELECT 'reminded', 0, @remind_after::interval WHERE @remind_after::interval > interval '0'
        UNION ALL
        SELECT 'escalated', e.step::integer, e.after_ms * interval '1 ms'
        FROM unnest(@escalate_after_ms::bigint[]) WITH ORDINALITY AS e (after_ms, step)
    ) w
    WHERE o.state = 'open' AND o.created_at + w.after < o.expires_at
    ON CONFLICT DO NOTHING
), audited AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, detail)
    SELECT month, 'approval_requested', @tenant_id, @invocation_id::uuid, workflow_id, json_build_object(
        'approvalId', approval_id, 'digest', @digest, 'parked', @parked <> '', 'remembered', remembered)
    FROM opened, current
), hydrated AS (
    -- Written before the wait, because the call may end during it without its own settle.
    INSERT INTO hydrations (month, invocation_id, at, seq, outcome, repaired, tool_id, provider_tool, tool_digest, provenance)
    SELECT c.month, @invocation_id::uuid, h.at, h.seq, h.outcome, h.repaired, h.tool_id, h.provider_tool, h.tool_digest, h.provenance::json
    FROM current c, unnest(
        @hydration_ats::timestamptz[], @hydration_seqs::integer[], @hydration_outcomes::text[], @hydration_repaired::boolean[],
        @hydration_tools::text[], @hydration_provider_tools::text[], @hydration_digests::text[], @hydration_provenances::text[]
    ) AS h (at, seq, outcome, repaired, tool_id, provider_tool, tool_digest, provenance)
    ON CONFLICT DO NOTHING
), counted AS (
    UPDATE invocations SET request_round = greatest(request_round, (SELECT number FROM opened))
    WHERE invocation_id = @invocation_id::uuid AND EXISTS (SELECT FROM opened)
), found AS (
    SELECT * FROM standing UNION ALL SELECT approval_id, number, state, approver, granted, rule, expires_at, created_at, preview FROM opened
), rechecked AS (
    INSERT INTO outbox (kind, workflow_id, signal, namespace)
    SELECT 'signal', workflow_id, 'recheck', namespace FROM active, current
    WHERE digest <> @policy_digest AND EXISTS (SELECT FROM found WHERE state = 'open')
    RETURNING id
)
SELECT number, state, coalesce(approver, '') AS approver, granted, rule, expires_at, created_at, preview,
    (
        -- One more than the limit, to detect that there are more.
        SELECT json_agg(json_build_object('public', encode(public_key, 'base64'), 'identity', identity))
        FROM (
            SELECT public_key, identity FROM approver_keys
            WHERE tenant_id = @tenant_id AND revoked_at IS NULL ORDER BY identity, key_id LIMIT @max_keys::integer + 1
        ) valid
    ) AS keys,
    -- A request with a final answer has no time left to wait.
    CASE WHEN state IN ('denied', 'withdrawn', 'settled_ok', 'settled_failed', 'expired') THEN 0 ELSE ceil(extract(epoch FROM expires_at - now()) * 1000)::bigint END AS remaining_ms,
    (SELECT count(pg_notify('pawl_outbox', '')) FROM rechecked) AS notified
FROM found;

-- name: Look
-- Raises the gate and capacity rounds, expires an overdue request, and returns the request. If
-- this decision was recorded before, it returns the recorded answer too.
WITH current AS (
    UPDATE invocations SET gate_round = greatest(gate_round, @gate), capacity_round = greatest(capacity_round, @capacity)
    WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
    RETURNING invocation_id, tool_id, connection_id, actor_id, subject_id
), overdue AS (
    UPDATE approvals SET state = 'expired'
    WHERE approval_id = @approval_id AND invocation_id = (SELECT invocation_id FROM current)
        AND state = 'open' AND expires_at <= now()
    RETURNING approval_id, state
), new_notices AS (
    INSERT INTO notices (approval_id, kind) SELECT approval_id, state FROM overdue ON CONFLICT DO NOTHING
)
SELECT
    coalesce((SELECT state FROM overdue), a.state, '') AS state,
    coalesce(a.approver, '') AS approver,
    coalesce(ceil(extract(epoch FROM a.expires_at - now()) * 1000)::bigint, 0) AS remaining_ms,
    coalesce((SELECT digest FROM policy_active), '') AS policy_digest, (
        SELECT json_agg(json_build_object('id', s.id, 'effect', s.effect, 'reason', s.reason) ORDER BY s.id)
        FROM kill_switches s
        WHERE s.off_at IS NULL AND s.tenant_id IN ('', @tenant_id)
            AND (s.tool = c.tool_id OR right(s.tool, 1) = '*' AND starts_with(c.tool_id, left(s.tool, -1)))
    ) AS kills, (
        -- Same grants as in Admit.
        SELECT json_build_object('generation', n.generation, 'status', n.status, 'scopes', n.scopes, 'grants', (
            WITH RECURSIVE held (who, depth) AS (
                SELECT coalesce(c.subject_id, c.actor_id), 0
                UNION
                SELECT m.object, h.depth + 1
                FROM held h JOIN relations m ON m.tenant_id = @tenant_id AND m.subject = h.who AND m.kind = 'member'
                WHERE h.depth < @depth::integer AND (m.expires_at IS NULL OR m.expires_at > now())
            )
            SELECT json_agg(json_build_object('grantee', g.grantee, 'held', g.grantee IN (SELECT who FROM held), 'scopes', g.scopes) ORDER BY g.grantee)
            FROM connection_grants g
            WHERE g.tenant_id = n.tenant_id AND g.connection_id = n.connection_id AND g.revoked_at IS NULL
                AND (g.expires_at IS NULL OR g.expires_at > now()) AND (g.grantee = coalesce(c.subject_id, c.actor_id) OR starts_with(g.grantee, 'role:'))
        ))
        FROM connections n WHERE n.tenant_id = @tenant_id AND n.connection_id = c.connection_id
    ) AS connection,
    a.rule, a.granted, coalesce(a.requested_by, '') AS requested_by, coalesce(a.edited_by, '') AS edited_by, coalesce(a.parked, '') AS parked,
    coalesce(a.on_behalf_of, '') AS on_behalf_of, coalesce(a.digest, '') AS digest, coalesce(a.votes, 0) AS votes, now() AS now,
    coalesce(floor(extract(epoch FROM now() - a.created_at) * 1000)::bigint, 0) AS waited_ms,
    (
        -- The column seat is the entry of the chain that the approval counted for.
        SELECT json_agg(json_build_object('entry', v.seat, 'approver', v.approver, 'hookEntries', v.hook_entries) ORDER BY v.at)
        FROM decisions v WHERE v.approval_id = a.approval_id AND v.counted AND v.decision = 'approve'
    ) AS voters,
    k.public_key, coalesce(k.identity, '') AS key_identity, k.revoked_at IS NOT NULL AS key_revoked,
    d.decision_hash IS NOT NULL AS recorded, coalesce(d.counted, false) AS counted, coalesce(d.answer, '') AS answer,
    CASE WHEN @refresh::boolean THEN (
        -- One more than the limit, to detect that there are more.
        SELECT json_agg(json_build_object('public', encode(public_key, 'base64'), 'identity', identity))
        FROM (
            SELECT public_key, identity FROM approver_keys
            WHERE tenant_id = @tenant_id AND revoked_at IS NULL ORDER BY identity, key_id LIMIT @max_keys::integer + 1
        ) valid
    ) END AS keys
FROM current c
LEFT JOIN approver_keys k ON k.tenant_id = @tenant_id AND k.key_id = @key_id
LEFT JOIN approvals a ON a.approval_id = @approval_id AND a.invocation_id = c.invocation_id
LEFT JOIN decisions d ON d.approval_id = a.approval_id AND d.decision_hash = @decision_hash;

-- name: CloseRequest
-- Closes a request that needs no decision any more.
WITH closed AS (
    UPDATE approvals a SET state = CASE WHEN a.expires_at <= now() THEN 'expired' ELSE 'closed' END
    FROM invocations i
    WHERE i.invocation_id = @invocation_id::uuid AND i.tenant_id = @tenant_id AND i.state = 'open' AND i.epoch = @epoch AND i.temporal_run_id = @temporal_run_id
        AND a.approval_id = @approval_id AND a.invocation_id = i.invocation_id AND a.state = 'open'
    RETURNING a.approval_id, a.state
)
INSERT INTO notices (approval_id, kind) SELECT approval_id, state FROM closed ON CONFLICT DO NOTHING;

-- name: Decide
-- Writes a judged decision. It counts only if the request is still open by the database clock:
-- the first final decision wins. If another decision has counted since the request was read,
-- this writes nothing and counted is null. The caller must judge again.
WITH request AS (
    SELECT a.approval_id, a.invocation_id, i.month, i.workflow_id, a.expires_at, a.votes,
        CASE WHEN a.state = 'open' AND a.expires_at <= now() THEN 'expired' ELSE a.state END AS standing
    FROM approvals a JOIN invocations i USING (invocation_id)
    WHERE a.approval_id = @approval_id AND i.invocation_id = @invocation_id::uuid AND i.tenant_id = @tenant_id
        AND i.state = 'open' AND i.epoch = @epoch AND i.temporal_run_id = @temporal_run_id
), recorded AS (
    SELECT counted, answer FROM decisions WHERE approval_id = @approval_id AND decision_hash = @decision_hash
), verdict AS (
    SELECT r.*, @counts::boolean AND standing = 'open' AS counts,
        CASE
            WHEN standing <> 'open' THEN 'the request is already ' || standing
            ELSE @answer
        END AS answer
    FROM request r
    WHERE NOT EXISTS (SELECT FROM recorded) AND (NOT @counts::boolean OR standing <> 'open' OR votes = @votes::integer)
), decided AS (
    UPDATE approvals a SET votes = a.votes + 1, state = CASE WHEN @final::boolean THEN @becomes ELSE a.state END,
        approver = CASE WHEN @final::boolean THEN @approver END, decided_at = CASE WHEN @final::boolean THEN now() END
    FROM verdict v WHERE a.approval_id = v.approval_id AND v.counts
    RETURNING a.approval_id, a.state, a.approver, a.votes
), new_notices AS (
    INSERT INTO notices (approval_id, kind, number, approver, decision, reason, remark)
    SELECT approval_id, CASE WHEN @final::boolean THEN 'decided' ELSE 'voted' END, CASE WHEN @final::boolean THEN 0 ELSE votes END,
        @approver, @decision, @reason, @answer
    FROM decided
    ON CONFLICT DO NOTHING
), noted AS (
    INSERT INTO decisions (
        approval_id, decision_hash, decision, approver, reason, args_digest, remember, signed, counted, answer, seat, hook_entries,
        final, key_id
    )
    SELECT
        approval_id, @decision_hash, @decision, @approver, @reason, nullif(@args_digest, ''), @remember::boolean, @signed::boolean, counts, answer,
        @entry::integer, @hook_entries::integer[], @final::boolean, nullif(@key_id, '')
    FROM verdict
    RETURNING counted, answer
), remembered AS (
    INSERT INTO approval_grants (tenant_id, tool_id, granted, args_digest, args_match, actor_id, session_id, approver, approval_id, expires_at)
    SELECT @tenant_id, a.tool_id, @grant_granted::json, nullif(@grant_args, ''), @grant_match::json, nullif(@grant_actor, ''),
        nullif(@grant_session, ''), @approver, v.approval_id, now() + @grant_for::interval
    FROM verdict v JOIN approvals a USING (approval_id)
    WHERE v.counts AND @grant_for::interval > interval '0'
), audited AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, detail)
    SELECT month, 'decision', @tenant_id, invocation_id, workflow_id, json_build_object(
        'approvalId', approval_id, 'decision', @decision, 'approver', @approver, 'counted', counts, 'answer', answer)
    FROM verdict
)
SELECT coalesce((SELECT state FROM decided), r.standing) AS state,
    coalesce((SELECT approver FROM decided), a.approver, '') AS approver,
    ceil(extract(epoch FROM r.expires_at - now()) * 1000)::bigint AS remaining_ms,
    coalesce((SELECT digest FROM policy_active), '') AS policy_digest,
    n.counted, n.answer
FROM request r JOIN approvals a USING (approval_id) LEFT JOIN (SELECT * FROM noted UNION ALL SELECT * FROM recorded) n ON true;
