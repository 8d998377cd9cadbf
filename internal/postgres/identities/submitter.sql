-- name: SubmitterKey
-- fresh says that the proof was valid when the call was admitted: a call whose workflow is reset verifies its proof again later. A run of an
-- agent may wait for people for longer than its proof is valid. So fresh is also true, until the time limit of the run, for a call of the tool
-- that the model of the run has planned, or the model of an agent that the run has started. The run must have begun with this proof while the proof
-- was valid. Rounds that a fork has copied do not count, because the fork makes none of their calls.
SELECT coalesce(k.public_key, ''::bytea) AS public_key, k.key_id IS NOT NULL AND k.revoked_at IS NULL AS active,
    @expires_at::timestamptz > i.created_at OR EXISTS (
        SELECT FROM agent_runs a
        JOIN agent_runs p ON p.tenant_id = a.tenant_id AND (p.run_id = a.run_id OR p.parent_run_id = a.run_id)
        JOIN agent_rounds o ON o.tenant_id = p.tenant_id AND o.run_id = p.run_id
        CROSS JOIN json_array_elements(o.plan -> 'calls') c
        WHERE a.tenant_id = i.tenant_id AND a.run_id = i.run_id AND a.ended_at IS NULL AND a.opened_at < @expires_at::timestamptz
            AND i.created_at < a.opened_at + make_interval(secs => (a.document -> 'limits' ->> 'seconds')::integer)
            -- The id ends with r and the number of the round: only the plan of this round is read, for plans may be large.
            AND o.round = substring(i.tool_call_id FROM 'r([0-9]{1,9})-[0-9]+$')::integer
            AND o.round > coalesce((p.input -> 'fork' ->> 'rounds')::integer, 0)
            AND a.input ->> 'submitterProof' = @proof AND c -> 'call' ->> 'toolCallId' = i.tool_call_id AND c -> 'call' ->> 'toolId' = i.tool_id
    ) AS fresh
FROM invocations i LEFT JOIN submitter_keys k ON k.tenant_id = @tenant_id AND k.key_id = @key_id
WHERE i.invocation_id = @invocation_id::uuid AND i.tenant_id = @tenant_id;

-- name: SubmitterKeyNow
-- Returns the key for a caller whose call is not recorded. fresh says that the proof is valid now.
SELECT public_key, revoked_at IS NULL AS active, @expires_at::timestamptz > now() AS fresh FROM submitter_keys WHERE tenant_id = @tenant_id AND key_id = @key_id;

-- name: SubmitterTrusted
SELECT EXISTS (SELECT FROM submitter_keys WHERE tenant_id = @tenant_id AND key_id = @key_id AND revoked_at IS NULL) AS trusted;

-- name: AddSubmitter
-- A revoked key stays revoked.
WITH added AS (
    INSERT INTO submitter_keys (tenant_id, key_id, name, public_key, added_by)
    VALUES (@tenant_id, @key_id, @name, @public_key::bytea, @added_by)
    ON CONFLICT (tenant_id, key_id) DO NOTHING
    RETURNING key_id
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'submitter_added', @tenant_id, json_build_object('keyId', key_id, 'name', @name::text, 'by', @added_by::text) FROM added
)
SELECT EXISTS (SELECT FROM added) AS added;

-- name: RevokeSubmitter
WITH revoked AS (
    UPDATE submitter_keys SET revoked_at = now(), revoked_by = @revoked_by
    WHERE tenant_id = @tenant_id AND key_id = @key_id AND revoked_at IS NULL
    RETURNING key_id
), audited AS (
    INSERT INTO events (kind, tenant_id, detail)
    SELECT 'submitter_revoked', @tenant_id, json_build_object('keyId', key_id, 'by', @revoked_by::text) FROM revoked
)
SELECT EXISTS (SELECT FROM revoked) AS removed;

-- name: ListSubmitters
SELECT key_id, name, added_at, added_by, revoked_at, coalesce(revoked_by, '') AS revoked_by
FROM submitter_keys WHERE tenant_id = @tenant_id ORDER BY added_at, key_id;
