-- +goose Up

-- Approvals that hold for later calls, too. A row names what is remembered and never the arguments themselves: args_digest is of all of
-- them, args_match the members that somebody chose. What was used is never deleted with a call, and a revoked one stays explained.
CREATE TABLE approval_grants (
    grant_id    uuid        NOT NULL DEFAULT gen_random_uuid(),
    tenant_id   text        NOT NULL,
    tool_id     text        NOT NULL,
    -- What the call must still be: tool digest, effect, risk and the rule of who may decide, as in approvals.granted.
    granted     json        NOT NULL,
    -- Null where any arguments do.
    args_digest text,
    args_match  json,
    -- Null where any actor or session does.
    actor_id    text,
    session_id  text,
    approver    text        NOT NULL,
    -- The request on which it was said.
    approval_id text        NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL,
    revoked_at  timestamptz,
    revoked_by  text,
    CONSTRAINT approval_grants_pkey PRIMARY KEY (grant_id),
    CONSTRAINT approval_grants_once UNIQUE (approval_id),
    CONSTRAINT approval_grants_args_one_way CHECK (args_digest IS NULL OR args_match IS NULL),
    CONSTRAINT approval_grants_revoked_by_somebody CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);

CREATE INDEX approval_grants_live ON approval_grants (tenant_id, tool_id, expires_at) WHERE revoked_at IS NULL;

-- The grant that answered a request, if nobody was asked.
ALTER TABLE approvals ADD COLUMN remembered uuid;
