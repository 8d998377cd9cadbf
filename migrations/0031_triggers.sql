-- +goose Up

-- Versions of triggers, which say which event starts a run of which agent, and as whom. A version is never changed and never deleted, because
-- the rows of trigger_events name it. The document is the canonical text that the digest is of.
CREATE TABLE triggers (
    -- Orders the versions of a trigger: names of versions have no order.
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    tenant_id  text        NOT NULL,
    name       text        NOT NULL,
    version    text        NOT NULL,
    digest     text        NOT NULL,
    document   text        NOT NULL,
    applied_by text        NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT triggers_pkey PRIMARY KEY (tenant_id, name, version),
    CONSTRAINT triggers_digest_of_document CHECK (digest = encode(sha256(convert_to(document, 'UTF8')), 'hex')),
    -- The runs of a trigger are those of its tenant, whatever path a request had.
    CONSTRAINT triggers_tenant_of_document CHECK (document::json ->> 'tenant' = tenant_id AND document::json ->> 'name' = name)
);

-- The pointer to the version that events fire. As for agents, applying a version does not start again what a person has retired.
CREATE TABLE trigger_active (
    tenant_id  text        NOT NULL,
    name       text        NOT NULL,
    version    text        NOT NULL,
    retired    boolean     NOT NULL DEFAULT false,
    -- Who changed version or retired last.
    changed_by text        NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT trigger_active_pkey PRIMARY KEY (tenant_id, name),
    CONSTRAINT trigger_active_version FOREIGN KEY (tenant_id, name, version) REFERENCES triggers
);

-- What events have done. It has ids and reasons, and nothing else of an event. Only events that were verified have a row.
CREATE TABLE trigger_events (
    tenant_id text        NOT NULL,
    name      text        NOT NULL,
    event_id  text        NOT NULL,
    -- The version that the event fired first, or last if no run was started.
    version   text        NOT NULL,
    -- The run that was started, or why none was.
    run_id    text,
    reason    text,
    first_at  timestamptz NOT NULL DEFAULT now(),
    last_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT trigger_events_pkey PRIMARY KEY (tenant_id, name, event_id),
    CONSTRAINT trigger_events_trigger FOREIGN KEY (tenant_id, name, version) REFERENCES triggers,
    CONSTRAINT trigger_events_done CHECK ((run_id IS NULL) <> (reason IS NULL))
);

-- The list of events, and the deletion of old ones.
CREATE INDEX trigger_events_by_age ON trigger_events (tenant_id, name, last_at);
