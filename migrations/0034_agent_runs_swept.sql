-- +goose Up

SET LOCAL lock_timeout = '5s';

ALTER TABLE agent_runs
    -- The Temporal namespace of the workflow, so that the sweeper ends only runs whose workflows it can look up. The empty text is a run of a worker
    -- of an earlier release, which the sweeper leaves alone.
    ADD COLUMN namespace text NOT NULL DEFAULT '';

-- The open runs of a namespace, for the sweeper. Few runs are open at a time.
CREATE INDEX agent_runs_open ON agent_runs (namespace, opened_at, tenant_id, run_id) WHERE ended_at IS NULL;

ALTER TABLE agent_rounds
    -- The answers with references in place of their outputs. Requests of a long run have this form of the older rounds, so they do not read the outputs.
    -- NULL for a round of an earlier release, and for a round whose answers are no larger than that.
    ADD COLUMN trimmed json;
