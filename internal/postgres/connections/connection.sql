-- name: AddConnection
WITH added AS (
    INSERT INTO connections (tenant_id, connection_id, provider, settings, hosts, scopes, added_by, status)
    VALUES (@tenant_id, @connection_id, @provider, @settings::json, @hosts::text[], @scopes::text[], @by, @status)
    ON CONFLICT (tenant_id, connection_id) DO NOTHING
    RETURNING connection_id
), sealed AS (
    INSERT INTO connection_secrets (tenant_id, connection_id, version, key_id, sealed, expires_at)
    SELECT @tenant_id, connection_id, 1, @key_id, @sealed::bytea, @secret_expires_at::timestamptz FROM added
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'connection_added', @tenant_id, json_build_object(
        'connectionId', connection_id, 'provider', @provider::text, 'hosts', @hosts::text[], 'scopes', @scopes::text[], 'by', @by::text)
    FROM added
)
SELECT EXISTS (SELECT FROM added) AS changed;

-- name: ListConnections
SELECT n.connection_id, n.provider, n.settings, n.hosts, n.scopes, n.status, n.generation, n.secret_version, s.key_id, s.expires_at AS secret_expires_at,
    n.added_at, n.added_by, n.revoked_at, coalesce(n.revoked_by, '') AS revoked_by, (
        SELECT count(*) FROM connection_grants g
        WHERE g.tenant_id = n.tenant_id AND g.connection_id = n.connection_id AND g.revoked_at IS NULL AND (g.expires_at IS NULL OR g.expires_at > now())
    ) AS grants
FROM connections n LEFT JOIN connection_secrets s ON s.tenant_id = n.tenant_id AND s.connection_id = n.connection_id AND s.version = n.secret_version
WHERE n.tenant_id = @tenant_id AND (@connection_id = '' OR n.connection_id = @connection_id)
ORDER BY n.connection_id LIMIT @max;

-- name: ListConnectionGrants
SELECT grant_id::text AS id, connection_id, grantee, scopes, expires_at, coalesce(expires_at <= now(), false) AS expired, granted_at, granted_by, revoked_at,
    coalesce(revoked_by, '') AS revoked_by
FROM connection_grants
WHERE tenant_id = @tenant_id AND (@connection_id = '' OR connection_id = @connection_id)
ORDER BY connection_id, granted_at DESC, grant_id LIMIT @max;

-- name: EndConnectionGrant
-- Ends the grant that the grantee has. The row stays as evidence.
UPDATE connection_grants SET revoked_at = now(), revoked_by = @by
WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND grantee = @grantee AND revoked_at IS NULL;

-- name: GrantConnection
-- Grants the use of a connection. EndConnectionGrant runs before it in the same transaction;
-- replaced says that it ended a grant.
WITH made AS (
    INSERT INTO connection_grants (tenant_id, connection_id, grantee, scopes, expires_at, granted_by)
    SELECT n.tenant_id, n.connection_id, @grantee, @scopes::text[], now() + @lasts::interval, @by
    FROM connections n WHERE n.tenant_id = @tenant_id AND n.connection_id = @connection_id AND n.status <> 'revoked'
    RETURNING grant_id, expires_at
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'connection_granted', @tenant_id, json_build_object(
        'connectionId', @connection_id::text, 'grantId', grant_id, 'grantee', @grantee::text, 'scopes', @scopes::text[], 'expiresAt', expires_at, 'by', @by::text)
    FROM made
)
SELECT coalesce((SELECT grant_id::text FROM made), '') AS id, (SELECT expires_at FROM made) AS expires_at, EXISTS (
    SELECT FROM connection_grants
    WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND grantee = @grantee AND revoked_at = now()
) AS replaced;

-- name: RevokeConnectionGrant
-- After the commit no attempt begins with this grant.
WITH gone AS (
    UPDATE connection_grants SET revoked_at = now(), revoked_by = @by
    WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND grantee = @grantee AND revoked_at IS NULL
    RETURNING grant_id
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'connection_grant_revoked', @tenant_id, json_build_object('connectionId', @connection_id::text, 'grantId', grant_id, 'grantee', @grantee::text, 'by', @by::text)
    FROM gone
)
SELECT EXISTS (SELECT FROM gone) AS changed;

-- name: RevokeConnection
-- Revokes a connection permanently. TakeSecret follows in the same transaction.
WITH gone AS (
    UPDATE connections SET status = 'revoked', revoked_at = now(), revoked_by = @by, generation = generation + 1
    WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND status <> 'revoked'
    RETURNING connection_id
)
INSERT INTO events (kind, tenant_id, detail)
SELECT 'connection_revoked', @tenant_id, json_build_object('connectionId', connection_id, 'by', @by::text) FROM gone;

-- name: TakeSecret
-- Deletes the secret of a connection that this transaction has revoked, and returns it. It is a
-- separate statement with a newer snapshot: RevokeConnection may have waited for a statement
-- that stored another secret, which RevokeConnection does not see.
WITH gone AS (
    SELECT settings, hosts, scopes, generation, secret_version FROM connections
    WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND revoked_at = now()
), taken AS (
    DELETE FROM connection_secrets WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND EXISTS (SELECT FROM gone)
    RETURNING version, key_id, sealed
)
SELECT g.settings, g.hosts, g.scopes, g.generation, coalesce(t.version, 0) AS version, coalesce(t.key_id, 0) AS key_id, t.sealed
FROM gone g LEFT JOIN taken t ON t.version = g.secret_version;

-- name: ConnectionSecret
-- Returns the sealed secret, for callers that replace, refresh, revoke or test the connection.
SELECT n.settings, n.hosts, n.scopes, n.status, n.generation, s.version, s.key_id, s.sealed, s.expires_at AS secret_expires_at,
    coalesce(s.expires_at - now(), interval '0') AS remaining, coalesce(s.expires_at - s.sealed_at, interval '0') AS life
FROM connections n JOIN connection_secrets s ON s.tenant_id = n.tenant_id AND s.connection_id = n.connection_id AND s.version = n.secret_version
WHERE n.tenant_id = @tenant_id AND n.connection_id = @connection_id AND n.status <> 'revoked';

-- name: ReplaceSecret
-- Replaces the secret if its version is the one that the caller has read, and deletes the old
-- secret. If anew is true, the secret may belong to another account: the generation goes up, and
-- a needed sign-in counts as done.
WITH moved AS (
    UPDATE connections SET secret_version = secret_version + 1, generation = generation + CASE WHEN @anew::boolean THEN 1 ELSE 0 END,
        status = 'active', refresher = NULL, refresh_until = NULL, refresh_fails = 0, refresh_after = NULL,
        refreshed_at = CASE WHEN @anew::boolean THEN NULL ELSE now() END
    WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND secret_version = @version AND status <> 'revoked'
        AND (@anew::boolean OR status = 'active')
    RETURNING secret_version, generation
), sealed AS (
    INSERT INTO connection_secrets (tenant_id, connection_id, version, key_id, sealed, expires_at)
    SELECT @tenant_id, @connection_id, secret_version, @key_id, @sealed::bytea, now() + @secret_lasts::interval FROM moved
), deleted AS (
    DELETE FROM connection_secrets
    WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND version = @version AND EXISTS (SELECT FROM moved)
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT CASE WHEN @anew::boolean THEN 'connection_rotated' ELSE 'connection_refreshed' END, @tenant_id,
        json_build_object('connectionId', @connection_id::text, 'version', secret_version, 'generation', generation, 'missingScopes', @missing::text[], 'by', @by::text)
    FROM moved
)
SELECT EXISTS (SELECT FROM moved) AS changed;

-- name: LeaseConnection
-- Records that an attempt uses a connection, and returns the sealed secret. It checks grant,
-- status and generation again, so that no attempt begins after a committed revocation.
WITH RECURSIVE held (who, depth) AS (
    SELECT @holder::text, 0
    UNION
    SELECT r.object, h.depth + 1
    FROM held h JOIN relations r ON r.tenant_id = @tenant_id AND r.subject = h.who AND r.kind = 'member'
    WHERE h.depth < @depth::integer AND (r.expires_at IS NULL OR r.expires_at > now())
), call AS (
    SELECT invocation_id, month, workflow_id FROM invocations
    WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND connection_id = @connection_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
), connection AS (
    SELECT n.tenant_id, n.connection_id, n.provider, n.settings, n.hosts, n.scopes, n.status, n.generation, n.secret_version
    FROM connections n WHERE n.tenant_id = @tenant_id AND n.connection_id = @connection_id AND n.status <> 'revoked'
), granted AS (
    SELECT g.scopes FROM connection_grants g
    WHERE g.tenant_id = @tenant_id AND g.connection_id = @connection_id AND g.revoked_at IS NULL AND (g.expires_at IS NULL OR g.expires_at > now())
        AND (g.grantee IN (SELECT who FROM held WHERE depth = 0 OR starts_with(who, 'role:')) OR g.grantee = ANY (@roles::text[]))
), judged AS (
    SELECT CASE
        WHEN NOT EXISTS (SELECT FROM call) THEN 'superseded'
        WHEN NOT EXISTS (SELECT FROM connection) OR NOT EXISTS (SELECT FROM granted) OR EXISTS (
            SELECT FROM unnest(@needs::text[]) AS need (scope)
            WHERE scope <> ALL ((SELECT scopes FROM connection)::text[]) OR NOT EXISTS (SELECT FROM granted g WHERE scope = ANY (g.scopes) OR '*' = ANY (g.scopes))
        ) THEN 'denied'
        WHEN (SELECT status FROM connection) = 'needs_reauth' THEN 'needs_reauth'
        WHEN @generation <> 0 AND (SELECT generation FROM connection) <> @generation THEN 'changed'
        ELSE 'leased'
    END AS answer
), leased AS (
    INSERT INTO leases AS l (invocation_id, kind, tenant_id, key, state, round, epoch, expires_at)
    SELECT invocation_id, 'broker', @tenant_id, @connection_id, 'held', @round, @epoch, now() + @lasts::interval
    FROM call WHERE (SELECT answer FROM judged) = 'leased'
    ON CONFLICT (invocation_id, kind, key) DO UPDATE SET round = excluded.round, epoch = excluded.epoch, expires_at = excluded.expires_at, state = 'held'
    RETURNING l.invocation_id
), audited AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, detail)
    SELECT c.month, 'connection_used', @tenant_id, c.invocation_id, c.workflow_id,
        json_build_object('connectionId', @connection_id::text, 'version', n.secret_version, 'generation', n.generation, 'attempt', @round::integer)
    FROM call c, connection n WHERE EXISTS (SELECT FROM leased)
)
SELECT j.answer, n.settings, n.hosts, n.scopes, coalesce(n.generation, 0) AS generation, coalesce(s.version, 0) AS version,
    coalesce(s.key_id, 0) AS key_id, s.sealed, s.expires_at AS secret_expires_at, coalesce(s.expires_at - now(), interval '0') AS remaining,
    coalesce(s.expires_at - s.sealed_at, interval '0') AS life
FROM judged j LEFT JOIN connection n ON j.answer = 'leased'
LEFT JOIN connection_secrets s ON s.tenant_id = n.tenant_id AND s.connection_id = n.connection_id AND s.version = n.secret_version;

-- name: LeaseConnectionToAgent
-- As LeaseConnection, for a request to the model of an open run of an agent. It is not a lease of a call: nothing
-- waits for its end.
WITH RECURSIVE held (who, depth) AS (
    SELECT @holder::text, 0
    UNION
    SELECT r.object, h.depth + 1
    FROM held h JOIN relations r ON r.tenant_id = @tenant_id AND r.subject = h.who AND r.kind = 'member'
    WHERE h.depth < @depth::integer AND (r.expires_at IS NULL OR r.expires_at > now())
), connection AS (
    SELECT n.tenant_id, n.connection_id, n.provider, n.settings, n.hosts, n.scopes, n.status, n.generation, n.secret_version
    FROM connections n WHERE n.tenant_id = @tenant_id AND n.connection_id = @connection_id AND n.status <> 'revoked'
), granted AS (
    SELECT g.scopes FROM connection_grants g
    WHERE g.tenant_id = @tenant_id AND g.connection_id = @connection_id AND g.revoked_at IS NULL AND (g.expires_at IS NULL OR g.expires_at > now())
        AND (g.grantee IN (SELECT who FROM held WHERE depth = 0 OR starts_with(who, 'role:')) OR g.grantee = ANY (@roles::text[]))
), judged AS (
    SELECT CASE
        WHEN NOT EXISTS (SELECT FROM agent_runs WHERE tenant_id = @tenant_id AND run_id = @run_id AND ended_at IS NULL) THEN 'superseded'
        WHEN NOT EXISTS (SELECT FROM connection) OR NOT EXISTS (SELECT FROM granted) THEN 'denied'
        WHEN (SELECT status FROM connection) = 'needs_reauth' THEN 'needs_reauth'
        ELSE 'leased'
    END AS answer
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'connection_used', @tenant_id,
        json_build_object('connectionId', @connection_id::text, 'version', n.secret_version, 'generation', n.generation, 'agentRunId', @run_id::text)
    FROM connection n WHERE (SELECT answer FROM judged) = 'leased'
)
SELECT j.answer, n.settings, n.hosts, n.scopes, coalesce(n.generation, 0) AS generation, coalesce(s.version, 0) AS version,
    coalesce(s.key_id, 0) AS key_id, s.sealed, s.expires_at AS secret_expires_at, coalesce(s.expires_at - now(), interval '0') AS remaining,
    coalesce(s.expires_at - s.sealed_at, interval '0') AS life
FROM judged j LEFT JOIN connection n ON j.answer = 'leased'
LEFT JOIN connection_secrets s ON s.tenant_id = n.tenant_id AND s.connection_id = n.connection_id AND s.version = n.secret_version;

-- name: SealedSecrets
-- Returns a page of sealed secrets, of all tenants.
SELECT s.tenant_id, s.connection_id, n.settings, n.hosts, s.version, s.key_id, s.sealed
FROM connection_secrets s JOIN connections n ON n.tenant_id = s.tenant_id AND n.connection_id = s.connection_id
WHERE (s.tenant_id, s.connection_id, s.version) > (@tenant_id::text, @connection_id::text, @version::integer)
ORDER BY s.tenant_id, s.connection_id, s.version LIMIT @max;

-- name: BeginRefresh
-- Lets one worker at a time refresh the token whose version it has read. A concurrent caller
-- waits for the row lock, and then finds the refresh claimed.
WITH claimed AS (
    UPDATE connections SET refresher = @refresher, refresh_until = now() + @lasts::interval
    WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND status = 'active' AND secret_version = @version
        AND (refresh_until IS NULL OR refresh_until <= now()) AND (refresh_after IS NULL OR refresh_after <= now())
        AND NOT (@forced::boolean AND coalesce(refreshed_at > now() - @apart::interval, false))
    RETURNING connection_id
), seen AS (
    SELECT status, secret_version, coalesce(refresh_after > now(), false) AS cooling,
        @forced::boolean AND coalesce(refreshed_at > now() - @apart::interval, false) AS useless
    FROM connections WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND status <> 'revoked'
)
SELECT CASE
    WHEN EXISTS (SELECT FROM claimed) THEN 'claimed'
    WHEN NOT EXISTS (SELECT FROM seen WHERE secret_version = @version) THEN 'moved'
    WHEN EXISTS (SELECT FROM seen WHERE status = 'needs_reauth') THEN 'needs_reauth'
    WHEN EXISTS (SELECT FROM seen WHERE useless) THEN 'useless'
    WHEN EXISTS (SELECT FROM seen WHERE cooling) THEN 'cooling'
    ELSE 'busy'
END AS answer;

-- name: FailRefresh
-- Ends the claim of a refresher that got no token. The next try must wait; the wait doubles with
-- each failure. If lost is true, a new try is useless, and the connection needs a new sign-in.
WITH failed AS (
    UPDATE connections SET refresher = NULL, refresh_until = NULL, refresh_fails = refresh_fails + 1,
        status = CASE WHEN @lost::boolean THEN 'needs_reauth' ELSE status END,
        refresh_after = now() + greatest(@after::interval, least(@first::interval * power(2, least(refresh_fails, 20)), @most::interval))
    WHERE tenant_id = @tenant_id AND connection_id = @connection_id AND status = 'active' AND secret_version = @version AND refresher = @refresher
    RETURNING refresh_fails, refresh_after
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT CASE WHEN @lost::boolean THEN 'connection_needs_reauth' ELSE 'connection_refresh_failed' END, @tenant_id,
        json_build_object('connectionId', @connection_id::text, 'version', @version::integer, 'error', @code::text, 'fails', refresh_fails, 'notBefore', refresh_after)
    FROM failed
)
SELECT EXISTS (SELECT FROM failed) AS changed;
