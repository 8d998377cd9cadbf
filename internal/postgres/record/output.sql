-- name: SaveOutput
-- A settled call keeps the output that it settled with.
INSERT INTO payloads (month, ref, invocation_id, tenant_id, dispatch, value)
SELECT month, @ref, invocation_id, tenant_id, @dispatch, @value::json
FROM invocations
WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open'
ON CONFLICT (ref, month) DO UPDATE SET value = excluded.value, created_at = excluded.created_at
RETURNING ref;

-- name: SettledValue
-- Returns the whole result, because the value is stored as it was written: the operator -> fails
-- on a string with \u0000.
SELECT result FROM invocations WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'settled' AND ok;

-- name: Output
SELECT value FROM payloads WHERE ref = @ref AND tenant_id = @tenant_id;
