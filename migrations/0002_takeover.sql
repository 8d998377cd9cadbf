-- +goose Up

ALTER TABLE invocations
    -- The Temporal namespace of the workflow. A sweeper judges only the calls of its own: in any other it would not find their owners,
    -- and take them for gone.
    ADD namespace text NOT NULL DEFAULT '',
    -- Every value that the arguments and the output had, in order, redacted.
    ADD input_history json,
    ADD output_history json;

-- Whether the worker that claimed believed that the tool may be repeated. A deploy can change that while the call runs, and then nobody
-- may repeat what this worker began. Claims of older workers count as not repeatable: that is the careful side.
ALTER TABLE claims ADD repeatable boolean NOT NULL DEFAULT false;
