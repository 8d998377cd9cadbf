-- name: SecretsByKey
SELECT key_id, count(*) AS secrets FROM connection_secrets GROUP BY key_id ORDER BY key_id;

-- name: SecretsToReseal
-- Secrets that another key has sealed, ordered by binding.
SELECT s.tenant_id, s.connection_id, n.settings, n.hosts, s.version, s.key_id, s.sealed
FROM connection_secrets s JOIN connections n ON n.tenant_id = s.tenant_id AND n.connection_id = s.connection_id
WHERE s.key_id <> @key_id AND (s.tenant_id, s.connection_id, s.version) > (@after_tenant, @after_connection, @after_version)
ORDER BY s.tenant_id, s.connection_id, s.version LIMIT @most;

-- name: ResealSecrets
-- Stores the same secrets, sealed with another key. A secret that was replaced or resealed
-- meanwhile stays unchanged. Rows are locked in one order, so that two of these statements do
-- not deadlock. sealed_at stays unchanged, because the life of a secret counts from it.
WITH resealed AS (
    SELECT * FROM unnest(@tenants::text[], @connections::text[], @versions::integer[], @keys::bigint[], @sealed::bytea[])
        AS r (tenant_id, connection_id, version, was, sealed)
), held AS (
    SELECT s.tenant_id, s.connection_id, s.version, r.sealed
    FROM connection_secrets s JOIN resealed r
        ON s.tenant_id = r.tenant_id AND s.connection_id = r.connection_id AND s.version = r.version AND s.key_id = r.was
    ORDER BY s.tenant_id, s.connection_id, s.version
    FOR NO KEY UPDATE OF s
), moved AS (
    UPDATE connection_secrets s SET key_id = @key_id, sealed = h.sealed
    FROM held h WHERE s.tenant_id = h.tenant_id AND s.connection_id = h.connection_id AND s.version = h.version
    RETURNING s.tenant_id, s.connection_id, s.version
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'connection_resealed', m.tenant_id,
        json_build_object('connectionId', m.connection_id, 'version', m.version, 'keyId', @key_id::bigint, 'wasKeyId', r.was)
    FROM moved m JOIN resealed r ON r.tenant_id = m.tenant_id AND r.connection_id = m.connection_id AND r.version = m.version
)
SELECT count(*) AS resealed FROM moved;

-- name: AskReseal
INSERT INTO events (kind, detail) VALUES ('reseal_asked', json_build_object('keyId', @key_id::bigint, 'by', @by::text));
