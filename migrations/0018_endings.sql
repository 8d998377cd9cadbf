-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- Calls that the sweeper has settled and whose plan has hooks at the closing stages. The workflow of such a call cannot run them any more, so
-- a later part of the sweep does. A row is deleted when each stage has run.
CREATE TABLE endings (
    invocation_id uuid        NOT NULL,
    -- Workers of another namespace need not have the hooks.
    namespace     text        NOT NULL,
    -- How many of the stages with hooks have run, in the order of the plan.
    done          integer     NOT NULL DEFAULT 0,
    -- How often a sweep has taken the row. A statement names it, so that a sweep that was slow writes nothing.
    tries         integer     NOT NULL DEFAULT 0,
    due_at        timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT endings_pkey PRIMARY KEY (invocation_id),
    CONSTRAINT endings_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations ON DELETE CASCADE,
    CONSTRAINT endings_count CHECK (done >= 0 AND tries >= 0)
);

CREATE INDEX endings_by_due ON endings (namespace, due_at);
