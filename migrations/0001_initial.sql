-- +goose Up

-- Documents are json, not jsonb: what was written is read back byte for byte, and jsonb refuses a string that holds \u0000, which a
-- tool may well return. Nothing here searches inside of them.

-- One row per call. Its uniqueness is the promise that a call takes effect once, so the table is not partitioned: a unique index on a
-- partitioned table would have to contain the month, and the same call of another month would be a second one.
CREATE TABLE invocations (
    invocation_id   uuid        NOT NULL,
    -- The first of the month of creation: where the rows of this call stand in the partitioned tables, however late they come.
    month           date        NOT NULL DEFAULT date_trunc('month', now() AT TIME ZONE 'UTC')::date,
    tenant_id       text        NOT NULL,
    run_id          text        NOT NULL,
    tool_call_id    text        NOT NULL,
    tool_id         text        NOT NULL,
    actor_id        text        NOT NULL,
    subject_id      text,
    session_id      text,
    request_id      text,
    graph_id        text,
    connection_id   text,
    workflow_id     text        NOT NULL,
    -- The run that admitted the call last. Evidence: nothing is decided by it.
    temporal_run_id text        NOT NULL,
    state           text        NOT NULL DEFAULT 'open',
    -- Every statement names the epoch it believes in; an older one writes nothing.
    epoch           integer     NOT NULL DEFAULT 1,
    input_digest    text        NOT NULL,
    plan            json        NOT NULL,
    -- The last numbers used. They stand in this row, and not only in the tables they count, because admit returns them from the row it
    -- has just locked: a subselect would read the statement's snapshot and could miss a claim that was committed meanwhile.
    gate_round      integer     NOT NULL DEFAULT 0,
    dispatch_round  integer     NOT NULL DEFAULT 0,
    request_round   integer     NOT NULL DEFAULT 0,
    -- Evidence, as digests in other tables are: no foreign key, so that a policy version can age out before its calls do.
    policy_digest   text        NOT NULL DEFAULT '',
    result          json,
    ok              boolean,
    error_code      text,
    -- Redacted arguments. Raw ones are in no table.
    safe_args       json,
    attempts        integer     NOT NULL DEFAULT 0,
    started_at      timestamptz NOT NULL,
    settled_at      timestamptz,
    created_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT invocations_pkey PRIMARY KEY (invocation_id),
    -- The id is the identity: the first 16 bytes of SHA-256(tenant NUL run NUL call) as a UUIDv8. With it the primary key makes the
    -- identity unique. A second unique index would not do: ON CONFLICT obeys one index, and two workers that insert the same call at
    -- once would break on the other.
    CONSTRAINT invocations_id_is_identity CHECK (
        invocation_id = encode(
            set_byte(set_byte(
                substring(sha256(
                    convert_to(tenant_id, 'UTF8') || '\x00'::bytea || convert_to(run_id, 'UTF8') || '\x00'::bytea || convert_to(tool_call_id, 'UTF8')
                ) FROM 1 FOR 16),
                6, (get_byte(sha256(
                    convert_to(tenant_id, 'UTF8') || '\x00'::bytea || convert_to(run_id, 'UTF8') || '\x00'::bytea || convert_to(tool_call_id, 'UTF8')
                ), 6) & 15) | 128),
                8, (get_byte(sha256(
                    convert_to(tenant_id, 'UTF8') || '\x00'::bytea || convert_to(run_id, 'UTF8') || '\x00'::bytea || convert_to(tool_call_id, 'UTF8')
                ), 8) & 63) | 128),
            'hex')::uuid
    ),
    CONSTRAINT invocations_state_known CHECK (state IN ('open', 'settled')),
    CONSTRAINT invocations_epoch_counts CHECK (epoch >= 1),
    CONSTRAINT invocations_rounds_count CHECK (gate_round >= 0 AND dispatch_round >= 0 AND request_round >= 0),
    CONSTRAINT invocations_month_is_first CHECK (extract(day FROM month) = 1),
    CONSTRAINT invocations_settled_has_result CHECK (
        (state = 'settled') = (result IS NOT NULL) AND
        (state = 'settled') = (settled_at IS NOT NULL) AND
        (state = 'settled') = (ok IS NOT NULL)
    )
);

-- pawl list
CREATE INDEX invocations_by_tenant ON invocations (tenant_id, created_at DESC, invocation_id DESC);
-- pawl show takes any of the three names of a call.
CREATE INDEX invocations_by_call ON invocations (tenant_id, tool_call_id);
CREATE INDEX invocations_by_workflow ON invocations (workflow_id);
-- Open calls are few among many, and the sweeper looks at all of them.
CREATE INDEX invocations_open ON invocations (created_at) WHERE state = 'open';

-- A dispatch of the regular lane: claimed before the tool runs, or declared dead (a tombstone) so that it never will. The primary key
-- keeps it from being both. Never released: a claim ages out with its call, and not before.
CREATE TABLE claims (
    invocation_id uuid        NOT NULL,
    dispatch      integer     NOT NULL,
    kind          text        NOT NULL,
    epoch         integer     NOT NULL,
    approval_id   text,
    at            timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT claims_pkey PRIMARY KEY (invocation_id, dispatch),
    CONSTRAINT claims_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations ON DELETE CASCADE,
    CONSTRAINT claims_kind_known CHECK (kind IN ('claim', 'tombstone')),
    CONSTRAINT claims_dispatch_counts CHECK (dispatch >= 1)
);

CREATE TABLE approvals (
    approval_id       text        NOT NULL,
    invocation_id     uuid        NOT NULL,
    number            integer     NOT NULL,
    tenant_id         text        NOT NULL,
    -- What an approval is bound to.
    digest            text        NOT NULL,
    tool_id           text        NOT NULL,
    effect            text        NOT NULL,
    risk              text        NOT NULL,
    safe_args         json,
    message           text        NOT NULL,
    requested_by      text        NOT NULL,
    -- The approver whose edit made these arguments; may not approve them.
    edited_by         text        NOT NULL DEFAULT '',
    approvers_text    text        NOT NULL,
    -- Who may decide, as it was when the request opened.
    rule              json        NOT NULL,
    granted           json        NOT NULL,
    policy_rule       text        NOT NULL,
    policy_digest     text        NOT NULL,
    state             text        NOT NULL DEFAULT 'open',
    approver          text,
    decided_at        timestamptz,
    -- The first dispatch that used the approval; later ones of the same call may use it too.
    consumed_dispatch integer,
    expires_at        timestamptz NOT NULL,
    created_at        timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT approvals_pkey PRIMARY KEY (approval_id),
    CONSTRAINT approvals_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations ON DELETE CASCADE,
    CONSTRAINT approvals_number_once UNIQUE (invocation_id, number),
    CONSTRAINT approvals_id_is_derived CHECK (approval_id = invocation_id::text || '.' || number::text),
    CONSTRAINT approvals_state_known CHECK (state IN ('open', 'approved', 'denied', 'edited', 'withdrawn', 'expired', 'closed')),
    CONSTRAINT approvals_decided_has_approver CHECK (
        (state IN ('approved', 'denied', 'edited', 'withdrawn')) = (approver IS NOT NULL) AND
        (approver IS NULL) = (decided_at IS NULL)
    ),
    CONSTRAINT approvals_consumed_was_approved CHECK (consumed_dispatch IS NULL OR state = 'approved')
);

CREATE INDEX approvals_by_tenant ON approvals (tenant_id, created_at DESC);
-- An invocation waits on at most one request at a time.
CREATE UNIQUE INDEX approvals_one_open ON approvals (invocation_id) WHERE state = 'open';

-- Every decision that was verified, counted or not, once. Edited arguments are arguments: only their digest is here.
CREATE TABLE decisions (
    approval_id   text        NOT NULL,
    -- SHA-256 of the whole decision in canonical form: after a reset Temporal delivers the same decision again.
    decision_hash text        NOT NULL,
    decision      text        NOT NULL,
    approver      text        NOT NULL,
    reason        text        NOT NULL DEFAULT '',
    args_digest   text,
    remember      boolean     NOT NULL,
    signed        boolean     NOT NULL,
    counted       boolean     NOT NULL,
    -- What the sender was told: why it did not count, or a remark.
    answer        text        NOT NULL DEFAULT '',
    at            timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT decisions_pkey PRIMARY KEY (approval_id, decision_hash),
    CONSTRAINT decisions_of_approval FOREIGN KEY (approval_id) REFERENCES approvals ON DELETE CASCADE
);

-- First final decision wins, even should the code forget.
CREATE UNIQUE INDEX decisions_one_counts ON decisions (approval_id) WHERE counted;

-- Versions are never changed. The source is the canonical text that the digest is of.
CREATE TABLE policies (
    digest     text        NOT NULL,
    source     text        NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT policies_pkey PRIMARY KEY (digest),
    CONSTRAINT policies_digest_of_source CHECK (digest = encode(sha256(convert_to(source, 'UTF8')), 'hex'))
);

-- The one pointer to the active version. Its row always exists, so that there is something to lock while none is active.
CREATE TABLE policy_active (
    id           boolean     NOT NULL DEFAULT true,
    digest       text,
    activated_at timestamptz,
    activated_by text,
    CONSTRAINT policy_active_pkey PRIMARY KEY (id),
    CONSTRAINT policy_active_singleton CHECK (id),
    CONSTRAINT policy_active_version FOREIGN KEY (digest) REFERENCES policies,
    CONSTRAINT policy_active_whole CHECK (
        (digest IS NULL) = (activated_at IS NULL) AND (digest IS NULL) = (activated_by IS NULL)
    )
);
INSERT INTO policy_active DEFAULT VALUES;

-- Tools as workers publish them, so that other programs know the tools of a user's own binary.
CREATE TABLE tool_specs (
    digest       text        NOT NULL,
    tool_id      text        NOT NULL,
    spec         json        NOT NULL,
    published_at timestamptz NOT NULL DEFAULT now(),
    -- When a worker last started with it.
    seen_at      timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT tool_specs_pkey PRIMARY KEY (tool_id, digest)
);

-- Messages to send once the change they tell of is committed.
CREATE TABLE outbox (
    id          bigint      GENERATED ALWAYS AS IDENTITY,
    kind        text        NOT NULL,
    workflow_id text        NOT NULL,
    signal      text        NOT NULL DEFAULT '',
    payload     json,
    created_at  timestamptz NOT NULL DEFAULT now(),
    attempts    integer     NOT NULL DEFAULT 0,
    -- Not to be taken before. A relay that takes a message moves this ahead, so that the message comes back should the relay die.
    next_at     timestamptz NOT NULL DEFAULT now(),
    sent_at     timestamptz,
    -- A code, never a text of the other side.
    last_error  text,
    CONSTRAINT outbox_pkey PRIMARY KEY (id),
    CONSTRAINT outbox_kind_known CHECK (kind IN ('signal'))
);

CREATE INDEX outbox_due ON outbox (next_at) WHERE sent_at IS NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;

-- What follows grows with every call and is dropped by the month. Rows stand in the month of their invocation, so that a month goes as
-- a whole. They have no foreign key: it would cost a look-up per row, and settle is the only writer. The DEFAULT partition always
-- exists, so that a month nobody prepared is no reason to fail.

CREATE TABLE stage_events (
    month         date        NOT NULL,
    invocation_id uuid        NOT NULL,
    -- The order in which they began, from 1.
    seq           integer     NOT NULL,
    stage         text        NOT NULL,
    round         integer     NOT NULL,
    attempt       integer     NOT NULL,
    outcome       text        NOT NULL,
    by_hook       text        NOT NULL,
    rule          text        NOT NULL,
    at            timestamptz NOT NULL,
    duration_us   bigint      NOT NULL,
    notes         json,
    CONSTRAINT stage_events_pkey PRIMARY KEY (invocation_id, seq, month)
) PARTITION BY RANGE (month);
CREATE TABLE stage_events_default PARTITION OF stage_events DEFAULT;

CREATE TABLE attempts (
    month         date        NOT NULL,
    invocation_id uuid        NOT NULL,
    seq           integer     NOT NULL,
    attempt       integer     NOT NULL,
    -- 0 in the local lane, which claims nothing.
    dispatch      integer     NOT NULL,
    lane          text        NOT NULL,
    outcome       text        NOT NULL,
    code          text        NOT NULL,
    at            timestamptz NOT NULL,
    duration_us   bigint      NOT NULL,
    CONSTRAINT attempts_pkey PRIMARY KEY (invocation_id, seq, month)
) PARTITION BY RANGE (month);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;

-- Redacted values that are too large for a workflow's payload.
CREATE TABLE payloads (
    month         date        NOT NULL,
    ref           text        NOT NULL,
    invocation_id uuid        NOT NULL,
    tenant_id     text        NOT NULL,
    dispatch      integer     NOT NULL,
    value         json        NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payloads_pkey PRIMARY KEY (ref, month)
) PARTITION BY RANGE (month);
CREATE TABLE payloads_default PARTITION OF payloads DEFAULT;

-- The audit trail: what settle brings, decisions, policy changes, and input that was refused, which has no invocation.
CREATE TABLE events (
    month         date        NOT NULL DEFAULT date_trunc('month', now() AT TIME ZONE 'UTC')::date,
    id            uuid        NOT NULL DEFAULT gen_random_uuid(),
    at            timestamptz NOT NULL DEFAULT now(),
    kind          text        NOT NULL,
    tenant_id     text,
    invocation_id uuid,
    workflow_id   text,
    audit_id      text,
    -- The order among those of one moment.
    seq           integer     NOT NULL DEFAULT 0,
    detail        json,
    CONSTRAINT events_pkey PRIMARY KEY (id, month)
) PARTITION BY RANGE (month);
CREATE TABLE events_default PARTITION OF events DEFAULT;

CREATE INDEX events_by_invocation ON events (invocation_id) WHERE invocation_id IS NOT NULL;
CREATE INDEX events_by_workflow ON events (workflow_id) WHERE invocation_id IS NULL AND workflow_id IS NOT NULL;
CREATE INDEX events_by_time ON events (at);
