-- +goose Up

-- The version that is tried out beside the active one, if any: it is asked about every call, and obeyed about none.
CREATE TABLE policy_shadow (
    id     boolean     NOT NULL DEFAULT true,
    digest text,
    set_by text        NOT NULL DEFAULT '',
    set_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT policy_shadow_pkey PRIMARY KEY (id),
    CONSTRAINT policy_shadow_singleton CHECK (id),
    CONSTRAINT policy_shadow_version FOREIGN KEY (digest) REFERENCES policies
);
INSERT INTO policy_shadow DEFAULT VALUES;
