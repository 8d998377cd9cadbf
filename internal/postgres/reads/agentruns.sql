-- name: ListAgentRuns
SELECT run_id, agent, version, coalesce(shown->>'actorId', '') AS actor_id, coalesce((shown->>'stays')::boolean, false) AS stays,
    coalesce(shown->'fork'->>'runId', '') AS fork_of, coalesce((shown->'fork'->>'rounds')::integer, 0) AS fork_rounds,
    coalesce(result->>'outcome', '') AS outcome, coalesce(result->>'reason', '') AS reason,
    rounds, calls, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd, unpriced, prompt_hash,
    coalesce(document->'graph'->>'name', '') AS graph, coalesce(document->'graph'->>'version', '') AS graph_version,
    coalesce(shown->>'graphId', '') AS graph_id, coalesce(shown->>'graphRunId', '') AS graph_run_id, opened_at, ended_at
FROM agent_runs
WHERE tenant_id = @tenant_id AND (@agent::text = '' OR agent = @agent) AND (NOT @open::boolean OR ended_at IS NULL)
    AND (@before::timestamptz IS NULL OR (opened_at, run_id) < (@before, @before_id::text))
ORDER BY opened_at DESC, run_id DESC LIMIT @max;

-- name: ShowAgentRun
SELECT run_id, agent, version, coalesce(shown->>'actorId', '') AS actor_id, coalesce((shown->>'stays')::boolean, false) AS stays,
    coalesce(shown->'fork'->>'runId', '') AS fork_of, coalesce((shown->'fork'->>'rounds')::integer, 0) AS fork_rounds,
    coalesce(result->>'outcome', '') AS outcome, coalesce(result->>'reason', '') AS reason,
    rounds, calls, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd, unpriced, prompt_hash,
    coalesce(document->'graph'->>'name', '') AS graph, coalesce(document->'graph'->>'version', '') AS graph_version,
    coalesce(shown->>'graphId', '') AS graph_id, coalesce(shown->>'graphRunId', '') AS graph_run_id, opened_at, ended_at, shown->'began' AS began, result
FROM agent_runs WHERE tenant_id = @tenant_id AND run_id = @run_id;

-- name: ShowAgentRounds
-- Leaves out the arguments that the model wrote, because they are not masked.
SELECT round, format, model, coalesce(plan->>'finish', '') AS finish, coalesce(plan->>'text', '') AS text,
    input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd, asked_at, answered_at
FROM agent_rounds WHERE tenant_id = @tenant_id AND run_id = @run_id AND (@before::integer = 0 OR round < @before)
ORDER BY round DESC LIMIT @max;

-- name: ShowAgentCalls
SELECT r.round, coalesce(c.value->>'name', '') AS name, coalesce(c.value->'call'->>'toolId', '') AS tool_id,
    coalesce(c.value->'call'->>'toolCallId', '') AS tool_call_id, coalesce((c.value->'call'->>'same')::integer, -1) AS same,
    coalesce(c.value->'refused'->>'errorCode', '') AS refused
FROM agent_rounds r CROSS JOIN LATERAL json_array_elements(r.plan->'calls') WITH ORDINALITY AS c (value, n)
WHERE r.tenant_id = @tenant_id AND r.run_id = @run_id AND r.round BETWEEN @from::integer AND @to::integer
ORDER BY r.round, c.n;

-- name: ShowAgentOutcomes
SELECT invocation_id::text, coalesce(error_code, CASE WHEN ok THEN 'ok' END, '') AS outcome, safe_args
FROM invocations WHERE tenant_id = @tenant_id AND invocation_id = ANY (@ids::uuid[]);

-- name: ShowAgentSummaries
-- The texts stay in the database, as the arguments that the model wrote do.
SELECT before_round AS before, format, model, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd, written_at
FROM agent_summaries WHERE tenant_id = @tenant_id AND run_id = @run_id AND before_round BETWEEN @from::integer AND @to::integer
ORDER BY before_round;

-- name: ShowAgentMessages
SELECT coalesce(round, 0) AS round, said_by, text, said_at FROM agent_messages
WHERE tenant_id = @tenant_id AND run_id = @run_id AND (round IS NULL AND @before::integer = 0 OR round BETWEEN @from::integer AND @to::integer)
ORDER BY seq DESC LIMIT @max;
