-- +goose Up

-- Who may do what, where a tenant's policy says that relations decide: memberships in groups and roles, permissions to run tools, and
-- delegations of a subject to an actor. Everything is inside of a tenant: the same name elsewhere is somebody else.
CREATE TABLE relations (
    tenant_id  text        NOT NULL,
    -- Who is a member, who may execute, or to whom is delegated.
    subject    text        NOT NULL,
    kind       text        NOT NULL,
    -- The group or role of a membership, who delegates in a delegation; empty for a permission.
    object     text        NOT NULL DEFAULT '',
    -- A tool's id, or a prefix and *; empty for a membership.
    tools      text        NOT NULL DEFAULT '',
    -- The graph that it is limited to; empty for every one.
    graph_id   text        NOT NULL DEFAULT '',
    -- By the clock of the database; null for no end.
    expires_at timestamptz,
    granted_at timestamptz NOT NULL DEFAULT now(),
    granted_by text        NOT NULL,
    -- What a check looks for begins with the tenant and who asks.
    CONSTRAINT relations_pkey PRIMARY KEY (tenant_id, subject, kind, object, tools, graph_id),
    CONSTRAINT relations_kind_known CHECK (kind IN ('member', 'execute', 'delegate')),
    CONSTRAINT relations_whole CHECK (
        (kind = 'execute') = (object = '') AND (kind = 'member') = (tools = '') AND (kind <> 'member' OR graph_id = '') AND subject <> ''
    )
);

-- Who may vouch for the subject of a call: public halves of Ed25519 keys. A key that is revoked stays, for what it vouched for before.
CREATE TABLE submitter_keys (
    tenant_id  text        NOT NULL,
    key_id     text        NOT NULL,
    name       text        NOT NULL,
    public_key bytea       NOT NULL,
    added_at   timestamptz NOT NULL DEFAULT now(),
    added_by   text        NOT NULL,
    revoked_at timestamptz,
    revoked_by text,
    CONSTRAINT submitter_keys_pkey PRIMARY KEY (tenant_id, key_id),
    CONSTRAINT submitter_keys_is_ed25519 CHECK (length(public_key) = 32),
    CONSTRAINT submitter_keys_id_of_key CHECK (key_id = left(encode(sha256(public_key), 'hex'), 32)),
    CONSTRAINT submitter_keys_revoked_whole CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
