-- +goose Up

ALTER TABLE decisions
    -- An approval counts for policy (the column seat: the entry of the chain) and for each hook that names its approver: for each hook of the request, in the order of its rule,
    -- the entry of its chain that the approval counted for, or -1. Null where no hook names approvers.
    ADD hook_entries integer[];
