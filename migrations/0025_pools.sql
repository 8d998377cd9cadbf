-- +goose Up

-- The rows of workers are written every 30 seconds, and only calls whose tool is on another worker read them, so the wait for the lock is
-- short.
SET LOCAL lock_timeout = '5s';

-- The pool whose task queue the worker polls; empty for the shared queue. Workers of the release before poll the shared queue.
ALTER TABLE workers ADD COLUMN pool text NOT NULL DEFAULT '' CONSTRAINT workers_pool_length CHECK (length(pool) <= 40);

-- The pools of which calls may be on their task queues. A call may wait there for an approval longer than the row of the last worker is kept, so
-- workers of the shared queue read here which queues they serve while no worker of the pool runs.
CREATE TABLE pools (
    namespace text NOT NULL,
    pool      text NOT NULL,
    seen_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT pools_pkey PRIMARY KEY (namespace, pool),
    CONSTRAINT pools_pool_length CHECK (length(pool) BETWEEN 1 AND 40)
);
