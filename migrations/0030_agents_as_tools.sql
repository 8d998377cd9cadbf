-- +goose Up

-- An agent can run another one: its call makes a row here, and the run of that row belongs to the call. agent_runs has no rows before this release, so
-- the locks are short.
SET LOCAL lock_timeout = '5s';

ALTER TABLE agent_runs
    -- The run and the call that have started this one. NULL for a run that nobody's call has started.
    ADD COLUMN parent_run_id   text,
    ADD COLUMN parent_call_id  text,
    -- The limits of the run. Those of a run with a parent are reserved of what its parent has left, until it has ended. NULL is no limit.
    ADD COLUMN token_limit     bigint,
    ADD COLUMN micro_usd_limit bigint,
    -- The whole final text of a run with a parent. The parent's model reads its beginning and a reference.
    ADD COLUMN answer          text,
    ADD CONSTRAINT agent_runs_parent CHECK ((parent_run_id IS NULL) = (parent_call_id IS NULL));

-- The open runs that have reserved something of their parent.
CREATE INDEX agent_runs_open_children ON agent_runs (tenant_id, parent_run_id) WHERE parent_run_id IS NOT NULL AND ended_at IS NULL;
