-- +goose Up

-- The row of a worker is written every 30 seconds, and no call reads it, so the wait for the lock is short.
SET LOCAL lock_timeout = '5s';

-- Where the tools of the worker come from: for each source its kind, its name, the number of its tools, the tools that were left out, its
-- fault and since when. Operators read it to see which workers are degraded. Workers of the release before leave the column empty.
ALTER TABLE workers ADD COLUMN sources json;
