-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

ALTER TABLE decisions
    -- An approval counts for policy and for each hook that names its approver. The column seat has the entry of policy's chain. hook_entries
    -- has, for each hook of the request in the order of its rule, the entry of the hook's chain, or -1. Null where no hook names approvers.
    ADD hook_entries integer[];
