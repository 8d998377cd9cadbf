-- name: RegisterKey
-- Registers a key once. An existing row never changes, because the key may have signed
-- decisions.
WITH added AS (
    INSERT INTO approver_keys (tenant_id, key_id, identity, public_key, registered_by)
    VALUES (@tenant_id, @key_id, @identity, @public_key, @registered_by)
    ON CONFLICT (tenant_id, key_id) DO NOTHING
    RETURNING identity
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'key_registered', @tenant_id, json_build_object('keyId', @key_id, 'identity', @identity, 'by', @registered_by)
    FROM added
)
SELECT coalesce((SELECT identity FROM added), k.identity, '') AS identity, coalesce(k.revoked_at IS NOT NULL, false) AS revoked,
    EXISTS (SELECT FROM added) AS added
FROM (SELECT) one LEFT JOIN approver_keys k ON k.tenant_id = @tenant_id AND k.key_id = @key_id;

-- name: RevokeKey
-- After the commit, decisions that the key signs do not count. Decisions that it has signed and
-- that have counted stay valid.
WITH gone AS (
    UPDATE approver_keys SET revoked_at = now(), revoked_by = @revoked_by
    WHERE tenant_id = @tenant_id AND key_id = @key_id AND revoked_at IS NULL
    RETURNING identity
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'key_revoked', @tenant_id, json_build_object('keyId', @key_id, 'identity', identity, 'by', @revoked_by)
    FROM gone
)
SELECT k.identity, EXISTS (SELECT FROM gone) AS revoked
FROM approver_keys k WHERE k.tenant_id = @tenant_id AND k.key_id = @key_id;

-- name: ListKeys
SELECT key_id, identity, public_key, registered_at, registered_by, revoked_at, coalesce(revoked_by, '') AS revoked_by
FROM approver_keys WHERE tenant_id = @tenant_id ORDER BY identity, registered_at, key_id;
