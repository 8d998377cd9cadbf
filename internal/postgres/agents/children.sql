-- name: LockParent
-- Locks the calling run: its children start one after another, so that StartChild counts the limits that earlier children have reserved.
SELECT run_id FROM agent_runs WHERE tenant_id = @tenant_id AND run_id = @run_id FOR NO KEY UPDATE;

-- name: StartChild
-- Writes the run of a call, once, and reserves its limits from the limits that the calling run has left. A calling run that has ended, or
-- that has a parent itself, cannot start a run.
WITH parent AS (
    SELECT namespace, token_limit - input_tokens - cache_read_tokens - cache_write_tokens - output_tokens AS tokens, micro_usd_limit - micro_usd AS micro_usd
    FROM agent_runs WHERE tenant_id = @tenant_id AND run_id = @run_id AND ended_at IS NULL AND parent_run_id IS NULL
), reserved AS (
    SELECT coalesce(sum(token_limit), 0) AS tokens, coalesce(sum(micro_usd_limit), 0) AS micro_usd
    FROM agent_runs WHERE tenant_id = @tenant_id AND parent_run_id = @run_id AND ended_at IS NULL
), remaining AS (
    SELECT p.namespace, (p.tokens - r.tokens)::bigint AS tokens, (p.micro_usd - r.micro_usd)::bigint AS micro_usd FROM parent p, reserved r
), made AS (
    INSERT INTO agent_runs (tenant_id, run_id, namespace, input_digest, agent, version, document, input, parent_run_id, parent_call_id, token_limit, micro_usd_limit)
    SELECT @tenant_id, @child_run_id, namespace, '', @agent, @version, @document::json, @input::json, @run_id, @call_id,
        least(nullif(@token_limit::bigint, 0), tokens), least(nullif(@micro_usd_limit::bigint, 0), micro_usd)
    FROM remaining WHERE coalesce(tokens, 1) > 0 AND coalesce(micro_usd, 1) > 0
    ON CONFLICT (tenant_id, run_id) DO NOTHING RETURNING run_id
)
SELECT EXISTS (SELECT FROM made) AS made, coalesce(tokens, 1) > 0 AS has_tokens, coalesce(micro_usd, 1) > 0 AS has_money FROM remaining;
