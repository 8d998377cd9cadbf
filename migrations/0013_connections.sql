-- +goose Up

-- Accounts at other services that tools act with. What a call names is the id, which says nothing; what it is good for stands here, and
-- its credential, sealed, in connection_secrets.
CREATE TABLE connections (
    tenant_id      text        NOT NULL,
    connection_id  text        NOT NULL,
    provider       text        NOT NULL,
    -- How the credential goes into requests, as the provider was described when the connection was added: workers need no provider files.
    settings       json        NOT NULL,
    -- Where the credential may be sent: host, host:port or *.domain.
    hosts          text[]      NOT NULL,
    -- What the account may do at the service; empty where the service knows no scopes.
    scopes         text[]      NOT NULL,
    status         text        NOT NULL DEFAULT 'active',
    -- Raised by everything that may make it another account or give it other rights; a refreshed token does not. An approval holds for
    -- one generation.
    generation     integer     NOT NULL DEFAULT 1,
    -- The secret that counts.
    secret_version integer     NOT NULL DEFAULT 1,
    -- Who refreshes the token, and until when nobody else tries: one worker at a time, whatever becomes of it.
    refresher      text,
    refresh_until  timestamptz,
    -- Refreshes that failed in a row, and until when none is tried again.
    refresh_fails  integer     NOT NULL DEFAULT 0,
    refresh_after  timestamptz,
    -- When the token was refreshed last: one that is refused right after that is not refreshed again.
    refreshed_at   timestamptz,
    added_at       timestamptz NOT NULL DEFAULT now(),
    added_by       text        NOT NULL,
    revoked_at     timestamptz,
    revoked_by     text,
    CONSTRAINT connections_pkey PRIMARY KEY (tenant_id, connection_id),
    CONSTRAINT connections_status_known CHECK (status IN ('active', 'needs_reauth', 'revoked')),
    CONSTRAINT connections_revoked_whole CHECK ((status = 'revoked') = (revoked_at IS NOT NULL) AND (revoked_at IS NULL) = (revoked_by IS NULL)),
    CONSTRAINT connections_counts CHECK (generation >= 1 AND secret_version >= 1),
    CONSTRAINT connections_has_hosts CHECK (cardinality(hosts) >= 1)
);

-- Credentials, sealed with authenticated encryption. The tenant, the connection with its description and its hosts, and the version are bound
-- into what is sealed: a row that is copied to another place does not open there, nor one whose connection was made to lead elsewhere. A
-- version that is replaced is deleted in the same transaction.
CREATE TABLE connection_secrets (
    tenant_id     text        NOT NULL,
    connection_id text        NOT NULL,
    version       integer     NOT NULL,
    -- The key of the key ring that sealed it.
    key_id        bigint      NOT NULL,
    sealed        bytea       NOT NULL,
    -- When the access token in it ends; null for what does not end by itself.
    expires_at    timestamptz,
    sealed_at     timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT connection_secrets_pkey PRIMARY KEY (tenant_id, connection_id, version),
    CONSTRAINT connection_secrets_of_connection FOREIGN KEY (tenant_id, connection_id) REFERENCES connections ON DELETE CASCADE
);
-- A rotation of keys looks for what it still has to do.
CREATE INDEX connection_secrets_by_key ON connection_secrets (key_id, tenant_id, connection_id);

-- Who may use a connection: an identity, or role:NAME. What was given stays as evidence.
CREATE TABLE connection_grants (
    grant_id      uuid        NOT NULL DEFAULT gen_random_uuid(),
    tenant_id     text        NOT NULL,
    connection_id text        NOT NULL,
    grantee       text        NOT NULL,
    -- Of the connection's scopes; * is all of them, and empty is none.
    scopes        text[]      NOT NULL,
    -- By the clock of the database; null for no end.
    expires_at    timestamptz,
    granted_at    timestamptz NOT NULL DEFAULT now(),
    granted_by    text        NOT NULL,
    revoked_at    timestamptz,
    revoked_by    text,
    CONSTRAINT connection_grants_pkey PRIMARY KEY (grant_id),
    CONSTRAINT connection_grants_of_connection FOREIGN KEY (tenant_id, connection_id) REFERENCES connections ON DELETE CASCADE,
    CONSTRAINT connection_grants_to_somebody CHECK (grantee <> ''),
    CONSTRAINT connection_grants_revoked_whole CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
-- One that stands per grantee; every call with a connection looks for it.
CREATE UNIQUE INDEX connection_grants_live ON connection_grants (tenant_id, connection_id, grantee) WHERE revoked_at IS NULL;

-- A change of a connection finds the calls that use it.
CREATE INDEX invocations_open_connection ON invocations (tenant_id, connection_id) WHERE state = 'open' AND connection_id IS NOT NULL;
