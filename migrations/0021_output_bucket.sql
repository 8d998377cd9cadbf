-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- The objects of a bucket that has the data of chunks. A row is written before its object, and deleted after it, so that every object has a
-- row. It has no foreign key: the row of an object outlives the chunk, the output and the call.
CREATE TABLE output_objects (
    -- The name of the object. It is random, because a reference can be guessed by those who know the id of a call.
    key        uuid        NOT NULL,
    bucket     text        NOT NULL,
    -- reserved: the object may exist. stored: a chunk has it. garbage: upkeep deletes it, and no chunk can have it any more.
    state      text        NOT NULL DEFAULT 'reserved',
    -- The output of the chunk, when there is one.
    output_id  bigint,
    -- The size and the digest of the object, so that a reader gets what was written.
    size       integer     NOT NULL,
    sha256     bytea       NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    -- When the deletion of the object last failed. The next batch begins with others.
    tried_at   timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT output_objects_pkey PRIMARY KEY (key),
    CONSTRAINT output_objects_state_known CHECK (state IN ('reserved', 'stored', 'garbage'))
);

-- Upkeep looks for objects that no chunk has.
CREATE INDEX output_objects_unused ON output_objects (state, tried_at) WHERE state <> 'stored';

-- A person deletes an output with its objects.
CREATE INDEX output_objects_by_output ON output_objects (output_id) WHERE output_id IS NOT NULL;

ALTER TABLE output_chunks ALTER COLUMN data DROP NOT NULL;
ALTER TABLE output_chunks ADD COLUMN object uuid;
-- Not validated: to read the table takes long, and its rows have data.
ALTER TABLE output_chunks ADD CONSTRAINT output_chunks_have_data CHECK ((data IS NULL) <> (object IS NULL)) NOT VALID;

-- A trigger, because chunks are also deleted by the foreign keys of their output and of its call.
-- +goose StatementBegin
CREATE FUNCTION discard_output_object() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE output_objects SET state = 'garbage', changed_at = now() WHERE key = OLD.object;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER output_chunks_object AFTER DELETE ON output_chunks
    FOR EACH ROW WHEN (OLD.object IS NOT NULL) EXECUTE FUNCTION discard_output_object();
