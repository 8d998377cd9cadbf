-- name: LockAgent
-- Changes of an agent wait for each other, so that the next statement sees the changes before it.
SELECT pg_advisory_xact_lock(hashtextextended('agents ' || @name, 0));

-- name: ApplyAgent
-- Stores a version and makes it the active one, unless the version has another content or the agent is retired.
WITH own AS (
    SELECT digest FROM agents WHERE name = @name AND version = @version
), pointer AS (
    SELECT version, retired FROM agent_active WHERE name = @name
), verdict AS (
    SELECT CASE
        WHEN EXISTS (SELECT FROM own WHERE digest <> @digest) THEN 'taken'
        WHEN EXISTS (SELECT FROM pointer WHERE retired) THEN 'retired'
        WHEN EXISTS (SELECT FROM pointer WHERE version = @version) THEN 'same'
        ELSE 'active' END AS outcome
), made AS (
    INSERT INTO agents (name, version, digest, document, applied_by)
    SELECT @name, @version, @digest, @document, @by FROM verdict WHERE outcome <> 'taken' AND NOT EXISTS (SELECT FROM own)
    RETURNING version
), moved AS (
    INSERT INTO agent_active (name, version, changed_by)
    SELECT @name, @version, @by FROM verdict WHERE outcome = 'active'
    ON CONFLICT (name) DO UPDATE SET version = excluded.version, changed_by = excluded.changed_by, changed_at = now()
    RETURNING version
), audited AS (
    INSERT INTO events (kind, detail)
    SELECT 'agent_applied', json_build_object('name', @name, 'version', version, 'digest', @digest, 'by', @by) FROM made
    UNION ALL
    SELECT 'agent_activated', json_build_object(
        'name', @name, 'version', version, 'digest', @digest, 'before', coalesce((SELECT version FROM pointer), ''), 'by', @by, 'how', 'apply') FROM moved
)
SELECT outcome, EXISTS (SELECT FROM made) AS stored, coalesce((SELECT version FROM pointer), '') AS before FROM verdict;

-- name: ActivateAgent
-- Makes a stored version the active one, also of a retired agent.
WITH own AS (
    SELECT version, digest FROM agents WHERE name = @name AND version = @version
), pointer AS (
    SELECT version, retired FROM agent_active WHERE name = @name
), moved AS (
    UPDATE agent_active a SET version = own.version, retired = false, changed_by = @by, changed_at = now()
    FROM own WHERE a.name = @name AND (a.version <> own.version OR a.retired)
    RETURNING a.version, own.digest
), audited AS (
    INSERT INTO events (kind, detail)
    SELECT 'agent_activated', json_build_object(
        'name', @name, 'version', m.version, 'digest', m.digest, 'before', p.version, 'retired', p.retired, 'by', @by, 'how', 'activate')
    FROM moved m, pointer p
)
SELECT own.digest, EXISTS (SELECT FROM moved) AS changed, p.version AS before FROM own, pointer p;

-- name: RetireAgent
WITH pointer AS (
    SELECT version FROM agent_active WHERE name = @name
), moved AS (
    UPDATE agent_active SET retired = true, changed_by = @by, changed_at = now() WHERE name = @name AND NOT retired
    RETURNING version
), audited AS (
    INSERT INTO events (kind, detail)
    SELECT 'agent_retired', json_build_object('name', @name, 'version', version, 'by', @by) FROM moved
)
SELECT version, EXISTS (SELECT FROM moved) AS changed FROM pointer;

-- name: AgentDocument
-- Returns a version, or the active one for an empty version.
SELECT v.document, v.digest, a.retired
FROM agent_active a JOIN agents v ON v.name = a.name AND v.version = coalesce(nullif(@version, ''), a.version)
WHERE a.name = @name;

-- name: Agents
SELECT a.name, a.version, v.digest, a.retired, a.changed_by AS by, a.changed_at AS at
FROM agent_active a JOIN agents v ON v.name = a.name AND v.version = a.version
ORDER BY a.name LIMIT @max;

-- name: AgentVersions
SELECT v.name, v.version, v.digest, v.version = a.version AND NOT a.retired AS active, v.applied_by AS by, v.applied_at AS at
FROM agents v JOIN agent_active a ON a.name = v.name
WHERE v.name = @name ORDER BY v.id DESC LIMIT @max;
