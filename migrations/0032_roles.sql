-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- The tenants whose rows a role of the database may read. The row-level security of pawl_client and pawl_reader reads it by the name of the
-- user, which a session cannot choose. A setting such as pawl.tenant would be no wall: every session can change its own.
-- The tenant * stands for all tenants; no tenant has this name.
CREATE TABLE role_tenants (
    role_name text NOT NULL,
    tenant_id text NOT NULL,
    CONSTRAINT role_tenants_pkey PRIMARY KEY (role_name, tenant_id)
);

-- Upkeep makes and drops partitions while workers run, and only the owner of a table may. The two functions do it for a worker that owns
-- nothing, and do nothing else: a worker chooses neither the table nor a month that is still needed. They name functions with their schema,
-- because who may create functions could make one that fits the arguments better.

-- +goose StatementBegin
CREATE FUNCTION ensure_partitions(parent text, months integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    first date;
    partition text;
    taken boolean;
BEGIN
    IF parent NOT IN ('stage_events', 'attempts', 'payloads', 'events', 'hydrations', 'run_events') OR months NOT BETWEEN 0 AND 24 THEN
        RAISE EXCEPTION 'no table with partitions, or not 0 to 24 months' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_catalog.set_config('lock_timeout', '2s', true);
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('pawl partitions'));
    FOR ahead IN 0 .. months LOOP
        first := (pg_catalog.date_trunc('month', pg_catalog.now() AT TIME ZONE 'UTC') + pg_catalog.make_interval(months => ahead))::date;
        partition := parent || pg_catalog.to_char(first::timestamp, '_YYYY_MM');
        CONTINUE WHEN pg_catalog.to_regclass(partition) IS NOT NULL;
        -- Postgres refuses to create the partition of a month that has rows in DEFAULT; that month stays in DEFAULT. If the refusal is
        -- certain, the function does not ask for the lock.
        EXECUTE pg_catalog.format('SELECT EXISTS (SELECT FROM %I WHERE month = %L)', parent || '_default', first) INTO taken;
        CONTINUE WHEN taken;
        BEGIN
            EXECUTE pg_catalog.format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', partition, parent, first, (first + interval '1 month')::date);
            -- Queries go through the parent and need its privileges only. The search for secrets reads each partition by its name.
            IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'pawl_worker') THEN
                EXECUTE pg_catalog.format('GRANT SELECT ON %I TO pawl_worker', partition);
            END IF;
        EXCEPTION WHEN check_violation THEN
            NULL;
        END;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION drop_partition(partition text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    of_month date := pg_catalog.to_date(substring(partition FROM '_(\d{4}_\d{2})$'), 'YYYY_MM');
BEGIN
    -- Every insert into the table queues behind this wait for the lock, so the wait is short. Only one worker drops at a time: two
    -- concurrent drops of one partition fail in Postgres with an internal error.
    PERFORM pg_catalog.set_config('lock_timeout', '200ms', true);
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('pawl partitions'));
    IF NOT EXISTS (
        SELECT FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid JOIN pg_class p ON p.oid = h.inhparent
        WHERE c.relname = partition AND p.relnamespace = pg_catalog.current_schema()::regnamespace::oid AND c.relnamespace = p.relnamespace
            AND p.relname IN ('stage_events', 'attempts', 'payloads', 'events', 'hydrations', 'run_events')
    ) THEN
        RETURN; -- Another worker has dropped it.
    END IF;
    IF of_month IS NULL OR of_month >= pg_catalog.date_trunc('month', pg_catalog.now() AT TIME ZONE 'UTC') OR EXISTS (SELECT FROM invocations WHERE month = of_month) THEN
        RAISE EXCEPTION 'the partition is of a month that is not over, or that has calls' USING ERRCODE = 'object_in_use';
    END IF;
    EXECUTE pg_catalog.format('DROP TABLE %I', partition);
END
$$;
-- +goose StatementEnd

-- A function that runs as its owner must not look for names where its caller can put others, and not everybody may call it.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION ensure_partitions(text, integer) SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION drop_partition(text) SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION ensure_partitions(text, integer), drop_partition(text) FROM PUBLIC;
