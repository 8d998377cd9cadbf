-- name: SessionBindings
SELECT token, factory, args, version FROM session_bindings
WHERE tenant_id = @tenant_id AND session_id = @session_id AND written_at > now() - @lives::interval
ORDER BY token;

-- name: BindSession
-- A stage that runs again writes the same binding again and keeps its version, so that workers
-- keep the instances that they have created.
INSERT INTO session_bindings AS s (tenant_id, session_id, token, factory, args, invocation_id)
SELECT @tenant_id, @session_id, b.token, b.factory, b.args::json, @invocation_id::uuid
FROM unnest(@tokens::text[], @factories::text[], @args::text[]) AS b (token, factory, args)
WHERE EXISTS (SELECT FROM invocations WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id)
ORDER BY b.token
ON CONFLICT (tenant_id, session_id, token) DO UPDATE SET
    factory = excluded.factory, args = excluded.args, invocation_id = excluded.invocation_id, written_at = now(),
    version = s.version + CASE WHEN s.factory = excluded.factory AND s.args::text = excluded.args::text THEN 0 ELSE 1 END
RETURNING token, factory, args, version;

-- name: DeleteOldSessions
DELETE FROM session_bindings WHERE ctid = ANY (ARRAY (
    SELECT ctid FROM session_bindings WHERE written_at < now() - @lives::interval LIMIT @batch FOR UPDATE SKIP LOCKED
));
