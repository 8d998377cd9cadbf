-- name: SetPartitionMonths
-- DO takes no parameters; a setting of the transaction does.
SELECT set_config('pawl.partition_months', @months::integer::text, true);

-- name: EnsurePartitions
-- The partitions of this month and those ahead. A month of which DEFAULT already holds rows stays there: Postgres refuses to make its
-- partition, and that is no reason to fail. Nobody may wait long for the lock on DEFAULT, for every insert would wait behind; where the
-- refusal is certain, the lock is not even asked for.
DO $$
DECLARE
    first date;
    parent text;
    taken boolean;
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    PERFORM pg_advisory_xact_lock(hashtext('pawl partitions'));
    FOR ahead IN 0 .. current_setting('pawl.partition_months')::integer LOOP
        first := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead))::date;
        FOREACH parent IN ARRAY ARRAY['stage_events', 'attempts', 'payloads', 'events', 'hydrations'] LOOP
            CONTINUE WHEN to_regclass(parent || to_char(first, '_YYYY_MM')) IS NOT NULL;
            EXECUTE format('SELECT EXISTS (SELECT FROM %I WHERE month = %L)', parent || '_default', first) INTO taken;
            CONTINUE WHEN taken;
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
                    parent || to_char(first, '_YYYY_MM'), parent, first, (first + interval '1 month')::date);
            EXCEPTION WHEN check_violation THEN
                NULL;
            END;
        END LOOP;
    END LOOP;
END
$$;
