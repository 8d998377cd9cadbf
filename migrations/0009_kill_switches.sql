-- +goose Up

-- How the pointer to the active policy came to be where it is. Events tell the same, but age out, and are found by their call.
CREATE TABLE policy_activations (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    digest       text        NOT NULL,
    -- The version that was active until then; empty if none was.
    before       text        NOT NULL,
    how          text        NOT NULL,
    activated_by text        NOT NULL,
    activated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT policy_activations_pkey PRIMARY KEY (id),
    CONSTRAINT policy_activations_version FOREIGN KEY (digest) REFERENCES policies,
    CONSTRAINT policy_activations_how_known CHECK (how IN ('apply', 'rollback'))
);

INSERT INTO policy_activations (digest, before, how, activated_by, activated_at)
SELECT e.detail ->> 'digest', coalesce(e.detail ->> 'before', ''), 'apply', coalesce(e.detail ->> 'by', ''), e.at
FROM events e JOIN policies p ON p.digest = e.detail ->> 'digest'
WHERE e.kind = 'policy_activated'
ORDER BY e.at, e.seq;

-- What stops calls whatever policy and approvals say. A switch that was turned off stays as evidence.
CREATE TABLE kill_switches (
    id        bigint      GENERATED ALWAYS AS IDENTITY,
    -- What it covers. Empty is every tenant, and every effect; tool is an id, or a prefix and one *.
    tenant_id text        NOT NULL,
    tool      text        NOT NULL,
    effect    text        NOT NULL,
    -- Shown to callers.
    reason    text        NOT NULL,
    on_by     text        NOT NULL,
    on_at     timestamptz NOT NULL DEFAULT now(),
    off_by    text,
    off_at    timestamptz,
    CONSTRAINT kill_switches_pkey PRIMARY KEY (id),
    CONSTRAINT kill_switches_tool_given CHECK (tool <> ''),
    CONSTRAINT kill_switches_effect_known CHECK (effect IN ('', 'read_only', 'state_change', 'external_side_effect')),
    CONSTRAINT kill_switches_off_whole CHECK ((off_by IS NULL) = (off_at IS NULL))
);
-- Every call looks for those that are on.
CREATE UNIQUE INDEX kill_switches_on ON kill_switches (tenant_id, tool, effect) WHERE off_at IS NULL;

-- Changes after which calls are to look again, for a second scan: an admission that had read the old state may not have been committed at
-- the first. Gone once done.
CREATE TABLE rechecks (
    id            bigint      GENERATED ALWAYS AS IDENTITY,
    -- Which calls; empty does not narrow.
    tenant_id     text        NOT NULL,
    tool          text        NOT NULL,
    effect        text        NOT NULL,
    actor_id      text        NOT NULL,
    connection_id text        NOT NULL,
    -- Calls that were admitted under this version need not look again.
    policy_digest text        NOT NULL,
    asked_at      timestamptz NOT NULL DEFAULT now(),
    due_at        timestamptz NOT NULL,
    CONSTRAINT rechecks_pkey PRIMARY KEY (id)
);
