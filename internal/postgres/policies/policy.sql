-- name: PolicySource
SELECT source FROM policies WHERE digest = @digest;

-- name: InsertPolicy
INSERT INTO policies (digest, source) VALUES (@digest, @source) ON CONFLICT (digest) DO NOTHING;

-- name: LockActivePolicy
-- Waits for transactions that open requests under the old version, so that the next statement
-- sees these requests.
SELECT 1 FROM policy_active FOR UPDATE;

-- name: ActivatePolicy
-- Changes the active version and notifies every worker.
WITH before AS (
    SELECT coalesce(digest, '') AS digest FROM policy_active
), moved AS (
    UPDATE policy_active SET digest = @digest, activated_at = now(), activated_by = @activated_by
    WHERE digest IS DISTINCT FROM @digest AND (digest IS NULL OR NOT @only_if_none::boolean)
        AND (NOT @expects::boolean OR coalesce(digest, '') = @expected)
    RETURNING digest
), kept AS (
    INSERT INTO policy_activations (digest, before, how, activated_by)
    SELECT m.digest, b.digest, @how, @activated_by FROM moved m, before b
), audited AS (
    INSERT INTO events (kind, detail)
    SELECT 'policy_activated', json_build_object('digest', m.digest, 'before', b.digest, 'by', @activated_by, 'how', @how)
    FROM moved m, before b
)
SELECT EXISTS (SELECT FROM moved) AS changed, (SELECT digest FROM before) AS before, (SELECT count(pg_notify('pawl_policy', '')) FROM moved) AS announced;

-- name: ActivePolicy
SELECT digest, activated_at, activated_by FROM policy_active WHERE digest IS NOT NULL;

-- name: AnnouncePolicy
-- Notifies every worker, as if the active version had changed.
SELECT pg_notify('pawl_policy', '');

-- name: PolicyHistory
SELECT digest, before, how, activated_by AS by, activated_at AS at FROM policy_activations ORDER BY id DESC LIMIT @max;

-- name: PolicyVersions
SELECT digest FROM policies WHERE starts_with(digest, @prefix) ORDER BY digest LIMIT @max;

-- name: SetShadow
WITH before AS (
    SELECT digest FROM policy_shadow
), moved AS (
    UPDATE policy_shadow SET digest = nullif(@digest, ''), set_by = @by, set_at = now()
    WHERE digest IS DISTINCT FROM nullif(@digest, '')
    RETURNING digest
), audited AS (
    INSERT INTO events (kind, detail)
    SELECT 'policy_shadowed', json_build_object('digest', coalesce(m.digest, ''), 'before', coalesce(b.digest, ''), 'by', @by) FROM moved m, before b
)
SELECT EXISTS (SELECT FROM moved) AS changed, (SELECT count(pg_notify('pawl_policy', '')) FROM moved) AS announced;

-- name: ShadowPolicy
SELECT digest, set_at AS activated_at, set_by AS activated_by FROM policy_shadow WHERE digest IS NOT NULL;

-- name: ShadowReport
-- Counts the shadow notes of settled calls, by the decisions of the shadow version and of the
-- active version.
SELECT i.tenant_id, i.tool_id, n.reason, count(DISTINCT e.invocation_id) AS calls, min(e.invocation_id::text) AS example
FROM stage_events e CROSS JOIN LATERAL json_to_recordset(e.notes) AS n (hook text, reason text) JOIN invocations i ON i.invocation_id = e.invocation_id
WHERE e.month >= date_trunc('month', @since::timestamptz AT TIME ZONE 'UTC')::date AND e.at >= @since::timestamptz AND e.notes IS NOT NULL
    AND n.hook = 'shadow' AND starts_with(n.reason, @prefix) AND (@tenant_id = '' OR i.tenant_id = @tenant_id)
GROUP BY i.tenant_id, i.tool_id, n.reason
ORDER BY calls DESC, i.tenant_id, i.tool_id, n.reason
LIMIT @max;
