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

-- The sweeper reads the open calls of its namespace page by page.
DROP INDEX invocations_open;
CREATE INDEX invocations_open ON invocations (namespace, created_at, invocation_id) WHERE state = 'open';

-- Retention deletes by the time of settling, and asks whether a month has calls left. An old month has few rows that are still kept, and
-- this index finds those that are not without reading them.
CREATE INDEX invocations_by_month ON invocations (month, settled_at);

-- What stands in DEFAULT is deleted by the month, and not by dropping a table.
CREATE INDEX stage_events_default_by_month ON stage_events_default (month);
CREATE INDEX attempts_default_by_month ON attempts_default (month);
CREATE INDEX payloads_default_by_month ON payloads_default (month);
CREATE INDEX events_default_by_month ON events_default (month);
