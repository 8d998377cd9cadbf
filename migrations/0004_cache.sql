-- +goose Up

-- What reads came to, for calls that come later. All of it may be deleted at any time: then the tools run again.
CREATE TABLE result_cache (
    tenant_id     text        NOT NULL,
    -- The hexadecimal SHA-256 of everything that the value depends on, the tenant among it. The column beside it is no matter of the
    -- lookup but a second lock on the same door: a key that was got wrong still cannot show one tenant what is another's.
    key           text        NOT NULL,
    -- For people and for deleting by tool.
    tool_id       text        NOT NULL,
    -- Redacted, as it was before willTransformOutput.
    value         json        NOT NULL,
    tags          text[]      NOT NULL DEFAULT '{}',
    -- The call that ran the tool: evidence. It may be gone long before the value is.
    invocation_id uuid        NOT NULL,
    -- When that call was admitted. What the tool read, it read after this, so an invalidation after it covers the value, even one that
    -- came while the tool ran.
    made_at       timestamptz NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    CONSTRAINT result_cache_pkey PRIMARY KEY (tenant_id, key)
);

CREATE INDEX result_cache_by_expiry ON result_cache (expires_at);
-- Most values have no tags, and cost this nothing.
CREATE INDEX result_cache_by_tag ON result_cache USING gin (tags) WHERE tags <> '{}';

-- When a tag was invalidated last. A lookup asks this and does not rely on what was deleted, for the value of a call that was under way
-- then is written afterwards. Rows are kept for as long as a value can be.
CREATE TABLE cache_tags (
    tenant_id      text        NOT NULL,
    tag            text        NOT NULL,
    invalidated_at timestamptz NOT NULL,
    CONSTRAINT cache_tags_pkey PRIMARY KEY (tenant_id, tag)
);

CREATE INDEX cache_tags_by_age ON cache_tags (invalidated_at);
