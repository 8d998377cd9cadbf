-- name: SchemaIsThere
SELECT to_regclass('goose_db_version') IS NOT NULL AS there;

-- name: SchemaVersion
SELECT coalesce(max(version_id), 0) AS version FROM goose_db_version WHERE is_applied;

-- name: MissingRoles
SELECT role FROM unnest(ARRAY['pawl_migrator', 'pawl_worker', 'pawl_client', 'pawl_reader']) WITH ORDINALITY AS r (role, n)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) ORDER BY n;
