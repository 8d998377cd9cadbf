-- Makes the roles of Pawl. It may be run again, and needs a user that may create roles and grant privileges on the schema.
-- The roles are groups without a login: grant them to the users that programs and people connect as.
DO $$
DECLARE
    role text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('pawl roles'));
    FOREACH role IN ARRAY ARRAY['pawl_migrator', 'pawl_worker', 'pawl_client', 'pawl_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            BEGIN
                EXECUTE format('CREATE ROLE %I NOLOGIN', role);
            EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; -- Another session has made the role meanwhile: roles belong to the server, not to a database.
            END;
        END IF;
        IF NOT has_schema_privilege(role, current_schema(), 'USAGE') THEN
            EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
        END IF;
    END LOOP;
    -- Only pawl_migrator, which owns the tables, creates tables.
    IF NOT has_schema_privilege('pawl_migrator', current_schema(), 'CREATE') THEN
        EXECUTE format('GRANT CREATE ON SCHEMA %I TO pawl_migrator', current_schema());
    END IF;
END
$$;
