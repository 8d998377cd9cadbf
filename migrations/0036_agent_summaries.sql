-- +goose Up

-- What a model wrote of the rounds that the requests of a run leave out. The rounds stay in agent_rounds. A row is written once, in the statement that
-- leaves the rounds out and counts what the summary has used, so an activity that is repeated asks for no second one.
CREATE TABLE agent_summaries (
    tenant_id          text        NOT NULL,
    run_id             text        NOT NULL,
    -- The summary stands for the rounds before this one, also for those of the summary before it.
    before_round       integer     NOT NULL,
    format             text        NOT NULL,
    model              text        NOT NULL,
    -- It can repeat arguments that a tool masks, as a plan in agent_rounds does.
    summary            text        NOT NULL,
    input_tokens       bigint      NOT NULL,
    cache_read_tokens  bigint      NOT NULL,
    cache_write_tokens bigint      NOT NULL,
    output_tokens      bigint      NOT NULL,
    -- NULL if the table of prices has no such model.
    micro_usd          bigint,
    written_at         timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT agent_summaries_pkey PRIMARY KEY (tenant_id, run_id, before_round),
    CONSTRAINT agent_summaries_run FOREIGN KEY (tenant_id, run_id) REFERENCES agent_runs ON DELETE CASCADE
);
