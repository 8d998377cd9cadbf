-- name: OpenCalls
-- Returns a page of open calls for the sweeper, oldest first. It returns only calls of the
-- sweeper's namespace: Temporal does not know the workflows of another namespace, and they would
-- look deleted. A row without a namespace comes from a worker that did not record one, and
-- cannot be judged.
SELECT invocation_id::text, workflow_id, temporal_run_id AS run_id, epoch, created_at, now() AS seen_at
FROM invocations
WHERE state = 'open' AND namespace = @namespace AND namespace <> ''
    AND (@after::timestamptz IS NULL OR (created_at, invocation_id) > (@after::timestamptz, @after_id::uuid))
    AND (@until::timestamptz IS NULL OR created_at <= @until::timestamptz)
ORDER BY created_at, invocation_id
LIMIT @max;

-- name: Sweep
-- Settles a call whose workflow has ended, in the epoch that was read before Temporal was asked.
-- A run that was admitted meanwhile has raised the epoch, and its call goes on. The current
-- claims say whether the effect may have happened. Only the workflow knew which claims the tool
-- has answered, so each claim counts as unanswered.
WITH dispatched AS (
    SELECT count(*) AS attempts, coalesce(bool_or(NOT repeatable), false) AS risky
    FROM claims WHERE invocation_id = @invocation_id::uuid AND kind = 'claim'
), ending AS (
    SELECT attempts, CASE WHEN risky THEN @unknown_code ELSE @code END AS code,
        CASE WHEN risky THEN @unknown_message ELSE @message END AS message,
        CASE WHEN risky THEN @unknown_status::integer ELSE @status::integer END AS status,
        CASE WHEN risky THEN json_build_object('cause', @cause::text) END AS details
    FROM dispatched
), swept AS (
    UPDATE invocations i SET
        state = 'settled', settled_at = now(), epoch = i.epoch + 1, ok = false, error_code = e.code, attempts = e.attempts,
        result = json_strip_nulls(json_build_object(
            'toolCallId', i.tool_call_id, 'invocationId', i.invocation_id, 'inputDigest', i.input_digest, 'ok', false,
            'errorCode', e.code, 'safeMessage', e.message, 'details', e.details, 'httpStatus', e.status, 'attempts', e.attempts,
            'startedAtMs', floor(extract(epoch FROM i.started_at) * 1000)::bigint,
            -- started_at is from Temporal's clock, now() from the database's.
            'endedAtMs', floor(extract(epoch FROM greatest(now(), i.started_at)) * 1000)::bigint))
    FROM ending e
    WHERE i.invocation_id = @invocation_id::uuid AND i.namespace = @namespace AND i.namespace <> '' AND i.state = 'open' AND i.epoch = @epoch
        AND i.temporal_run_id = @temporal_run_id
    RETURNING i.month, i.tenant_id, i.workflow_id, i.error_code, i.attempts, i.plan
), hooked AS (
    -- The workflow cannot run the hooks at the closing stages any more. The tool may still run for
    -- a while and need resources that these hooks free, so the hooks are due after the grace.
    INSERT INTO endings (invocation_id, namespace, due_at)
    SELECT @invocation_id::uuid, @namespace, now() + @grace::interval FROM swept
    WHERE EXISTS (SELECT FROM json_array_elements(plan -> 'error') AS step WHERE json_array_length(step -> 'hooks') > 0)
), closed AS (
    UPDATE approvals SET state = CASE WHEN expires_at <= now() THEN 'expired' ELSE 'closed' END
    WHERE invocation_id = @invocation_id::uuid AND state = 'open' AND EXISTS (SELECT FROM swept)
    RETURNING approval_id, state
), forgotten AS (
    UPDATE claims SET answer = NULL, subject = NULL
    WHERE invocation_id = @invocation_id::uuid AND answer IS NOT NULL AND EXISTS (SELECT FROM swept)
), unnamed AS (
    -- The result of a swept call names no output.
    UPDATE outputs SET state = 'expired', expires_at = least(expires_at, now()), touched_at = now()
    WHERE invocation_id = @invocation_id::uuid AND state <> 'expired' AND EXISTS (SELECT FROM swept)
), noticed AS (
    INSERT INTO notices (approval_id, kind) SELECT approval_id, state FROM closed ON CONFLICT DO NOTHING
), audited AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, detail)
    SELECT month, 'swept', tenant_id, @invocation_id::uuid, workflow_id, json_build_object(
        'workflowStatus', @cause::text, 'errorCode', error_code, 'attempts', attempts, 'epoch', @epoch::integer)
    FROM swept
), new_events AS (
    -- Only the workflow knew which arguments may be shown.
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, seq, at, detail)
    SELECT month, e.kind, tenant_id, @invocation_id::uuid, workflow_id, e.seq, e.at, e.detail
    FROM swept, LATERAL (VALUES
        ('tool_call_start', -1, coalesce((
            SELECT min(at) FROM claims WHERE invocation_id = @invocation_id::uuid AND kind = 'claim'
        ), now()), json_build_object('args', false)),
        ('tool_call_result', 1, now(), NULL)
    ) AS e (kind, seq, at, detail)
)
SELECT coalesce((SELECT error_code FROM swept), '') AS code;
