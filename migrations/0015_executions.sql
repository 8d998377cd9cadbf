-- +goose Up

ALTER TABLE claims
    -- Drawn at random by the execution that claims, right before it does. Two executions of one dispatch (of a run and the one that a reset
    -- made of it, or of one task that was handed out twice) share every number, and not this. Claims of older workers have none, so no
    -- answer accounts for them: that is the careful side.
    ADD claim_id text NOT NULL DEFAULT '',
    -- When the attempt has used up its time, with a margin: until then its tool may run, whoever has given it up. Older workers did not
    -- say; an hour is longer than most.
    ADD over_at timestamptz NOT NULL DEFAULT now() + interval '1 hour';

-- Keys that only workers have: they sign what travels through Temporal and must come from a worker. Whoever can read this table can
-- write all the others. A key signs for a day and is kept for as long as what it signed may come back.
CREATE TABLE worker_keys (
    key_id  bigint      GENERATED ALWAYS AS IDENTITY,
    secret  bytea       NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT worker_keys_pkey PRIMARY KEY (key_id),
    CONSTRAINT worker_keys_secret_length CHECK (octet_length(secret) = 32)
);
