-- +goose Up

-- The workers that run now. A worker renews its row; a worker that has not renewed it for two minutes is not live.
CREATE TABLE workers (
    worker_id  text        NOT NULL,
    -- The namespace of Temporal from which the worker takes calls. Several namespaces may share this database.
    namespace  text        NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT workers_pkey PRIMARY KEY (worker_id)
);

-- The tools that each worker has. Lists and offers to models show the tools of live workers only. A call that reaches a worker without
-- its tool waits if a live worker has the tool, for example during a rolling deploy, and fails at once otherwise.
CREATE TABLE worker_tools (
    worker_id text NOT NULL,
    tool_id   text NOT NULL,
    digest    text NOT NULL,
    CONSTRAINT worker_tools_pkey PRIMARY KEY (tool_id, worker_id),
    CONSTRAINT worker_tools_worker FOREIGN KEY (worker_id) REFERENCES workers ON DELETE CASCADE,
    CONSTRAINT worker_tools_spec FOREIGN KEY (tool_id, digest) REFERENCES tool_specs
);
-- For the deletion of a worker.
CREATE INDEX worker_tools_by_worker ON worker_tools (worker_id);
