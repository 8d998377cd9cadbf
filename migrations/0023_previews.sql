-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- What approvers saw of a call besides its arguments, such as a diff: masked, and at most 64 KB of text.
-- The digest that the approval is bound to is in granted, which the claim of the call compares. Workers
-- of the release before leave the column empty; their requests have no preview.
ALTER TABLE approvals ADD COLUMN preview json;
