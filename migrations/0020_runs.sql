-- +goose Up

-- Every call queues behind a lock that this waits for, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- A row for each run, that is, for each pair of tenant and run id: the last number of its events, and the totals of its calls. A writer of
-- an event takes the next number while it holds the lock of this row, and keeps the lock until it commits. A reader that has seen event n
-- can therefore ask for what follows n: no smaller number becomes visible later. A sequence of the database would not do, because its
-- numbers commit out of order.
CREATE TABLE runs (
    tenant_id        text        NOT NULL,
    run_id           text        NOT NULL,
    -- The payload of notifications. It says nothing about the tenant.
    key              uuid        NOT NULL DEFAULT gen_random_uuid(),
    last_seq         bigint      NOT NULL DEFAULT 0,
    -- Until when events are notified. A notification serialises the commits of the whole database, so a run that nobody watches has none.
    watched_until    timestamptz NOT NULL DEFAULT '-infinity',
    calls            bigint      NOT NULL DEFAULT 0,
    -- The number of calls by "ok" or error code.
    outcomes         jsonb       NOT NULL DEFAULT '{}',
    attempts         bigint      NOT NULL DEFAULT 0,
    latency_ms       bigint      NOT NULL DEFAULT 0,
    max_latency_ms   bigint      NOT NULL DEFAULT 0,
    approval_wait_ms bigint      NOT NULL DEFAULT 0,
    result_bytes     bigint      NOT NULL DEFAULT 0,
    first_started_at timestamptz,
    last_ended_at    timestamptz,
    created_at       timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT runs_pkey PRIMARY KEY (tenant_id, run_id),
    CONSTRAINT runs_count CHECK (last_seq >= 0 AND calls >= 0)
    -- Each event updates its row. Room in the page keeps these updates out of the indexes.
) WITH (fillfactor = 50);

-- Retention. The column never changes.
CREATE INDEX runs_by_age ON runs (created_at);

-- What happened in a run, for watchers. Rows are never changed. A row holds what may be shown: masked arguments, messages to approvers,
-- reports of tools. The result of a call is in its invocation.
CREATE TABLE run_events (
    -- That of the call, so that a month goes as a whole; without a call, the month in which the event was written.
    month         date        NOT NULL DEFAULT date_trunc('month', now() AT TIME ZONE 'UTC')::date,
    tenant_id     text        NOT NULL,
    run_id        text        NOT NULL,
    -- From 1, without gaps.
    seq           bigint      NOT NULL,
    at            timestamptz NOT NULL,
    kind          text        NOT NULL,
    invocation_id uuid,
    tool_call_id  text        NOT NULL DEFAULT '',
    tool_id       text        NOT NULL DEFAULT '',
    -- Who may watch a text. A call has an actor and a subject instead.
    owner_id      text        NOT NULL DEFAULT '',
    detail        json,
    CONSTRAINT run_events_pkey PRIMARY KEY (tenant_id, run_id, seq, month)
) PARTITION BY RANGE (month);
CREATE TABLE run_events_default PARTITION OF run_events DEFAULT;
CREATE INDEX run_events_default_by_month ON run_events_default (month);

-- What the events of a run have of each turn of a model. The same turn may be taken again, and by two programs at once: its text and its end
-- are written once. A writer changes the row while it holds the lock of the row of the run.
CREATE TABLE run_turns (
    tenant_id text    NOT NULL,
    run_id    text    NOT NULL,
    key       text    NOT NULL,
    -- The bytes of the turn's text that have an event.
    written   bigint  NOT NULL,
    done      boolean NOT NULL,
    CONSTRAINT run_turns_pkey PRIMARY KEY (tenant_id, run_id, key),
    CONSTRAINT run_turns_of_run FOREIGN KEY (tenant_id, run_id) REFERENCES runs (tenant_id, run_id) ON DELETE CASCADE
);

-- When the start event of the call was written: by the claim, or by a local attempt of a watched run. The call writes none after it.
ALTER TABLE invocations ADD COLUMN begun_at timestamptz;

-- The functions below are the only code that writes run_events. Triggers call them, so that each statement that begins a call, asks a person,
-- closes a request or settles a call writes its event, and statements of another release do too.

-- +goose StatementBegin
CREATE FUNCTION append_run_event(of_month date, tenant text, run text, event_kind text, invocation uuid, call_id text, tool text, owner text, content json)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
    channel_key uuid;
BEGIN
    INSERT INTO runs AS r (tenant_id, run_id, last_seq) VALUES (tenant, run, 1)
    ON CONFLICT (tenant_id, run_id) DO UPDATE SET last_seq = r.last_seq + 1
    RETURNING last_seq, CASE WHEN watched_until > now() THEN key END INTO number, channel_key;
    -- The clock is read under the lock, so that times do not decrease within a run.
    INSERT INTO run_events (month, tenant_id, run_id, seq, at, kind, invocation_id, tool_call_id, tool_id, owner_id, detail)
    VALUES (of_month, tenant, run, number, clock_timestamp(), event_kind, invocation, call_id, tool, owner, content);
    IF channel_key IS NOT NULL THEN
        PERFORM pg_notify('pawl_runs', channel_key::text);
    END IF;
    RETURN number;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION write_run_start() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM append_run_event(NEW.month, NEW.tenant_id, NEW.run_id, 'tool_call_start', NEW.invocation_id, NEW.tool_call_id, NEW.tool_id, '', NEW.safe_args);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- Writes the result of a call and adds the call to the totals of its run. A call that has not begun gets its start first, in the same
-- update of the row of the run.
-- +goose StatementBegin
CREATE FUNCTION write_run_result() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
    channel_key uuid;
    added integer := CASE WHEN NEW.begun_at IS NULL THEN 2 ELSE 1 END;
    outcome text := coalesce(NEW.error_code, 'ok');
    took bigint := greatest(0, floor(extract(epoch FROM NEW.settled_at - NEW.created_at) * 1000));
BEGIN
    INSERT INTO runs AS r (tenant_id, run_id, last_seq, calls, outcomes, attempts, latency_ms, max_latency_ms, result_bytes, first_started_at, last_ended_at)
    VALUES (NEW.tenant_id, NEW.run_id, added, 1, jsonb_build_object(outcome, 1), NEW.attempts, took, took, octet_length(NEW.result::text),
        NEW.created_at, NEW.settled_at)
    ON CONFLICT (tenant_id, run_id) DO UPDATE SET
        last_seq = r.last_seq + added, calls = r.calls + 1, attempts = r.attempts + excluded.attempts,
        outcomes = jsonb_set(r.outcomes, ARRAY[outcome], to_jsonb(coalesce((r.outcomes ->> outcome)::bigint, 0) + 1)),
        latency_ms = r.latency_ms + took, max_latency_ms = greatest(r.max_latency_ms, took), result_bytes = r.result_bytes + excluded.result_bytes,
        first_started_at = least(r.first_started_at, excluded.first_started_at), last_ended_at = greatest(r.last_ended_at, excluded.last_ended_at)
    RETURNING last_seq, CASE WHEN watched_until > now() THEN key END INTO number, channel_key;
    IF NEW.begun_at IS NULL THEN
        INSERT INTO run_events (month, tenant_id, run_id, seq, at, kind, invocation_id, tool_call_id, tool_id, detail)
        VALUES (NEW.month, NEW.tenant_id, NEW.run_id, number - 1, clock_timestamp(), 'tool_call_start', NEW.invocation_id, NEW.tool_call_id, NEW.tool_id, NEW.safe_args);
    END IF;
    INSERT INTO run_events (month, tenant_id, run_id, seq, at, kind, invocation_id, tool_call_id, tool_id)
    VALUES (NEW.month, NEW.tenant_id, NEW.run_id, number, clock_timestamp(), 'tool_call_result', NEW.invocation_id, NEW.tool_call_id, NEW.tool_id);
    IF channel_key IS NOT NULL THEN
        PERFORM pg_notify('pawl_runs', channel_key::text);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION write_run_approval() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    opens boolean := NEW.state = 'open';
    approval json := json_strip_nulls(json_build_object(
        'approvalId', NEW.approval_id, 'message', CASE WHEN opens THEN NEW.message END, 'decision', CASE WHEN NOT opens THEN NEW.state END,
        'approver', CASE WHEN NOT opens THEN NEW.approver END));
    call record;
BEGIN
    SELECT month, tenant_id, run_id, tool_call_id, tool_id INTO STRICT call FROM invocations WHERE invocation_id = NEW.invocation_id;
    PERFORM append_run_event(call.month, call.tenant_id, call.run_id, CASE WHEN opens THEN 'approval_requested' ELSE 'approval_decided' END, NEW.invocation_id,
        call.tool_call_id, call.tool_id, '',
        CASE WHEN opens AND NEW.safe_args IS NOT NULL THEN json_build_object('approval', approval, 'args', NEW.safe_args) ELSE json_build_object('approval', approval) END);
    IF NOT opens THEN
        UPDATE runs SET approval_wait_ms = approval_wait_ms + greatest(0, floor(extract(epoch FROM now() - NEW.created_at) * 1000))::bigint
        WHERE tenant_id = call.tenant_id AND run_id = call.run_id;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- Deferred: the events are written at the commit, so that the row of the run is the last lock that a transaction takes and is held for the
-- shortest time. The order of the rows in a statement must not decide the order of the events: a request that settle closes is decided
-- before the result, so its trigger is not deferred.
CREATE CONSTRAINT TRIGGER invocations_run_start AFTER UPDATE ON invocations DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.begun_at IS NULL AND NEW.begun_at IS NOT NULL AND NEW.state = 'open') EXECUTE FUNCTION write_run_start();
CREATE CONSTRAINT TRIGGER invocations_run_result AFTER UPDATE ON invocations DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.state = 'open' AND NEW.state = 'settled') EXECUTE FUNCTION write_run_result();
CREATE TRIGGER approvals_run_requested AFTER INSERT ON approvals
    FOR EACH ROW WHEN (NEW.state = 'open') EXECUTE FUNCTION write_run_approval();
CREATE TRIGGER approvals_run_decided AFTER UPDATE ON approvals
    FOR EACH ROW WHEN (OLD.state = 'open' AND NEW.state <> 'open') EXECUTE FUNCTION write_run_approval();
