-- name: SetPartitions
-- DO takes no parameters, so this passes the values in settings of the transaction.
SELECT set_config('pawl.partitioned', @parent, true), set_config('pawl.partition_months', @months::integer::text, true);

-- name: EnsurePartitions
-- Creates the partitions of this month and of the months ahead for one table. Postgres refuses to
-- create the partition of a month that has rows in DEFAULT; that month stays in DEFAULT, without
-- an error. The wait for the lock on DEFAULT is short, because every insert queues behind it. If
-- the refusal is certain, the statement does not ask for the lock.
DO $$
DECLARE
    parent text := current_setting('pawl.partitioned');
    first date;
    taken boolean;
BEGIN
    PERFORM set_config('lock_timeout', '2s', true);
    PERFORM pg_advisory_xact_lock(hashtext('pawl partitions'));
    FOR ahead IN 0 .. current_setting('pawl.partition_months')::integer LOOP
        first := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead))::date;
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
END
$$;
