-- name: LockRegistrations
-- Registrations of a tenant wait for each other, so that the next statement sees the registrations
-- before it.
SELECT pg_advisory_xact_lock(hashtextextended('tool_registrations ' || @tenant_id, 0));

-- name: RegisterTools
-- Makes a version and ends the version before it, unless outcome says why not.
WITH own AS (
    SELECT version, digest, kind, address, ended_at IS NULL AS in_force FROM tool_registrations WHERE tenant_id = @tenant_id AND name = @name
), others AS (
    SELECT name, tools FROM tool_registrations WHERE tenant_id = @tenant_id AND name <> @name AND ended_at IS NULL
), lately AS (
    -- The versions that workers may have of the tenant: versions in force, and versions that ended a short time ago.
    SELECT count(*) AS versions, count(*) FILTER (WHERE kind = 'mcp') AS servers, coalesce(sum(octet_length(document)), 0) AS bytes
    FROM tool_registrations WHERE tenant_id = @tenant_id AND (ended_at IS NULL OR ended_at > now() - @lately::interval)
), taken AS (
    SELECT min(name) AS by FROM others WHERE tools && @tools::text[]
), verdict AS (
    SELECT CASE
        WHEN EXISTS (SELECT FROM own WHERE kind <> @kind OR address <> @address) THEN 'moved'
        WHEN EXISTS (SELECT FROM own WHERE in_force AND digest = @digest) THEN 'same'
        WHEN (SELECT by FROM taken) IS NOT NULL THEN 'taken'
        WHEN (SELECT count(*) FROM others) >= @most::integer THEN 'full'
        WHEN (SELECT versions FROM lately) >= @most_versions::integer THEN 'versions'
        WHEN @kind = 'mcp' AND (SELECT servers FROM lately) >= @most_servers::integer THEN 'servers'
        WHEN (SELECT bytes FROM lately) + octet_length(@document) > @most_bytes::bigint THEN 'bytes'
        ELSE 'registered' END AS outcome
), ended AS (
    UPDATE tool_registrations SET ended_at = now(), ended_by = @by
    WHERE tenant_id = @tenant_id AND name = @name AND ended_at IS NULL AND (SELECT outcome FROM verdict) = 'registered'
    RETURNING version
), made AS (
    -- The count makes the previous version end first: only one version may be in force at a time.
    INSERT INTO tool_registrations (tenant_id, name, version, kind, digest, address, tools, document, registered_by)
    SELECT @tenant_id, @name, coalesce((SELECT max(version) FROM own), 0) + 1, @kind, @digest, @address, @tools::text[], @document, @by
    FROM verdict WHERE outcome = 'registered' AND (SELECT count(*) FROM ended) >= 0
    RETURNING version
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'tools_registered', @tenant_id, json_build_object('name', @name::text, 'kind', @kind::text, 'version', version, 'digest', @digest::text, 'by', @by::text, 'tools', @tools::text[])
    FROM made
)
SELECT outcome, coalesce((SELECT by FROM taken), '') AS taken_by,
    coalesce((SELECT version FROM made), (SELECT max(version) FROM own), 0) AS version,
    (SELECT count(pg_notify('pawl_tools', '')) FROM made) AS announced
FROM verdict;

-- name: UnregisterTools
WITH ended AS (
    UPDATE tool_registrations SET ended_at = now(), ended_by = @by
    WHERE tenant_id = @tenant_id AND name = @name AND ended_at IS NULL
    RETURNING version, kind, digest
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'tools_unregistered', @tenant_id, json_build_object('name', @name::text, 'kind', kind, 'version', version, 'digest', digest, 'by', @by::text)
    FROM ended
)
SELECT version, pg_notify('pawl_tools', '')::text AS announced FROM ended;

-- name: ToolRegistrations
-- Returns the versions in force of a tenant or, with a name, all versions of that name.
SELECT name, version, kind, digest, tools, registered_by, registered_at, coalesce(ended_by, '') AS ended_by, ended_at
FROM tool_registrations
WHERE tenant_id = @tenant_id AND CASE WHEN @name = '' THEN ended_at IS NULL ELSE name = @name END
ORDER BY name, version DESC LIMIT @max;

-- name: ToolDocument
SELECT kind, document FROM tool_registrations WHERE tenant_id = @tenant_id AND name = @name AND version = @version;

-- name: RegistrationsInUse
-- Returns the versions in force, and ended versions with which a call that is still open may have been admitted. A worker may admit
-- calls with an ended version for the time @margin, until it learns of the end. Only the @most versions of a tenant that ended last are
-- compared with its open calls, so that a long history costs nothing. A version of an MCP server has a pattern of tools, so the open calls
-- are compared by the pattern of their server.
WITH waiting AS MATERIALIZED (
    SELECT tenant_id, CASE WHEN starts_with(tool_id, 'mcp__') THEN 'mcp__' || split_part(tool_id, '__', 2) || '__*' ELSE tool_id END AS tool,
        min(created_at) AS since
    FROM invocations
    WHERE state = 'open' AND (starts_with(tool_id, 'tenant-') OR starts_with(tool_id, 'mcp__tenant-'))
    GROUP BY 1, 2
), ended AS MATERIALIZED (
    SELECT r.* FROM (SELECT tenant_id, min(since) AS since FROM waiting GROUP BY tenant_id) w CROSS JOIN LATERAL (
        SELECT id, tenant_id, ended_at, tools FROM tool_registrations t
        WHERE t.tenant_id = w.tenant_id AND t.ended_at > w.since - @margin::interval
        ORDER BY t.ended_at DESC LIMIT @most
    ) r
), used AS (
    SELECT id FROM tool_registrations WHERE ended_at IS NULL
    UNION
    SELECT id FROM tool_registrations WHERE ended_at > now() - @margin::interval
    UNION
    SELECT e.id FROM ended e CROSS JOIN LATERAL unnest(e.tools) AS t (id)
        JOIN waiting w ON w.tenant_id = e.tenant_id AND w.tool = t.id AND w.since < e.ended_at + @margin::interval
)
SELECT r.id, r.tenant_id, r.name, r.version, r.kind, r.ended_at IS NULL AS in_force, octet_length(r.document) AS bytes
FROM used JOIN tool_registrations r USING (id)
ORDER BY r.tenant_id, r.ended_at DESC NULLS FIRST, r.id;

-- name: RegistrationDocuments
SELECT id, document FROM tool_registrations WHERE id = ANY (@ids::bigint[]);

-- name: AnnounceTools
-- Makes every worker read the registrations.
SELECT pg_notify('pawl_tools', '');
