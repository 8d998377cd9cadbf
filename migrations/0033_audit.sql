-- +goose Up

-- The events that no chain has yet. A sealer of a worker takes them out. A queue, because the numbers and times of transactions do not say
-- which events have been committed: a scan by them would skip an event whose transaction commits late.
CREATE TABLE audit_pending (
    month    date NOT NULL,
    event_id uuid NOT NULL
);

-- The numbered events of each tenant. A seal stays when retention has deleted its event, until all seals up to a head can go. The tenant of
-- an event without one is ''.
CREATE TABLE audit_seals (
    tenant_id text   NOT NULL,
    n         bigint NOT NULL,
    month     date   NOT NULL,
    event_id  uuid   NOT NULL,
    -- leaf is the hash of the event, link the hash of the seal and the link before it.
    leaf      bytea  NOT NULL,
    link      bytea  NOT NULL,
    CONSTRAINT audit_seals_pkey PRIMARY KEY (tenant_id, n),
    CONSTRAINT audit_seals_number CHECK (n > 0),
    CONSTRAINT audit_seals_hashes CHECK (octet_length(leaf) = 32 AND octet_length(link) = 32)
);

-- What the chain of a tenant was at some number, signed by a worker with a key. The seals of a head are written with it.
CREATE TABLE audit_heads (
    tenant_id      text        NOT NULL,
    n              bigint      NOT NULL,
    link           bytea       NOT NULL,
    at             timestamptz NOT NULL,
    retention_days integer     NOT NULL,
    -- The head before; 0 for the first one.
    after          bigint      NOT NULL,
    -- '' without a key.
    key_id         text        NOT NULL,
    signature      bytea       NOT NULL,
    CONSTRAINT audit_heads_pkey PRIMARY KEY (tenant_id, n),
    -- Two workers cannot continue a chain from the same head.
    CONSTRAINT audit_heads_one_chain UNIQUE (tenant_id, after),
    CONSTRAINT audit_heads_forward CHECK (after >= 0 AND n > after),
    CONSTRAINT audit_heads_retention CHECK (retention_days >= 0),
    CONSTRAINT audit_heads_signed CHECK ((key_id = '') = (octet_length(signature) = 0))
);

-- Whether any head is signed is asked before each sealing.
CREATE INDEX audit_heads_signed_heads ON audit_heads (tenant_id) WHERE key_id <> '';

-- The worker that locks the row seals. A lock by a number would be open to every user of the database.
CREATE TABLE audit_turn (
    one boolean NOT NULL DEFAULT true,
    CONSTRAINT audit_turn_pkey PRIMARY KEY (one),
    CONSTRAINT audit_turn_one CHECK (one)
);
INSERT INTO audit_turn DEFAULT VALUES;

-- A trigger, because many statements of two releases write events. One per statement: settle writes three events.
-- +goose StatementBegin
CREATE FUNCTION queue_for_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit_pending (month, event_id) SELECT month, id FROM added;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER events_audit AFTER INSERT ON events REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION queue_for_audit();

-- After the trigger, whose lock keeps writers out until the commit: no event is left out.
INSERT INTO audit_pending (month, event_id) SELECT month, id FROM events;
