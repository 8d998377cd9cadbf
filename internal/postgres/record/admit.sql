-- name: Admit
-- Inserts the call or reads its record. The CTE "final" reads a record that is settled, belongs
-- to another call, or belongs to a workflow of another namespace. These facts never change, so
-- any snapshot that shows them is correct. Every other record goes through ON CONFLICT DO
-- UPDATE, which checks and returns the newest version of the row in any snapshot. If a record
-- becomes final after the snapshot, no row comes back, and the caller runs the statement again.
WITH final AS MATERIALIZED (
    SELECT input_digest, result, epoch, gate_round, dispatch_round, request_round, capacity_round, plan, namespace
    FROM invocations
    WHERE invocation_id = @invocation_id::uuid AND (state = 'settled' OR input_digest <> @input_digest OR namespace NOT IN ('', @namespace))
), admitted AS (
    INSERT INTO invocations (
        invocation_id, tenant_id, run_id, tool_call_id, tool_id, actor_id, subject_id, session_id, request_id, graph_id, connection_id,
        workflow_id, temporal_run_id, namespace, input_digest, plan, policy_digest, started_at
    )
    SELECT
        @invocation_id::uuid, @tenant_id, @run_id, @tool_call_id, @tool_id, @actor_id, nullif(@subject_id, ''), nullif(@session_id, ''),
        nullif(@request_id, ''), nullif(@graph_id, ''), nullif(@connection_id, ''), @workflow_id, @temporal_run_id, @namespace, @input_digest,
        @plan::json, coalesce((SELECT digest FROM policy_active), ''), @started_at::timestamptz
    WHERE NOT EXISTS (SELECT FROM final)
    ON CONFLICT (invocation_id) DO UPDATE
        SET epoch = invocations.epoch + 1, temporal_run_id = excluded.temporal_run_id, namespace = excluded.namespace,
            -- A plan without a tool digest was made by a worker without the tool. Such a plan has no
            -- steps, so the call has run nothing.
            plan = CASE WHEN invocations.plan ->> 'toolDigest' IS NULL THEN excluded.plan ELSE invocations.plan END
        WHERE invocations.state = 'open' AND invocations.input_digest = excluded.input_digest
            AND invocations.namespace IN ('', excluded.namespace)
    RETURNING input_digest, result, epoch, gate_round, dispatch_round, request_round, capacity_round, plan, namespace
)
SELECT r.input_digest, r.result, r.epoch, r.gate_round, r.dispatch_round, r.request_round, r.capacity_round, r.plan, r.namespace,
    coalesce((SELECT watched_until > now() FROM runs WHERE tenant_id = @tenant_id AND run_id = @run_id), false) AS watched,
    coalesce((SELECT digest FROM policy_active), '') AS policy_digest, (
        SELECT json_agg(json_build_object('id', k.id, 'effect', k.effect, 'reason', k.reason) ORDER BY k.id)
        FROM kill_switches k
        WHERE k.off_at IS NULL AND k.tenant_id IN ('', @tenant_id)
            AND (k.tool = @tool_id OR right(k.tool, 1) = '*' AND starts_with(@tool_id, left(k.tool, -1)))
    ) AS kills, (
        -- Only grants that may apply to the call: grants to its holder and grants to roles. The
        -- relations say which roles the holder has.
        SELECT json_build_object('generation', n.generation, 'status', n.status, 'scopes', n.scopes, 'grants', (
            WITH RECURSIVE held (who, depth) AS (
                SELECT @holder::text, 0
                UNION
                SELECT m.object, h.depth + 1
                FROM held h JOIN relations m ON m.tenant_id = @tenant_id AND m.subject = h.who AND m.kind = 'member'
                WHERE h.depth < @depth::integer AND (m.expires_at IS NULL OR m.expires_at > now())
            )
            SELECT json_agg(json_build_object('grantee', g.grantee, 'held', g.grantee IN (SELECT who FROM held), 'scopes', g.scopes) ORDER BY g.grantee)
            FROM connection_grants g
            WHERE g.tenant_id = n.tenant_id AND g.connection_id = n.connection_id AND g.revoked_at IS NULL
                AND (g.expires_at IS NULL OR g.expires_at > now()) AND (g.grantee = @holder OR starts_with(g.grantee, 'role:'))
        ))
        FROM connections n WHERE n.tenant_id = @tenant_id AND n.connection_id = @connection_id
    ) AS connection
FROM (SELECT * FROM admitted UNION ALL SELECT * FROM final) r;

-- name: Refuse
INSERT INTO events (kind, workflow_id, detail) VALUES ('refused', @workflow_id, @detail::json);
