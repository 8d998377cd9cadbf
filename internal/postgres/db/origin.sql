-- name: Origin
-- Returns no row if no database is noted.
SELECT o.system_identifier = c.system_identifier::text AND o.database_oid = d.oid::bigint AS here, o.noted_at
FROM database_origin o, pg_control_system() c, pg_database d
WHERE d.datname = current_database();

-- name: NoteOrigin
INSERT INTO database_origin (system_identifier, database_oid)
SELECT c.system_identifier::text, d.oid::bigint FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()
ON CONFLICT (id) DO UPDATE SET system_identifier = excluded.system_identifier, database_oid = excluded.database_oid, noted_at = now();

-- name: WorkerSessions
-- The name is the default of Options.Application, which only workers have. A user without pg_read_all_stats sees it in sessions of its own user only.
SELECT count(*) AS sessions FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'pawl' AND pid <> pg_backend_pid();
