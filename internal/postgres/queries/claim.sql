-- name: LockInvocation
-- Goes first in a batch: what follows in it has a snapshot of its own, taken while the row is held, and so misses nothing that another
-- statement about this call has committed.
SELECT 1 FROM invocations WHERE invocation_id = @invocation_id::uuid FOR NO KEY UPDATE;

-- name: Claim
WITH verdict AS (
    SELECT CASE
        WHEN NOT EXISTS (
            SELECT FROM invocations
            WHERE invocation_id = @invocation_id::uuid AND state = 'open' AND epoch = @epoch
        ) THEN 'superseded'
        WHEN EXISTS (
            SELECT FROM claims
            WHERE invocation_id = @invocation_id::uuid AND dispatch = @dispatch AND kind = 'tombstone'
        ) THEN 'tombstoned'
        -- The same dispatch a second time may be running already, even where the tool may be repeated. An earlier one must have been
        -- repeatable then, and be so now.
        WHEN EXISTS (
            SELECT FROM claims
            WHERE invocation_id = @invocation_id::uuid AND kind = 'claim'
                AND (dispatch = @dispatch OR NOT (@repeatable::boolean AND repeatable) AND dispatch <> ALL (@answered::integer[]))
        ) THEN 'claimed'
        WHEN @approval_id <> '' AND NOT EXISTS (
            SELECT FROM approvals
            WHERE approval_id = @approval_id AND invocation_id = @invocation_id::uuid AND state = 'approved'
        ) THEN 'refused'
        -- Whoever turned the switch on is told that nothing is dispatched from then on.
        WHEN EXISTS (
            SELECT FROM kill_switches k JOIN invocations i ON i.invocation_id = @invocation_id::uuid
            WHERE k.off_at IS NULL AND k.tenant_id IN ('', i.tenant_id) AND k.effect IN ('', @effect)
                AND (k.tool = i.tool_id OR right(k.tool, 1) = '*' AND starts_with(i.tool_id, left(k.tool, -1)))
        ) THEN 'killed'
        -- RenewLeases goes ahead of this, and holds what it renewed.
        WHEN EXISTS (
            SELECT FROM leases
            WHERE invocation_id = @invocation_id::uuid AND kind = 'semaphore' AND state <> 'held'
        ) THEN 'unleased'
        ELSE 'done'
    END AS outcome
), claimed AS (
    INSERT INTO claims (invocation_id, dispatch, kind, epoch, approval_id, repeatable)
    SELECT @invocation_id::uuid, @dispatch, 'claim', @epoch, nullif(@approval_id, ''), @repeatable::boolean FROM verdict WHERE outcome = 'done'
), counted AS (
    UPDATE invocations SET dispatch_round = greatest(dispatch_round, @dispatch)
    WHERE invocation_id = @invocation_id::uuid AND (SELECT outcome FROM verdict) = 'done'
), consumed AS (
    UPDATE approvals SET consumed_dispatch = @dispatch
    WHERE approval_id = @approval_id AND consumed_dispatch IS NULL AND (SELECT outcome FROM verdict) = 'done'
)
SELECT outcome FROM verdict;

-- name: Check
-- A dispatch that was claimed is lost; one that was not is buried, together with the epoch in which it could still claim.
WITH current AS (
    SELECT epoch FROM invocations WHERE invocation_id = @invocation_id::uuid AND state = 'open' AND epoch = @epoch
), seen AS (
    SELECT kind FROM claims WHERE invocation_id = @invocation_id::uuid AND dispatch = @dispatch
), buried AS (
    INSERT INTO claims (invocation_id, dispatch, kind, epoch)
    SELECT @invocation_id::uuid, @dispatch, 'tombstone', @epoch FROM current WHERE NOT EXISTS (SELECT FROM seen)
    RETURNING epoch
), raised AS (
    UPDATE invocations SET epoch = epoch + 1, dispatch_round = greatest(dispatch_round, @dispatch)
    WHERE invocation_id = @invocation_id::uuid AND EXISTS (SELECT FROM buried)
    RETURNING epoch
)
SELECT
    CASE
        WHEN NOT EXISTS (SELECT FROM current) THEN 'superseded'
        WHEN EXISTS (SELECT FROM seen WHERE kind = 'claim') THEN 'lost'
        ELSE 'free'
    END AS outcome,
    coalesce((SELECT epoch FROM raised), (SELECT epoch FROM current), 0) AS epoch;
