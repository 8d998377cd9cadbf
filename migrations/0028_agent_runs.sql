-- +goose Up

-- A run of an agent. The row is written when the run opens, so that a version of the agent that is applied later changes nothing of the run.
CREATE TABLE agent_runs (
    tenant_id          text        NOT NULL,
    run_id             text        NOT NULL,
    -- Another input under the same ids is another run, and is refused.
    input_digest       text        NOT NULL,
    agent              text        NOT NULL,
    version            text        NOT NULL,
    -- What the run does, as the version of the agent said it.
    document           json        NOT NULL,
    input              json        NOT NULL,
    -- The digest of the instructions, the model and the tools of the last request, to compare runs.
    prompt_hash        text        NOT NULL DEFAULT '',
    -- What requests have no more: the outputs of rounds before trimmed_to, and the rounds before context_from. They only grow, in
    -- large steps, because a provider can use its cache for a request only while the beginning of the request stays the same.
    trimmed_to         integer     NOT NULL DEFAULT 1,
    context_from       integer     NOT NULL DEFAULT 1,
    -- The totals of the rounds. The statement that writes a round adds to them, so a response counts once.
    rounds             integer     NOT NULL DEFAULT 0,
    calls              integer     NOT NULL DEFAULT 0,
    input_tokens       bigint      NOT NULL DEFAULT 0,
    cache_read_tokens  bigint      NOT NULL DEFAULT 0,
    cache_write_tokens bigint      NOT NULL DEFAULT 0,
    output_tokens      bigint      NOT NULL DEFAULT 0,
    micro_usd          bigint      NOT NULL DEFAULT 0,
    -- The number of rounds whose model has no price.
    unpriced           integer     NOT NULL DEFAULT 0,
    opened_at          timestamptz NOT NULL DEFAULT now(),
    ended_at           timestamptz ,
    -- agent.Result, once the run has ended.
    result             json        ,
    CONSTRAINT agent_runs_pkey PRIMARY KEY (tenant_id, run_id),
    CONSTRAINT agent_runs_end CHECK ((ended_at IS NULL) = (result IS NULL))
);

-- Retention, and the list of runs.
CREATE INDEX agent_runs_by_age ON agent_runs (opened_at);
CREATE INDEX agent_runs_of_tenant ON agent_runs (tenant_id, opened_at);

-- A round of a run: one response of the model. It is written once, before any of its calls starts, so that a model is asked again only if
-- nobody has its response, and is paid for once in the totals.
CREATE TABLE agent_rounds (
    tenant_id          text        NOT NULL,
    run_id             text        NOT NULL,
    round              integer     NOT NULL,
    format             text        NOT NULL,
    model              text        NOT NULL,
    -- The response, and the calls that were planned of it.
    plan               json        NOT NULL,
    -- The number of calls in the response, and of those that start.
    calls_planned      integer     NOT NULL,
    calls              integer     NOT NULL,
    -- The answers to the calls; NULL while they run.
    answers            json,
    -- The size of plan and answers.
    bytes              integer     NOT NULL,
    input_tokens       bigint      NOT NULL,
    cache_read_tokens  bigint      NOT NULL,
    cache_write_tokens bigint      NOT NULL,
    output_tokens      bigint      NOT NULL,
    -- NULL if the table of prices has no such model.
    micro_usd          bigint,
    asked_at           timestamptz NOT NULL DEFAULT now(),
    answered_at        timestamptz,
    CONSTRAINT agent_rounds_pkey PRIMARY KEY (tenant_id, run_id, round),
    CONSTRAINT agent_rounds_run FOREIGN KEY (tenant_id, run_id) REFERENCES agent_runs ON DELETE CASCADE
);

-- What people say to a run while it goes on. A message belongs to the first round whose request has it.
CREATE TABLE agent_messages (
    tenant_id  text        NOT NULL,
    run_id     text        NOT NULL,
    seq        bigint      GENERATED ALWAYS AS IDENTITY,
    message_id text        NOT NULL,
    said_by    text        NOT NULL,
    text       text        NOT NULL,
    -- NULL until a response is recorded whose request had the message.
    round      integer,
    said_at    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT agent_messages_pkey PRIMARY KEY (tenant_id, run_id, message_id),
    CONSTRAINT agent_messages_run FOREIGN KEY (tenant_id, run_id) REFERENCES agent_runs ON DELETE CASCADE
);

-- The last message of a run, and those of its last rounds.
CREATE INDEX agent_messages_in_order ON agent_messages (tenant_id, run_id, seq) INCLUDE (round);
