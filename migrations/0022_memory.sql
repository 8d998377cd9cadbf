-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- What each session uses, and in the row with the empty session what the tenant uses. A writer locks the row of its session, so that the
-- writes of a session come one after another; it changes the row of the tenant last, so that no two writers wait for each other.
CREATE TABLE memory_usage (
    tenant_id  text        NOT NULL,
    session    text        NOT NULL,
    entries    bigint      NOT NULL DEFAULT 0,
    bytes      bigint      NOT NULL DEFAULT 0,
    -- The number of the entry that was created last.
    numbered   bigint      NOT NULL DEFAULT 0,
    -- The version of the last write. In the row of the tenant, the highest one of the sessions that upkeep has forgotten, so that a version
    -- never comes back in a session.
    version    bigint      NOT NULL DEFAULT 0,
    touched_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT memory_usage_pkey PRIMARY KEY (tenant_id, session)
);

-- Upkeep deletes the rows of sessions without entries.
CREATE INDEX memory_usage_idle ON memory_usage (touched_at) WHERE entries = 0 AND session <> '';

-- What tools keep for the calls of a session: notes, goals, todos, reasoning. It has no foreign key to calls, because an entry outlives
-- the call that wrote it.
CREATE TABLE memories (
    tenant_id    text        NOT NULL,
    -- session:ID or run:ID, so that no run sees the entries of a session of the same name.
    session      text        NOT NULL,
    -- In the order of its bytes, which every page of a list needs.
    path         text        COLLATE "C" NOT NULL,
    kind         text        NOT NULL,
    number       bigint      NOT NULL,
    title        text        NOT NULL DEFAULT '',
    content      text        NOT NULL,
    -- Of goals.
    status       text        NOT NULL DEFAULT '',
    active       boolean     NOT NULL DEFAULT false,
    version      bigint      NOT NULL,
    -- person: a person has written the whole of it. model: a tool call has written or changed it.
    trust        text        NOT NULL,
    actor_id     text        NOT NULL,
    run_id       text        NOT NULL DEFAULT '',
    tool_call_id text        NOT NULL DEFAULT '',
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz NOT NULL,
    -- The words of the path, the title and the content, by the configuration simple, which has no language: it neither drops words nor cuts
    -- their ends. The writer gives the text in lower case, because a database with the locale C knows the case of ASCII letters only.
    words        tsvector    NOT NULL,
    CONSTRAINT memories_pkey PRIMARY KEY (tenant_id, session, path),
    CONSTRAINT memories_trust_known CHECK (trust IN ('model', 'person')),
    CONSTRAINT memories_active_is_open CHECK (NOT active OR status = 'open')
);

-- A session has one active goal at most.
CREATE UNIQUE INDEX memories_one_active ON memories (tenant_id, session) WHERE active;
CREATE INDEX memories_words ON memories USING gin (words);
CREATE INDEX memories_expiry ON memories (expires_at);

-- What the write of a call did, for an attempt that repeats it.
CREATE TABLE memory_writes (
    tenant_id  text        NOT NULL,
    session    text        NOT NULL,
    key        text        NOT NULL,
    answer     json        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT memory_writes_pkey PRIMARY KEY (tenant_id, session, key)
);

CREATE INDEX memory_writes_age ON memory_writes (created_at);
