-- name: BoundWaits
-- Bounds how long a write waits for a lock, and how long a worker that stops in the middle of a write keeps the lock of its session.
SELECT set_config('lock_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '5s', true);

-- name: LockSession
-- Locks the session: its writes run one after another, so that no write is lost.
INSERT INTO memory_usage (tenant_id, session) VALUES (@tenant_id, @session)
ON CONFLICT (tenant_id, session) DO UPDATE SET touched_at = now();

-- name: Locked
-- Returns the usage of the locked session, and the answer of an earlier attempt of the same call. The version is not lower than the last
-- version of a deleted session of the same name, which the row of the tenant keeps.
SELECT entries, bytes, numbered,
    greatest(version, (SELECT version FROM memory_usage t WHERE t.tenant_id = @tenant_id AND t.session = '')) AS version,
    (SELECT answer FROM memory_writes w WHERE w.tenant_id = @tenant_id AND w.session = @session AND w.key = @key AND @key <> '') AS answer
FROM memory_usage u WHERE u.tenant_id = @tenant_id AND u.session = @session;

-- name: Deactivate
-- Runs before another goal becomes active: the index memories_one_active allows one active goal, and Postgres checks it row by row.
UPDATE memories SET active = false WHERE tenant_id = @tenant_id AND session = @session AND active AND path <> @path;

-- name: Put
INSERT INTO memories (tenant_id, session, path, kind, number, title, content, status, active, version, trust, actor_id, run_id, tool_call_id, created_at, expires_at, words)
VALUES (@tenant_id, @session, @path, @kind, @number, @title, @content, @status, @active, @version, @trust, @actor_id, @run_id, @tool_call_id,
    coalesce(@created_at::timestamptz, now()), now() + make_interval(secs => @keep_seconds), to_tsvector('pg_catalog.simple', @words))
ON CONFLICT (tenant_id, session, path) DO UPDATE SET
    kind = excluded.kind, number = excluded.number, title = excluded.title, content = excluded.content, status = excluded.status, active = excluded.active,
    version = excluded.version, trust = excluded.trust, actor_id = excluded.actor_id, run_id = excluded.run_id, tool_call_id = excluded.tool_call_id,
    created_at = excluded.created_at, updated_at = now(), expires_at = excluded.expires_at, words = excluded.words
RETURNING created_at, updated_at, expires_at;

-- name: Delete
DELETE FROM memories WHERE tenant_id = @tenant_id AND session = @session AND path = @path;

-- name: DeleteSession
-- Deletes all entries of a session, also expired entries, which count for the quota until they are deleted.
WITH deleted AS (
    DELETE FROM memories WHERE tenant_id = @tenant_id AND session = @session
    RETURNING octet_length(path) + octet_length(title) + octet_length(content) AS bytes
)
SELECT count(*) AS entries, coalesce(sum(bytes), 0)::bigint AS bytes FROM deleted;

-- name: SaveAnswer
INSERT INTO memory_writes (tenant_id, session, key, answer) SELECT @tenant_id, @session, @key, @answer::json WHERE @key <> '';

-- name: CountSession
UPDATE memory_usage SET entries = entries + @entries, bytes = bytes + @bytes, numbered = greatest(numbered, @number),
    version = greatest(version, @version)
WHERE tenant_id = @tenant_id AND session = @session;

-- name: CountTenant
-- A writer takes this lock last, because writers of all sessions of a tenant share it. A write that frees space is never refused.
INSERT INTO memory_usage AS u (tenant_id, session, entries, bytes) VALUES (@tenant_id, '', @entries, @bytes)
ON CONFLICT (tenant_id, session) DO UPDATE SET entries = u.entries + excluded.entries, bytes = u.bytes + excluded.bytes, touched_at = now()
WHERE (u.entries + excluded.entries <= @most_entries OR excluded.entries <= 0) AND (u.bytes + excluded.bytes <= @most_bytes OR excluded.bytes <= 0)
RETURNING entries;

-- name: RecordDeletion
-- Records that a person has deleted an entry.
INSERT INTO events (kind, tenant_id, detail)
VALUES ('memory_deleted', @tenant_id, json_build_object('session', @session::text, 'kind', @kind::text, 'path', @path::text, 'by', @by::text));

-- name: RecordSessionDeletion
-- Records that a person has deleted all entries of a session.
INSERT INTO events (kind, tenant_id, detail)
VALUES ('memory_deleted', @tenant_id, json_build_object('session', @session::text, 'entries', @entries::bigint, 'by', @by::text));
