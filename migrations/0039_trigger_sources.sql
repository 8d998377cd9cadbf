-- +goose Up

-- The statement that adds columns waits for the lock of a busy table, so the wait is short. Run the migration again if it fails.
SET LOCAL lock_timeout = '5s';

ALTER TABLE trigger_queue
    -- Where the event comes from. The functions of migration 38 queue events of Pawl.
    ADD source text NOT NULL DEFAULT 'pawl',
    -- The event has a token of the quota of its trigger, so its next attempts need none.
    ADD has_token boolean NOT NULL DEFAULT false;

-- The events of a trigger in the order in which they start runs.
CREATE INDEX trigger_queue_by_trigger ON trigger_queue (tenant_id, name, has_token, next_at, queued_at);

-- The versions of triggers that take the notifications of a channel.
CREATE INDEX triggers_by_channel ON triggers ((document::json #>> '{postgres,channel}')) WHERE document::json #>> '{postgres,channel}' IS NOT NULL;

-- Queues an event for a trigger, in the transaction of the caller. It returns true if the event waits for its run or has started it. It does not fail
-- because of the state of the trigger, so that an operator of Pawl cannot stop the transactions of a program: it returns false if there is no such trigger
-- with on: postgres, if it is retired, or if 10000 of its events wait. The user needs EXECUTE, and a row in role_tenants.
-- +goose StatementBegin
CREATE FUNCTION fire_trigger(of_tenant text, of_trigger text, event text, content json) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    active text;
BEGIN
    -- The current user is the owner of the function.
    IF NOT EXISTS (SELECT FROM role_tenants WHERE role_name = session_user::text AND tenant_id IN (of_tenant, '*')) THEN
        RAISE EXCEPTION 'the user % has no right to fire triggers of this tenant: its owner adds a row to role_tenants', session_user USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF coalesce(event !~ '^[!-~]+$' OR length(event) > 256 OR octet_length(content::text) > 262144, true) THEN
        RAISE EXCEPTION 'an event needs an id of 1 to 256 visible ASCII characters, and at most 262144 bytes of JSON' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT a.version INTO active
    FROM trigger_active a JOIN triggers v ON v.tenant_id = a.tenant_id AND v.name = a.name AND v.version = a.version
    WHERE a.tenant_id = of_tenant AND a.name = of_trigger AND NOT a.retired AND v.document::json ->> 'on' = 'postgres';
    IF active IS NULL THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM trigger_queue WHERE tenant_id = of_tenant AND name = of_trigger AND event_id = event)
        OR EXISTS (SELECT FROM trigger_events WHERE tenant_id = of_tenant AND name = of_trigger AND event_id = event AND run_id IS NOT NULL)
    THEN
        RETURN true;
    END IF;
    IF (SELECT count(*) FROM (SELECT FROM trigger_queue WHERE tenant_id = of_tenant AND name = of_trigger LIMIT 10000) waiting) >= 10000 THEN
        -- One row for an hour, so that no flood fills the table.
        INSERT INTO trigger_events (tenant_id, name, event_id, version, reason)
        VALUES (of_tenant, of_trigger, 'not-queued-' || to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24"Z"'), active,
            'events were not queued, because 10000 events of the trigger wait')
        ON CONFLICT DO NOTHING;
        RETURN false;
    END IF;
    -- Workers of every namespace start the run: the caller knows none.
    INSERT INTO trigger_queue (tenant_id, name, event_id, namespace, data, source) VALUES (of_tenant, of_trigger, event, '', content, 'postgres')
    ON CONFLICT DO NOTHING;
    RETURN true;
END
$$;
-- +goose StatementEnd

-- It runs as its owner, so it must not look for names where its caller can put others, and nobody may call it without a grant.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION fire_trigger(text, text, text, json) SET search_path = %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION fire_trigger(text, text, text, json) FROM PUBLIC;
