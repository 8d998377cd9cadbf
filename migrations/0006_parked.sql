-- +goose Up

-- A call of which nobody knows whether it took effect may wait for a person. That is a request like those for an approval: one at a time,
-- decided by the same people, found again after a reset. parked is why the outcome is unknown, and empty for an approval.
ALTER TABLE approvals ADD COLUMN parked text NOT NULL DEFAULT '';

ALTER TABLE approvals
    DROP CONSTRAINT approvals_state_known,
    DROP CONSTRAINT approvals_decided_has_approver,
    ADD CONSTRAINT approvals_state_known CHECK (state IN (
        'open', 'approved', 'denied', 'edited', 'withdrawn', 'retried', 'settled_ok', 'settled_failed', 'expired', 'closed'
    )),
    ADD CONSTRAINT approvals_decided_has_approver CHECK (
        (state IN ('approved', 'denied', 'edited', 'withdrawn', 'retried', 'settled_ok', 'settled_failed')) = (approver IS NOT NULL) AND
        (approver IS NULL) = (decided_at IS NULL)
    ),
    -- Nobody approves what may have happened, and nobody settles what has not begun.
    ADD CONSTRAINT approvals_state_of_kind CHECK (
        state IN ('open', 'expired', 'closed') OR (parked <> '') = (state IN ('retried', 'settled_ok', 'settled_failed'))
    );
