-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- Stored outputs: values that are too large for a result, and the streams of tools. The table payloads keeps the values of earlier releases.
CREATE TABLE outputs (
    -- Chunks name an output by this number, because a reference is long.
    id            bigint      GENERATED ALWAYS AS IDENTITY,
    ref           text        NOT NULL,
    invocation_id uuid        NOT NULL,
    tenant_id     text        NOT NULL,
    run_id        text        NOT NULL,
    tool_id       text        NOT NULL,
    dispatch      integer     NOT NULL,
    media_type    text        NOT NULL,
    -- Only a complete output is the result of a call. The chunks of an expired one are deleted; its row stays for some time,
    -- so that a reader learns that there was an output.
    state         text        NOT NULL DEFAULT 'writing',
    bytes         bigint      NOT NULL DEFAULT 0,
    lines         bigint      NOT NULL DEFAULT 0,
    -- What the chunks count of the quota: the size of their compressed data, and 1 KiB for the rows of each.
    stored        bigint      NOT NULL DEFAULT 0,
    sha256        text        NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL DEFAULT now(),
    -- When the last chunk was written. An output of a worker that was killed is not touched any more.
    touched_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz NOT NULL,
    CONSTRAINT outputs_pkey PRIMARY KEY (id),
    CONSTRAINT outputs_by_ref UNIQUE (ref),
    CONSTRAINT outputs_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations ON DELETE CASCADE,
    CONSTRAINT outputs_state_known CHECK (state IN ('writing', 'complete', 'expired')),
    CONSTRAINT outputs_complete_has_digest CHECK (state <> 'complete' OR sha256 <> '')
);

-- The foreign key needs it when calls are deleted.
CREATE INDEX outputs_by_invocation ON outputs (invocation_id);
-- Upkeep looks for outputs whose time is over, and for outputs that nobody finishes.
CREATE INDEX outputs_by_expiry ON outputs (expires_at) WHERE state <> 'expired';
CREATE INDEX outputs_writing ON outputs (touched_at) WHERE state = 'writing';
CREATE INDEX outputs_reclaimable ON outputs (id) WHERE state = 'expired' AND stored > 0;
CREATE INDEX outputs_expired ON outputs (touched_at) WHERE state = 'expired';

CREATE TABLE output_chunks (
    output_id  bigint  NOT NULL,
    -- The bytes and the newlines in front of the chunk, and in it.
    first_byte bigint  NOT NULL,
    first_line bigint  NOT NULL,
    bytes      integer NOT NULL,
    lines      integer NOT NULL,
    -- Whether the last byte is a newline: then the line after it begins with the next chunk.
    ends_line  boolean NOT NULL,
    data       bytea   NOT NULL,
    CONSTRAINT output_chunks_pkey PRIMARY KEY (output_id, first_byte),
    CONSTRAINT output_chunks_of_output FOREIGN KEY (output_id) REFERENCES outputs ON DELETE CASCADE,
    CONSTRAINT output_chunks_size CHECK (bytes > 0)
);

-- Postgres would try to compress what zstd has compressed.
ALTER TABLE output_chunks ALTER COLUMN data SET STORAGE EXTERNAL;

-- Finds the chunk of a line, as the primary key finds the chunk of a byte.
CREATE INDEX output_chunks_by_line ON output_chunks (output_id, first_line, first_byte);

-- How much the chunks of a tenant count. A statement that writes a chunk sets the quota too, so that the check holds it
-- under concurrent writers, and nothing of a chunk beyond it is written.
CREATE TABLE output_usage (
    tenant_id text   NOT NULL,
    stored    bigint NOT NULL DEFAULT 0,
    quota     bigint NOT NULL,
    CONSTRAINT output_usage_pkey PRIMARY KEY (tenant_id),
    CONSTRAINT output_usage_within_quota CHECK (stored <= quota)
);
