-- +goose Up

SET LOCAL lock_timeout = '5s';

-- The answer of an attempt that ran inside a workflow task, and a digest of what it ran. The task may be lost after the tool has run. The execution
-- that repeats it takes the answer from here and does not run the tool again. Both are NULL for every other claim, and when the call is settled.
ALTER TABLE claims
    ADD COLUMN answer json,
    ADD COLUMN subject text;
