-- +goose Up

-- The last number of the stages that may wait for capacity, as the other rounds are kept.
ALTER TABLE invocations
    ADD capacity_round integer NOT NULL DEFAULT 0,
    ADD CONSTRAINT invocations_capacity_counts CHECK (capacity_round >= 0);

-- Token buckets, each in one number: when the bucket will be full again. A debit moves it ahead by what one token takes to come back, and
-- is good as long as that is no further away than a whole bucket takes. A bucket whose time is past is full, and so is one without a
-- row: full ones can be deleted at any time.
CREATE TABLE quotas (
    tenant_id text        NOT NULL,
    -- Which limit, and for whom, as a JSON array of texts: no two actors can be spelt into the same key.
    key       text        NOT NULL,
    full_at   timestamptz NOT NULL,
    CONSTRAINT quotas_pkey PRIMARY KEY (tenant_id, key)
);

CREATE INDEX quotas_full ON quotas (full_at);

-- What a call took, once per bucket: a statement that comes again finds it, in whatever round and epoch. Settle deletes it, and gives the
-- token back where nothing was dispatched.
CREATE TABLE debits (
    invocation_id uuid        NOT NULL,
    tenant_id     text        NOT NULL,
    key           text        NOT NULL,
    -- Evidence of who took it.
    round         integer     NOT NULL,
    epoch         integer     NOT NULL,
    -- What the token moved the bucket ahead, to be moved back by the same.
    cost          interval    NOT NULL,
    -- When the token is there: in the future for a call that waits for it. Tokens of the future are given away in the order in which they
    -- were asked for, so that nobody is overtaken.
    ready_at      timestamptz NOT NULL,
    CONSTRAINT debits_pkey PRIMARY KEY (invocation_id, key),
    CONSTRAINT debits_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations ON DELETE CASCADE
);

-- A row per semaphore, to lock: who asks for a place and who hands one over take their turns. What is held stands in leases.
CREATE TABLE semaphores (
    tenant_id text        NOT NULL,
    key       text        NOT NULL,
    -- Rows that nobody used for long are deleted.
    used_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT semaphores_pkey PRIMARY KEY (tenant_id, key)
);

CREATE INDEX semaphores_used ON semaphores (used_at);

-- One order over all queues: a call that waits at two semaphores stands before or behind another at both, so that no two calls can wait
-- for each other.
CREATE SEQUENCE lease_tickets;

-- What a call holds or queues for, of every kind that ends with the call. Release is one statement of settle.
CREATE TABLE leases (
    invocation_id uuid        NOT NULL,
    kind          text        NOT NULL,
    tenant_id     text        NOT NULL,
    key           text        NOT NULL,
    -- lost: it had expired, and somebody else got it. The row stays for the holder to find.
    state         text        NOT NULL,
    ticket        bigint      NOT NULL DEFAULT nextval('lease_tickets'),
    -- How many may hold the key at once, as the call's policy says.
    most          integer     NOT NULL DEFAULT 1,
    round         integer     NOT NULL,
    epoch         integer     NOT NULL,
    -- When somebody else may take what is held, or the place in the queue. It is a last resort: settle and the sweeper come before.
    expires_at    timestamptz NOT NULL,
    CONSTRAINT leases_pkey PRIMARY KEY (invocation_id, kind, key),
    CONSTRAINT leases_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations ON DELETE CASCADE,
    CONSTRAINT leases_kind_known CHECK (kind IN ('semaphore', 'single_flight', 'broker')),
    CONSTRAINT leases_state_known CHECK (state IN ('held', 'waiting', 'lost')),
    CONSTRAINT leases_most_counts CHECK (most >= 1)
);

-- The queue of a key, and who holds it.
CREATE INDEX leases_by_key ON leases (kind, tenant_id, key, state, ticket);
-- What the sweeper looks at.
CREATE INDEX leases_by_expiry ON leases (expires_at);
