-- +goose Up

SET LOCAL lock_timeout = '5s';

-- The database that the rows were written in. A backup that is restored into another database brings the row of the first one with it, so a worker
-- sees that the record may be older than Temporal: it could run an effect a second time. A worker does not start then, until
-- `pawl reconcile --mend` has written the new place. The table has at most one row. Without a row nothing is compared.
CREATE TABLE database_origin (
    id boolean NOT NULL DEFAULT true,
    -- The server and the database in it. initdb makes the number of a server; CREATE DATABASE makes that of a database.
    system_identifier text NOT NULL,
    database_oid bigint NOT NULL,
    noted_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT database_origin_pkey PRIMARY KEY (id),
    CONSTRAINT database_origin_is_one CHECK (id)
);

-- Owners may have taken the function from PUBLIC. The check needs it, and the rest of Pawl does not.
-- +goose StatementBegin
DO $$
BEGIN
    INSERT INTO database_origin (system_identifier, database_oid)
    SELECT c.system_identifier::text, d.oid::bigint FROM pg_control_system() c, pg_database d WHERE d.datname = current_database();
EXCEPTION WHEN insufficient_privilege THEN
    NULL;
END
$$;
-- +goose StatementEnd
