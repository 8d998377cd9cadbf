-- +goose Up

-- Tools that are registered for a tenant while workers run. A row is one version. Nothing of a version changes but its end, because calls
-- that were admitted with it finish with it. The version with the highest number that has not ended is in force; each tenant and name has
-- at most one. No row is deleted: the rows are also the history of who changed what.
CREATE TABLE tool_registrations (
    -- Names the row to workers, which read each document once.
    id            bigint      GENERATED ALWAYS AS IDENTITY,
    tenant_id     text        NOT NULL,
    name          text        NOT NULL,
    version       integer     NOT NULL,
    kind          text        NOT NULL,
    -- SHA-256 of what the document says, without its layout. The same document again is no new version.
    digest        text        NOT NULL,
    -- The URL of an MCP server. Reviews of its tools are by its name, so that a name never gets another URL.
    address       text        NOT NULL,
    -- The ids of the tools, or a prefix with * for the tools of an MCP server.
    tools         text[]      NOT NULL,
    document      text        NOT NULL,
    registered_by text        NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    -- When another version replaced this one, or when it was removed.
    ended_by      text,
    ended_at      timestamptz,
    CONSTRAINT tool_registrations_pkey PRIMARY KEY (tenant_id, name, version),
    CONSTRAINT tool_registrations_id UNIQUE (id),
    CONSTRAINT tool_registrations_kind_known CHECK (kind IN ('http', 'mcp')),
    CONSTRAINT tool_registrations_ended CHECK ((ended_by IS NULL) = (ended_at IS NULL))
);

CREATE UNIQUE INDEX tool_registrations_in_force ON tool_registrations (tenant_id, name) WHERE ended_at IS NULL;
