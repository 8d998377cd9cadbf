-- name: SchemaIsThere
SELECT to_regclass('goose_db_version') IS NOT NULL AS there;

-- name: SchemaVersion
SELECT coalesce(max(version_id), 0) AS version FROM goose_db_version WHERE is_applied;
