-- +goose NO TRANSACTION
-- +goose Up

-- Lets the trigger of migration 41 fill the column shown of the runs that were there before it. Each batch is a transaction of its own, so that a run waits
-- no longer than for its batch. A run without the column is listed without its actor. The migration can be run again if it fails.
-- +goose StatementBegin
DO $$
DECLARE
    run record;
    after_tenant text := '';
    after_run text := '';
BEGIN
    LOOP
        FOR run IN
            SELECT tenant_id, run_id FROM agent_runs WHERE (tenant_id, run_id) > (after_tenant, after_run) ORDER BY tenant_id, run_id LIMIT 10
        LOOP
            UPDATE agent_runs SET input = input WHERE tenant_id = run.tenant_id AND run_id = run.run_id AND shown IS NULL;
            after_tenant := run.tenant_id;
            after_run := run.run_id;
        END LOOP;
        EXIT WHEN NOT FOUND;
        COMMIT;
    END LOOP;
END
$$;
-- +goose StatementEnd
