-- name: Recheck
-- Sends a recheck to open calls and schedules the second scan. It runs in the transaction of the
-- change, after the change. The policy version narrows only the second scan: a call that was
-- admitted under this version earlier may have been judged by another version since.
WITH rechecked AS (
    INSERT INTO outbox (kind, workflow_id, signal, namespace)
    SELECT 'signal', workflow_id, 'recheck', namespace FROM invocations
    WHERE state = 'open'
        AND (@tenant_id = '' OR tenant_id = @tenant_id)
        AND (@tool IN ('', '*') OR tool_id = @tool OR right(@tool, 1) = '*' AND starts_with(tool_id, left(@tool, -1)))
        AND (@effect = '' OR plan ->> 'effect' = @effect)
        AND (@actor_id = '' OR actor_id = @actor_id OR subject_id = @actor_id)
        AND (@connection_id = '' OR connection_id = @connection_id)
        AND (subject_id IS NOT NULL OR NOT @with_subject::boolean)
    RETURNING id
), again AS (
    INSERT INTO rechecks (tenant_id, tool, effect, actor_id, connection_id, policy_digest, due_at)
    VALUES (@tenant_id, @tool, @effect, @actor_id, @connection_id, @policy_digest, now() + @again::interval)
)
SELECT count(*) AS rechecked, count(pg_notify('pawl_outbox', '')) AS notified FROM rechecked;

-- name: RecheckAgain
-- Runs the second scans that are due. It sends a recheck only to calls that began around the
-- change, because the first scan has reached the earlier calls.
WITH due AS MATERIALIZED (
    SELECT id, tenant_id, tool, effect, actor_id, connection_id, policy_digest, asked_at, due_at
    FROM rechecks WHERE due_at <= now() ORDER BY due_at LIMIT @batch FOR UPDATE SKIP LOCKED
), done AS (
    DELETE FROM rechecks r USING due d WHERE r.id = d.id
), rechecked AS (
    INSERT INTO outbox (kind, workflow_id, signal, namespace)
    SELECT DISTINCT 'signal', i.workflow_id, 'recheck', i.namespace
    FROM due d JOIN invocations i ON i.state = 'open' AND i.created_at >= d.asked_at - @margin::interval AND i.created_at <= d.due_at
        AND (d.policy_digest = '' OR i.policy_digest <> d.policy_digest)
        AND (d.tenant_id = '' OR i.tenant_id = d.tenant_id)
        AND (d.tool IN ('', '*') OR i.tool_id = d.tool OR right(d.tool, 1) = '*' AND starts_with(i.tool_id, left(d.tool, -1)))
        AND (d.effect = '' OR i.plan ->> 'effect' = d.effect)
        AND (d.actor_id = '' OR i.actor_id = d.actor_id OR i.subject_id = d.actor_id)
        AND (d.connection_id = '' OR i.connection_id = d.connection_id)
    RETURNING id
)
SELECT (SELECT count(*) FROM due) AS scanned, count(*) AS rechecked, count(pg_notify('pawl_outbox', '')) AS notified FROM rechecked;
