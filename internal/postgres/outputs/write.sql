-- name: LockCall
-- Runs first in a batch that begins an output. If a settle of the call has ended, no output begins. If a settle runs at the same time, it waits
-- for this lock, sees the output, and expires the output unless its result names it.
SELECT 1 FROM invocations WHERE invocation_id = @invocation_id::uuid FOR SHARE;

-- name: ReplaceOutput
-- Deletes the output of an earlier try, unless the call is settled and may refer to it.
WITH old AS MATERIALIZED (
    SELECT o.id, o.tenant_id, o.stored FROM outputs o JOIN invocations i USING (invocation_id)
    WHERE o.ref = @ref AND o.tenant_id = @tenant_id AND i.state = 'open'
    FOR UPDATE OF o
), freed AS (
    UPDATE output_usage u SET stored = u.stored - old.stored FROM old WHERE u.tenant_id = old.tenant_id
)
DELETE FROM outputs WHERE id IN (SELECT id FROM old);

-- name: CreateOutput
-- Begins an output, unless the call is settled.
WITH call AS (
    SELECT invocation_id, tenant_id, run_id, tool_id FROM invocations
    WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open'
), usage AS (
    INSERT INTO output_usage (tenant_id, quota) SELECT tenant_id, @quota FROM call ON CONFLICT (tenant_id) DO NOTHING
)
INSERT INTO outputs (ref, invocation_id, tenant_id, run_id, tool_id, dispatch, media_type, expires_at)
SELECT @ref, invocation_id, tenant_id, run_id, tool_id, @dispatch, @media_type, now() + make_interval(secs => @keep_seconds) FROM call
RETURNING ref;

-- name: LockOutput
-- Runs first in the batch of AppendChunk or FinishOutput of a stream. An earlier execution whose answer was lost may still run. This statement
-- waits for its end, so that the next statement sees what it has written.
SELECT 1 FROM outputs WHERE ref = @ref AND tenant_id = @tenant_id FOR NO KEY UPDATE;

-- name: AppendChunk
-- Beyond the quota, the constraint output_usage_within_quota refuses the whole statement. A repeated execution finds the chunk of the first
-- execution. A chunk has data, or an object that is still reserved. @stored counts against the quota: here if @charge is true, or else in
-- ChargeOutput.
WITH written AS (
    UPDATE outputs SET bytes = bytes + @bytes, lines = lines + @lines, stored = stored + @stored, touched_at = now()
    WHERE ref = @ref AND tenant_id = @tenant_id AND state = 'writing' AND bytes = @first_byte
        AND (@object = '' OR EXISTS (SELECT FROM output_objects WHERE key = nullif(@object, '')::uuid AND state = 'reserved' FOR UPDATE))
    RETURNING id, tenant_id
), charged AS (
    UPDATE output_usage u SET stored = u.stored + @stored, quota = @quota FROM written w WHERE @charge AND u.tenant_id = w.tenant_id
), kept AS (
    UPDATE output_objects o SET state = 'stored', output_id = w.id, changed_at = now() FROM written w
    WHERE o.key = nullif(@object, '')::uuid AND o.state = 'reserved'
    RETURNING o.key
), chunk AS (
    INSERT INTO output_chunks (output_id, first_byte, first_line, bytes, lines, ends_line, data, object)
    SELECT id, @first_byte, @first_line, @bytes, @lines, @ends_line, @data, (SELECT key FROM kept) FROM written
    RETURNING output_id
)
SELECT EXISTS (SELECT FROM chunk) OR EXISTS (
    SELECT FROM outputs o JOIN output_chunks c ON c.output_id = o.id
    WHERE o.ref = @ref AND o.tenant_id = @tenant_id AND o.state = 'writing' AND c.first_byte = @first_byte AND c.bytes = @bytes
) AS done;

-- name: ChargeOutput
-- Runs directly before FinishOutput in the batch that stores a whole value. It locks the row of the tenant, for which other writers wait, so it
-- runs after all chunks: a client that stops in the middle of a large value must not hold this lock. An output that is not being written is
-- charged already: a repeated batch finds it if the call has been settled meanwhile.
UPDATE output_usage u SET stored = u.stored + o.stored, quota = @quota FROM outputs o
WHERE o.ref = @ref AND o.tenant_id = @tenant_id AND o.state = 'writing' AND u.tenant_id = o.tenant_id;

-- name: FinishOutput
-- Makes an output complete; no other statement does this. A repeated execution finds the output complete. It cannot complete an output that
-- the settle of its call has expired.
WITH finished AS (
    UPDATE outputs SET state = 'complete', lines = lines + @last_line, sha256 = @digest, media_type = @media_type, touched_at = now()
    WHERE ref = @ref AND tenant_id = @tenant_id AND state = 'writing' AND bytes = @bytes
    RETURNING ref
)
SELECT EXISTS (SELECT FROM finished) OR EXISTS (
    SELECT FROM outputs WHERE ref = @ref AND tenant_id = @tenant_id AND state = 'complete' AND sha256 = @digest
) AS done;
