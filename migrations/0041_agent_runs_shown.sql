-- +goose Up

-- The statement that adds the column waits for the lock of a busy table, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

-- What the roles pawl_reader and pawl_client may read of the input of a run. The input itself has the proof of the submitter, which is valid for each call of the run,
-- and it can have calls and results, which nobody has masked.
ALTER TABLE agent_runs ADD shown json;

-- A trigger, so that a run that an earlier release opens has the column too. Migration 42 fills the column of the runs that are there.
-- +goose StatementBegin
CREATE FUNCTION show_agent_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.shown := json_build_object(
        'actorId', NEW.input #>> '{context,actorId}', 'graphId', NEW.input #>> '{context,graphId}', 'graphRunId', NEW.input ->> 'graphRunId', 'stays', NEW.input -> 'stays', 'fork', NEW.input -> 'fork',
        'began', (
            SELECT json_agg(json_build_object('role', m.value ->> 'role', 'text', t.text) ORDER BY m.n)
            FROM json_array_elements(CASE json_typeof(NEW.input -> 'messages') WHEN 'array' THEN NEW.input -> 'messages' END) WITH ORDINALITY AS m (value, n)
            CROSS JOIN LATERAL (
                SELECT string_agg(p.value ->> 'text', '' ORDER BY p.n) AS text
                FROM json_array_elements(CASE json_typeof(m.value -> 'content') WHEN 'array' THEN m.value -> 'content' END) WITH ORDINALITY AS p (value, n)
                WHERE p.value ->> 'type' = 'text'
            ) t
            WHERE t.text <> ''
        ));
    RETURN NEW;
EXCEPTION WHEN data_exception THEN
    -- A text that Postgres cannot read must not keep a run from opening.
    NEW.shown := '{}';
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER agent_runs_show BEFORE INSERT OR UPDATE OF input ON agent_runs FOR EACH ROW EXECUTE FUNCTION show_agent_run();
