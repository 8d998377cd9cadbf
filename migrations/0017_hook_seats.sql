-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

ALTER TABLE decisions
    -- An approval counts for policy (seat) and for each hook that names its approver: for each hook of the request, in the order of its rule,
    -- the seat that the approval took, or -1. Null where no hook names approvers.
    ADD hook_seats integer[];
