-- name: Entry
-- Also returns an expired entry that upkeep has not deleted. A writer needs it, because it counts for the quota; readers ignore it.
SELECT session, path, kind, number, title, content, status, active, octet_length(content) AS bytes, version, trust, actor_id, run_id, tool_call_id,
    created_at, updated_at, expires_at, expires_at <= now() AS expired
FROM memories WHERE tenant_id = @tenant_id AND session = @session AND path = @path;

-- name: ActiveGoal
SELECT path FROM memories WHERE tenant_id = @tenant_id AND session = @session AND active AND expires_at > now();

-- name: List
SELECT session, path, kind, number, title, '' AS content, status, active, octet_length(content) AS bytes, version, trust, actor_id, run_id, tool_call_id,
    created_at, updated_at, expires_at, false AS expired
FROM memories
WHERE tenant_id = @tenant_id AND session = @session AND (path = @under OR starts_with(path, @under || '/')) AND path > @after
    AND kind <> 'reasoning' AND expires_at > now()
ORDER BY path LIMIT @most;

-- name: ListTenant
-- Lists the entries of all sessions or of one session, for people.
SELECT session, path, kind, number, title, '' AS content, status, active, octet_length(content) AS bytes, version, trust, actor_id, run_id, tool_call_id,
    created_at, updated_at, expires_at, false AS expired
FROM memories
WHERE tenant_id = @tenant_id AND (@every_session OR session = @session) AND (path = @under OR starts_with(path, @under || '/'))
    AND expires_at > now()
ORDER BY updated_at DESC, session, path LIMIT @most;

-- name: Search
-- The index takes a text without spaces between its words as one word. So the query also finds entries whose content contains the searched
-- text. This reads all contents of the session, whose size is bounded.
SELECT session, path, kind, number, title, '' AS content, status, active, octet_length(content) AS bytes, version, trust, actor_id, run_id, tool_call_id,
    created_at, updated_at, expires_at, false AS expired,
    CASE WHEN words @@ query THEN ts_headline('pg_catalog.simple', content, query, 'MaxFragments=2, MaxWords=25, MinWords=8, ShortWord=0, StartSel="", StopSel=""')
        ELSE substr(content, greatest(1, position(@text IN lower(content)) - 100), 300) END AS excerpt
FROM memories, websearch_to_tsquery('pg_catalog.simple', @text) AS query
WHERE tenant_id = @tenant_id AND session = @session AND kind <> 'reasoning' AND expires_at > now()
    AND (words @@ query OR position(@text IN lower(content)) > 0)
ORDER BY ts_rank(words, query) DESC, updated_at DESC, path LIMIT @most;

-- name: SearchTenant
-- Searches the entries of all sessions or of one session, for people. It uses the index only.
SELECT session, path, kind, number, title, '' AS content, status, active, octet_length(content) AS bytes, version, trust, actor_id, run_id, tool_call_id,
    created_at, updated_at, expires_at, false AS expired,
    ts_headline('pg_catalog.simple', content, query, 'MaxFragments=2, MaxWords=25, MinWords=8, ShortWord=0, StartSel="", StopSel=""') AS excerpt
FROM memories, websearch_to_tsquery('pg_catalog.simple', @text) AS query
WHERE tenant_id = @tenant_id AND (@every_session OR session = @session) AND expires_at > now() AND words @@ query
ORDER BY ts_rank(words, query) DESC, updated_at DESC, session, path LIMIT @most;

-- name: Reasoning
SELECT session, path, kind, number, title, content, status, active, octet_length(content) AS bytes, version, trust, actor_id, run_id, tool_call_id,
    created_at, updated_at, expires_at, false AS expired
FROM memories
WHERE tenant_id = @tenant_id AND session = @session AND run_id = @run_id AND kind = 'reasoning' AND number > @after AND expires_at > now()
ORDER BY number LIMIT @most;
