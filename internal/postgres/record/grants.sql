-- name: LiveGrants
SELECT grant_id::text AS id, granted, coalesce(args_digest, '') AS args_digest, args_match, coalesce(actor_id, '') AS actor_id,
    coalesce(session_id, '') AS session_id, approver
FROM approval_grants
WHERE tenant_id = @tenant_id AND tool_id = @tool_id AND revoked_at IS NULL AND expires_at > now()
    AND (actor_id IS NULL OR actor_id = @actor_id) AND (session_id IS NULL OR session_id = @session_id)
    AND (args_digest IS NULL OR args_digest = @args_digest)
ORDER BY created_at, grant_id
LIMIT 256;

-- name: ListGrants
-- Counts the approvals of the tenant in one pass: no index leads from a grant to the approvals that it has answered.
WITH used AS MATERIALIZED (
    SELECT remembered AS grant_id, count(*) AS uses FROM approvals WHERE tenant_id = @tenant_id AND remembered IS NOT NULL GROUP BY remembered
)
SELECT g.grant_id::text AS id, g.tool_id, g.args_digest IS NOT NULL AS exact, g.args_match, coalesce(g.actor_id, '') AS actor_id,
    coalesce(g.session_id, '') AS session_id, g.approver, g.approval_id, g.created_at, g.expires_at, g.expires_at <= now() AS expired, g.revoked_at,
    coalesce(g.revoked_by, '') AS revoked_by, coalesce(u.uses, 0) AS uses
FROM approval_grants g LEFT JOIN used u ON u.grant_id = g.grant_id
WHERE g.tenant_id = @tenant_id
ORDER BY g.created_at DESC, g.grant_id
LIMIT @max;

-- name: RevokeGrant
-- After the commit the grant approves no more requests. Calls that it has approved stay
-- approved.
WITH gone AS (
    UPDATE approval_grants SET revoked_at = now(), revoked_by = @revoked_by
    WHERE tenant_id = @tenant_id AND grant_id = @grant_id::uuid AND revoked_at IS NULL
    RETURNING grant_id
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'grant_revoked', @tenant_id, json_build_object('grantId', grant_id, 'by', @revoked_by) FROM gone
)
SELECT EXISTS (SELECT FROM gone) AS revoked
FROM approval_grants g WHERE g.tenant_id = @tenant_id AND g.grant_id = @grant_id::uuid;
