-- name: PermittedTools
-- Returns the tools that an actor may run in a graph or, if @graph_id is empty, in at least one graph.
WITH RECURSIVE held (who, depth) AS (
    SELECT @actor_id::text, 0
    UNION
    SELECT r.object, h.depth + 1
    FROM held h JOIN relations r ON r.tenant_id = @tenant_id AND r.subject = h.who AND r.kind = 'member'
    WHERE h.depth < @depth::integer AND (r.expires_at IS NULL OR r.expires_at > now())
)
SELECT DISTINCT r.tools FROM held h JOIN relations r ON r.tenant_id = @tenant_id AND r.subject = h.who AND r.kind = 'execute'
WHERE (@graph_id::text = '' OR r.graph_id IN ('', @graph_id)) AND (r.expires_at IS NULL OR r.expires_at > now());
