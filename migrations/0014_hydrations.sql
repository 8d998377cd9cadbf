-- +goose Up

-- Where the arguments of a call came from and what was done to make them usable: one row for every time that hydrate ran, whether it
-- succeeded or not. It grows with every call, so it is dropped by the month as its siblings are. A row says nothing that may not be shown:
-- arguments that were refused stand in it as a digest, a length and a shape, for nobody can redact by path what has no path.
CREATE TABLE hydrations (
    month         date        NOT NULL,
    invocation_id uuid        NOT NULL,
    -- When it ran, by the clock of the workflow, and its number in that run. Both come again where a statement is repeated, and where a
    -- run that was reset goes through the same hydration again: together they are its name.
    at            timestamptz NOT NULL,
    seq           integer     NOT NULL,
    outcome       text        NOT NULL,
    repaired      boolean     NOT NULL,
    tool_id       text        NOT NULL,
    -- What the model's provider calls the tool; empty where the call does not say.
    provider_tool text        NOT NULL,
    tool_digest   text        NOT NULL,
    -- The rest, as toolspec.Provenance.
    provenance    json        NOT NULL,
    CONSTRAINT hydrations_pkey PRIMARY KEY (invocation_id, at, seq, month),
    CONSTRAINT hydrations_outcome_known CHECK (outcome IN ('success', 'parse', 'validate', 'instantiate')),
    CONSTRAINT hydrations_repaired_is_usable CHECK (NOT repaired OR outcome = 'success' OR outcome = 'instantiate')
) PARTITION BY RANGE (month);
CREATE TABLE hydrations_default PARTITION OF hydrations DEFAULT;

-- What stands in DEFAULT is deleted by the month, and not by dropping a table.
CREATE INDEX hydrations_default_by_month ON hydrations_default (month);
