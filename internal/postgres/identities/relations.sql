-- name: CheckRelations
-- Returns whether an actor may run a tool, and whether it may act for the subject. held contains
-- the actor, its groups and roles, their groups and roles, and so on up to a depth. The depth
-- also ends a cycle.
WITH RECURSIVE held (who, depth) AS (
    SELECT @actor_id::text, 0
    UNION
    SELECT r.object, h.depth + 1
    FROM held h JOIN relations r ON r.tenant_id = @tenant_id AND r.subject = h.who AND r.kind = 'member'
    WHERE h.depth < @depth::integer AND (r.expires_at IS NULL OR r.expires_at > now())
)
SELECT
    EXISTS (
        SELECT FROM (SELECT DISTINCT who FROM held) h JOIN relations r ON r.tenant_id = @tenant_id AND r.subject = h.who AND r.kind = 'execute'
        WHERE (r.tools = @tool_id OR right(r.tools, 1) = '*' AND starts_with(@tool_id, left(r.tools, -1)))
            AND r.graph_id IN ('', @graph_id) AND (r.expires_at IS NULL OR r.expires_at > now())
    ) AS permitted,
    EXISTS (
        SELECT FROM relations r
        WHERE r.tenant_id = @tenant_id AND r.subject = @actor_id AND r.kind = 'delegate' AND r.object = @subject_id
            AND (r.tools = @tool_id OR right(r.tools, 1) = '*' AND starts_with(@tool_id, left(r.tools, -1)))
            AND r.graph_id IN ('', @graph_id) AND (r.expires_at IS NULL OR r.expires_at > now())
    ) AS delegated,
    EXISTS (
        SELECT FROM submitter_keys WHERE tenant_id = @tenant_id AND key_id = @submitter AND revoked_at IS NULL
    ) AS trusted;

-- name: HeldRoles
WITH RECURSIVE held (who, depth) AS (
    SELECT @identity::text, 0
    UNION
    SELECT r.object, h.depth + 1
    FROM held h JOIN relations r ON r.tenant_id = @tenant_id AND r.subject = h.who AND r.kind = 'member'
    WHERE h.depth < @depth::integer AND (r.expires_at IS NULL OR r.expires_at > now())
)
SELECT DISTINCT who AS role FROM held WHERE starts_with(who, 'role:') ORDER BY role;

-- name: AddRelation
-- An existing relation gets the new expiry, which may be earlier.
WITH before AS (
    SELECT FROM relations
    WHERE tenant_id = @tenant_id AND subject = @subject AND kind = @kind AND object = @object AND tools = @tools AND graph_id = @graph_id
), added AS (
    INSERT INTO relations (tenant_id, subject, kind, object, tools, graph_id, expires_at, granted_by)
    VALUES (@tenant_id, @subject, @kind, @object, @tools, @graph_id, now() + @lasts::interval, @granted_by)
    ON CONFLICT (tenant_id, subject, kind, object, tools, graph_id) DO UPDATE SET
        expires_at = excluded.expires_at, granted_at = excluded.granted_at, granted_by = excluded.granted_by
    RETURNING expires_at
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'relation_added', @tenant_id, json_build_object(
        'subject', @subject::text, 'kind', @kind::text, 'object', @object::text, 'tools', @tools::text, 'graphId', @graph_id::text,
        'expiresAt', expires_at, 'by', @granted_by::text
    ) FROM added
)
SELECT expires_at, EXISTS (SELECT FROM before) AS replaced FROM added;

-- name: RemoveRelation
WITH removed AS (
    DELETE FROM relations
    WHERE tenant_id = @tenant_id AND subject = @subject AND kind = @kind AND object = @object AND tools = @tools AND graph_id = @graph_id
    RETURNING 1
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'relation_removed', @tenant_id, json_build_object(
        'subject', @subject::text, 'kind', @kind::text, 'object', @object::text, 'tools', @tools::text, 'graphId', @graph_id::text,
        'by', @removed_by::text
    ) FROM removed
)
SELECT EXISTS (SELECT FROM removed) AS removed;

-- name: ListRelations
SELECT kind, subject, object, tools, graph_id, expires_at, coalesce(expires_at <= now(), false) AS expired, granted_at, granted_by
FROM relations
WHERE tenant_id = @tenant_id AND (@who::text = '' OR subject = @who OR object = @who)
ORDER BY kind, subject, object, tools, graph_id
LIMIT @most;
