-- +goose Up

-- Versions of agents. A version is never changed and never deleted: runs record its name and digest, and go on with it. The document is the
-- canonical text that the digest is of.
CREATE TABLE agents (
    -- Orders the versions of an agent: names of versions have no order.
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    name       text        NOT NULL,
    version    text        NOT NULL,
    digest     text        NOT NULL,
    document   text        NOT NULL,
    applied_by text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT agents_pkey PRIMARY KEY (name, version),
    CONSTRAINT agents_digest_of_document CHECK (digest = encode(sha256(convert_to(document, 'UTF8')), 'hex'))
);

-- The versions of one agent, newest first.
CREATE INDEX agents_versions ON agents (name, id DESC);

-- The pointer to the version with which runs start. It stays while the agent is retired, so that people see what was active.
CREATE TABLE agent_active (
    name       text        NOT NULL,
    version    text        NOT NULL,
    -- No run starts, and applying a version does not change that: otherwise the next deploy would undo what a person has stopped.
    retired    boolean     NOT NULL DEFAULT false,
    -- Who changed version or retired last.
    changed_by text        NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT agent_active_pkey PRIMARY KEY (name),
    CONSTRAINT agent_active_version FOREIGN KEY (name, version) REFERENCES agents
);
