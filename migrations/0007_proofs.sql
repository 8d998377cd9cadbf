-- +goose Up

-- The public halves of the keys that approvers sign with. A key is never deleted: what it has signed stays explained.
CREATE TABLE approver_keys (
    tenant_id     text        NOT NULL,
    -- The RFC 7638 thumbprint: it is what the key is, so nobody can register another under it.
    key_id        text        NOT NULL,
    identity      text        NOT NULL,
    public_key    bytea       NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    registered_by text        NOT NULL,
    revoked_at    timestamptz,
    revoked_by    text,
    CONSTRAINT approver_keys_pkey PRIMARY KEY (tenant_id, key_id),
    CONSTRAINT approver_keys_ed25519 CHECK (length(public_key) = 32),
    CONSTRAINT approver_keys_revoked_by_somebody CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);

-- Several people may have to approve. votes counts the approvals that have counted so far: a decision is judged between two statements, and
-- counts only if no other one has counted in between.
ALTER TABLE approvals
    ADD COLUMN votes integer NOT NULL DEFAULT 0,
    -- On whose behalf the requester acts; may not approve either.
    ADD COLUMN on_behalf_of text NOT NULL DEFAULT '';

ALTER TABLE decisions
    -- The place in the chain of those who have to approve that an approval counted for, from 0.
    ADD COLUMN seat integer NOT NULL DEFAULT 0,
    -- Whether it answered the request for good.
    ADD COLUMN final boolean NOT NULL DEFAULT true,
    -- What a verified proof was signed with.
    ADD COLUMN key_id text;

-- First final decision wins, and nobody approves twice, even should the code forget.
DROP INDEX decisions_one_counts;
CREATE UNIQUE INDEX decisions_one_final ON decisions (approval_id) WHERE counted AND final;
CREATE UNIQUE INDEX decisions_person_once ON decisions (approval_id, approver) WHERE counted AND decision = 'approve';
