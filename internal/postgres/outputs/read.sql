-- name: Describe
SELECT o.id, o.ref, o.tenant_id, o.run_id, o.invocation_id::text, o.tool_id, i.actor_id, coalesce(i.subject_id, '') AS subject_id,
    o.media_type, o.bytes, o.lines, o.state, o.sha256, o.created_at, o.expires_at, o.state = 'expired' OR o.expires_at <= now() AS expired
FROM outputs o JOIN invocations i USING (invocation_id)
WHERE o.ref = @ref AND o.tenant_id = @tenant_id;

-- name: EachOutput
SELECT o.id, o.ref, o.tenant_id, o.run_id, o.invocation_id::text, o.tool_id, i.actor_id, coalesce(i.subject_id, '') AS subject_id,
    o.media_type, o.bytes, o.lines, o.state, o.sha256, o.created_at, o.expires_at, false AS expired
FROM outputs o JOIN invocations i USING (invocation_id)
WHERE o.id > @after AND o.state <> 'expired' AND o.expires_at > now() ORDER BY o.id LIMIT @most;

-- name: ChunkOfByte
SELECT first_byte, first_byte + bytes > @position AS here
FROM output_chunks WHERE output_id = @output_id AND first_byte <= @position
ORDER BY first_byte DESC LIMIT 1;

-- name: ChunkOfLine
-- The newline before a line is in the chunk that this statement finds. If the newline ends the chunk, the
-- line begins with the next chunk.
SELECT CASE WHEN first_line + lines = @position AND ends_line THEN first_byte + bytes ELSE first_byte END AS first_byte,
    first_line + lines >= @position AS here
FROM output_chunks WHERE output_id = @output_id AND first_line < @position
ORDER BY first_line DESC, first_byte DESC LIMIT 1;

-- name: Chunks
SELECT c.first_byte, c.first_line, c.bytes, c.data, coalesce(o.key::text, '') AS object, coalesce(o.bucket, '') AS bucket,
    coalesce(o.size, 0) AS size, o.sha256
FROM output_chunks c LEFT JOIN output_objects o ON o.key = c.object
WHERE c.output_id = @output_id AND c.first_byte >= @first_byte
ORDER BY c.first_byte LIMIT @most;

-- name: SettledValue
-- Returns the whole result, because the value is stored as it was written: the operator -> fails
-- on a string with \u0000.
SELECT run_id, tool_id, actor_id, coalesce(subject_id, '') AS subject_id, result, settled_at FROM invocations
WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'settled' AND ok;

-- name: OldValue
-- A value that an earlier release stored.
SELECT p.value, p.created_at, p.invocation_id::text, coalesce(i.run_id, '') AS run_id, coalesce(i.tool_id, '') AS tool_id,
    coalesce(i.actor_id, '') AS actor_id, coalesce(i.subject_id, '') AS subject_id
FROM payloads p LEFT JOIN invocations i USING (invocation_id)
WHERE p.ref = @ref AND p.tenant_id = @tenant_id;

-- name: AgentAnswer
-- The final text of a run that a call has started.
SELECT r.answer, r.parent_run_id, r.ended_at FROM agent_runs r
WHERE r.tenant_id = @tenant_id AND r.run_id = @run_id AND r.answer IS NOT NULL;
