-- +goose Up

-- The statements that add triggers wait for the locks of busy tables, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- The events of Pawl itself that wait for the start of a run: one row for each event and trigger. A worker deletes the row after it has started
-- the run, so a worker that is killed loses no event. A queue, and not a mark in the record: rows become visible in another order than that of
-- their numbers and times.
CREATE TABLE trigger_queue (
    tenant_id text        NOT NULL,
    name      text        NOT NULL,
    event_id  text        NOT NULL,
    -- The Temporal namespace of the call or run, whose workers start the run. Empty for a call or run of an earlier release: any worker starts it.
    namespace text        NOT NULL,
    -- Ids, names and codes. No argument, output or text of a model.
    data      json        NOT NULL,
    attempts  integer     NOT NULL DEFAULT 0,
    next_at   timestamptz NOT NULL DEFAULT now(),
    queued_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT trigger_queue_pkey PRIMARY KEY (tenant_id, name, event_id)
);

CREATE INDEX trigger_queue_by_due ON trigger_queue (next_at);

-- The versions of triggers that take an event of Pawl. Each end of a call looks here, and finds nothing in most tenants.
CREATE INDEX triggers_by_own_event ON triggers (tenant_id, (document::json #>> '{pawl,event}')) WHERE document::json #>> '{pawl,event}' IS NOT NULL;

-- Queues an event for the triggers that take it. The run of an event of Pawl has an id with the prefix trigger-pawl-. Its own events and those of
-- the runs that it starts are no events for triggers, because a trigger could start runs without end otherwise.
-- +goose StatementBegin
CREATE FUNCTION queue_trigger_event(of_tenant text, of_run text, of_namespace text, kind text, subject text, named text, ended text, content json)
RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    -- The whole statement costs more than a look into the index, which is all that most calls need.
    IF NOT EXISTS (SELECT FROM triggers v WHERE v.tenant_id = of_tenant AND v.document::json #>> '{pawl,event}' = kind) THEN
        RETURN;
    END IF;
    INSERT INTO trigger_queue (tenant_id, name, event_id, namespace, data)
    SELECT a.tenant_id, a.name, kind || ':' || subject, of_namespace, content
    FROM triggers v JOIN trigger_active a ON a.tenant_id = v.tenant_id AND a.name = v.name AND a.version = v.version
    WHERE v.tenant_id = of_tenant AND v.document::json #>> '{pawl,event}' = kind AND NOT a.retired
        AND coalesce((v.document::json #> '{pawl,agents}')::jsonb ? named, true)
        AND coalesce((v.document::json #> '{pawl,tools}')::jsonb ? named, true)
        AND coalesce((v.document::json #> '{pawl,outcomes}')::jsonb ? ended, true)
        AND NOT EXISTS (
            WITH RECURSIVE line (run_id) AS (
                SELECT of_run
                UNION
                SELECT r.parent_run_id FROM line l JOIN agent_runs r ON r.tenant_id = of_tenant AND r.run_id = l.run_id WHERE r.parent_run_id IS NOT NULL
            )
            SELECT FROM line l WHERE starts_with(l.run_id, 'trigger-pawl-')
        )
    ON CONFLICT DO NOTHING;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION queue_call_ended() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    ended text := coalesce(NEW.error_code, 'ok');
BEGIN
    PERFORM queue_trigger_event(NEW.tenant_id, NEW.run_id, NEW.namespace, 'call_ended', NEW.invocation_id::text, NEW.tool_id, ended, json_build_object(
        'event', 'call_ended', 'at', NEW.settled_at, 'call', json_build_object(
            'id', NEW.invocation_id, 'runId', NEW.run_id, 'toolCallId', NEW.tool_call_id, 'tool', NEW.tool_id, 'actor', NEW.actor_id, 'outcome', ended)));
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION queue_run_ended() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    ended text := NEW.result ->> 'outcome';
BEGIN
    PERFORM queue_trigger_event(NEW.tenant_id, NEW.run_id, NEW.namespace, 'run_ended', NEW.run_id, NEW.agent, ended, json_build_object(
        'event', 'run_ended', 'at', NEW.ended_at, 'run', json_build_object(
            'id', NEW.run_id, 'agent', NEW.agent, 'version', NEW.version, 'actor', NEW.input #>> '{context,actorId}', 'outcome', ended,
            'rounds', NEW.rounds, 'calls', NEW.calls)));
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION queue_approval_requested() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    call record;
BEGIN
    SELECT run_id, namespace, tool_call_id INTO STRICT call FROM invocations WHERE invocation_id = NEW.invocation_id;
    PERFORM queue_trigger_event(NEW.tenant_id, call.run_id, call.namespace, 'approval_requested', NEW.approval_id, NEW.tool_id, NULL, json_build_object(
        'event', 'approval_requested', 'at', NEW.created_at, 'approval', json_build_object(
            'id', NEW.approval_id, 'runId', call.run_id, 'toolCallId', call.tool_call_id, 'tool', NEW.tool_id, 'effect', NEW.effect, 'risk', NEW.risk,
            'requestedBy', NEW.requested_by, 'parked', NEW.parked <> '')));
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- They run as their owner, so that no call fails because its worker may not write the queue: roles may be those of an earlier release, or of the owners
-- of the database. Such a function must not look for names where its caller can put others, and nobody else may queue an event.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION queue_call_ended() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION queue_run_ended() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION queue_approval_requested() SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd
-- A trigger that exists needs no privilege. Who may execute the functions could make a trigger on a table of his own, with rows of any tenant.
REVOKE ALL ON FUNCTION queue_trigger_event(text, text, text, text, text, text, text, json), queue_call_ended(), queue_run_ended(),
    queue_approval_requested() FROM PUBLIC;

-- Triggers of the tables, so that each statement that ends a call or a run or opens a request queues its event, and statements of another release do
-- too.
CREATE TRIGGER invocations_queue_ended AFTER UPDATE ON invocations
    FOR EACH ROW WHEN (OLD.state = 'open' AND NEW.state = 'settled') EXECUTE FUNCTION queue_call_ended();
CREATE TRIGGER agent_runs_queue_ended AFTER UPDATE ON agent_runs
    FOR EACH ROW WHEN (OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL) EXECUTE FUNCTION queue_run_ended();
CREATE TRIGGER approvals_queue_requested AFTER INSERT ON approvals
    FOR EACH ROW WHEN (NEW.state = 'open') EXECUTE FUNCTION queue_approval_requested();
