-- +goose Up

-- How the pointer to the active policy came to be where it is. Events tell the same, but age out, and are found by their call.
CREATE TABLE policy_activations (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    digest       text        NOT NULL,
    -- The version that was active until then; empty if none was.
    before       text        NOT NULL,
    how          text        NOT NULL,
    activated_by text        NOT NULL,
    activated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT policy_activations_pkey PRIMARY KEY (id),
    CONSTRAINT policy_activations_version FOREIGN KEY (digest) REFERENCES policies,
    CONSTRAINT policy_activations_how_known CHECK (how IN ('apply', 'rollback'))
);

INSERT INTO policy_activations (digest, before, how, activated_by, activated_at)
SELECT e.detail ->> 'digest', coalesce(e.detail ->> 'before', ''), 'apply', coalesce(e.detail ->> 'by', ''), e.at
FROM events e JOIN policies p ON p.digest = e.detail ->> 'digest'
WHERE e.kind = 'policy_activated'
ORDER BY e.at, e.seq;
