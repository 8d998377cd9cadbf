-- +goose Up

-- What hooks bound for a session: how an instance is made, never the instance. The last write wins; the version tells workers that what
-- they made before is of another recipe.
CREATE TABLE session_bindings (
    tenant_id     text        NOT NULL,
    session_id    text        NOT NULL,
    token         text        NOT NULL,
    factory       text        NOT NULL,
    args          json        NOT NULL,
    version       bigint      NOT NULL DEFAULT 1,
    -- The call that bound it: evidence, so no foreign key.
    invocation_id uuid        NOT NULL,
    written_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT session_bindings_pkey PRIMARY KEY (tenant_id, session_id, token),
    CONSTRAINT session_bindings_version_counts CHECK (version >= 1)
);

-- Sessions have no end that anybody tells us; what was not bound again for long is deleted.
CREATE INDEX session_bindings_written ON session_bindings (written_at);
