-- name: Settle
-- An unaccounted claim is a claim of a non-repeatable tool that the result does not mention. The
-- outcome of that attempt is unknown, and its effect may have happened. The only result that can
-- be written then is "outcome_unknown".
WITH unaccounted AS (
    SELECT c.dispatch, c.claim_id FROM claims c
    WHERE c.invocation_id = @invocation_id::uuid AND c.kind = 'claim' AND NOT c.repeatable AND @error_code <> @unknown_code
        AND NOT EXISTS (
            SELECT FROM unnest(@claims::integer[], @claim_ids::text[]) AS a (dispatch, claim_id) WHERE a.dispatch = c.dispatch AND a.claim_id = c.claim_id
        )
), settled AS (
    UPDATE invocations SET
        state = 'settled', settled_at = now(), result = @result::json, ok = @ok::boolean, error_code = nullif(@error_code, ''),
        safe_args = @safe_args::json, input_history = @input_history::json, output_history = @output_history::json, attempts = @attempts, policy_digest = @policy_digest
    WHERE invocation_id = @invocation_id::uuid AND tenant_id = @tenant_id AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id
        AND NOT EXISTS (SELECT FROM unaccounted)
    RETURNING month, workflow_id, tool_id, created_at, begun_at
), staged AS (
    INSERT INTO stage_events (month, invocation_id, seq, stage, round, attempt, outcome, by_hook, rule, at, duration_us, notes)
    SELECT s.month, @invocation_id::uuid, e.seq, e.stage, e.round, e.attempt, e.outcome, e.by_hook, e.rule, e.at, e.duration_us, e.notes::json
    FROM settled s, unnest(
        @stages::text[], @stage_rounds::integer[], @stage_attempts::integer[], @stage_outcomes::text[], @stage_bys::text[],
        @stage_rules::text[], @stage_ats::timestamptz[], @stage_durations::bigint[], @stage_notes::text[]
    ) WITH ORDINALITY AS e (stage, round, attempt, outcome, by_hook, rule, at, duration_us, notes, seq)
), tried AS (
    INSERT INTO attempts (month, invocation_id, seq, attempt, dispatch, lane, outcome, code, at, duration_us)
    SELECT s.month, @invocation_id::uuid, a.seq, a.attempt, a.dispatch, a.lane, a.outcome, a.code, a.at, a.duration_us
    FROM settled s, unnest(
        @attempt_numbers::integer[], @attempt_dispatches::integer[], @attempt_lanes::text[], @attempt_outcomes::text[],
        @attempt_codes::text[], @attempt_ats::timestamptz[], @attempt_durations::bigint[]
    ) WITH ORDINALITY AS a (attempt, dispatch, lane, outcome, code, at, duration_us, seq)
), hydrated AS (
    -- A request or an earlier run may have written some of these rows.
    INSERT INTO hydrations (month, invocation_id, at, seq, outcome, repaired, tool_id, provider_tool, tool_digest, provenance)
    SELECT s.month, @invocation_id::uuid, h.at, h.seq, h.outcome, h.repaired, h.tool_id, h.provider_tool, h.tool_digest, h.provenance::json
    FROM settled s, unnest(
        @hydration_ats::timestamptz[], @hydration_seqs::integer[], @hydration_outcomes::text[], @hydration_repaired::boolean[],
        @hydration_tools::text[], @hydration_provider_tools::text[], @hydration_digests::text[], @hydration_provenances::text[]
    ) AS h (at, seq, outcome, repaired, tool_id, provider_tool, tool_digest, provenance)
    ON CONFLICT DO NOTHING
), audited AS (
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, audit_id, seq, detail)
    SELECT s.month, e.kind, @tenant_id, @invocation_id::uuid, s.workflow_id, e.audit_id, e.seq, e.detail::json
    FROM settled s, unnest(@audit_ids::text[], @audit_kinds::text[], @audit_details::text[])
        WITH ORDINALITY AS e (audit_id, kind, detail, seq)
), new_events AS (
    -- The start event has the time of the first claim. Without a claim it lies after the last
    -- approval and before the end, also if the clock of the attempt differs.
    INSERT INTO events (month, kind, tenant_id, invocation_id, workflow_id, seq, at, detail)
    SELECT month, 'tool_call_start', @tenant_id, @invocation_id::uuid, workflow_id, 0, CASE
        WHEN begun_at IS NOT NULL THEN begun_at
        WHEN @began_at::timestamptz IS NULL THEN now()
        ELSE least(now(), greatest(@began_at::timestamptz, created_at, (
            SELECT max(decided_at) FROM approvals WHERE invocation_id = @invocation_id::uuid AND parked = ''
        )))
    END, json_build_object('args', @args_valid::boolean)
    FROM settled
    UNION ALL
    SELECT month, 'tool_call_result', @tenant_id, @invocation_id::uuid, workflow_id, cardinality(@audit_ids::text[]) + 1, now(), NULL
    FROM settled
), closed AS (
    UPDATE approvals SET state = CASE WHEN expires_at <= now() THEN 'expired' ELSE 'closed' END
    WHERE invocation_id = @invocation_id::uuid AND state = 'open' AND EXISTS (SELECT FROM settled)
    RETURNING approval_id, state
), noticed AS (
    INSERT INTO notices (approval_id, kind) SELECT approval_id, state FROM closed ON CONFLICT DO NOTHING
), forgotten AS (
    UPDATE claims SET answer = NULL, subject = NULL
    WHERE invocation_id = @invocation_id::uuid AND answer IS NOT NULL AND EXISTS (SELECT FROM settled)
), unnamed AS (
    -- Expires outputs that neither the result nor the kept value names: values of attempts and stages that later values replaced. strpos
    -- searches the whole text, because ->> fails on a string with \u0000.
    UPDATE outputs SET state = 'expired', expires_at = least(expires_at, now()), touched_at = now()
    WHERE invocation_id = @invocation_id::uuid AND state <> 'expired' AND EXISTS (SELECT FROM settled)
        AND strpos(concat(@result::json, @cache_value::json), ref) = 0
), kept AS (
    -- An older call does not replace the value of a younger call.
    INSERT INTO result_cache AS c (tenant_id, key, tool_id, value, tags, invocation_id, made_at, expires_at)
    SELECT @tenant_id, @cache_key, tool_id, @cache_value::json, @cache_tags::text[], @invocation_id::uuid, created_at, now() + @cache_for::interval
    FROM settled WHERE @cache_key <> ''
    ON CONFLICT (tenant_id, key) DO UPDATE
        SET tool_id = excluded.tool_id, value = excluded.value, tags = excluded.tags, invocation_id = excluded.invocation_id,
            made_at = excluded.made_at, created_at = excluded.created_at, expires_at = excluded.expires_at
        WHERE excluded.made_at >= c.made_at OR c.expires_at <= now()
)
-- The outer query sees the row as it was before the update.
SELECT
    CASE
        WHEN EXISTS (SELECT FROM settled) THEN 'done'
        WHEN i.state = 'settled' THEN 'settled'
        WHEN i.epoch = @epoch AND i.temporal_run_id = @temporal_run_id THEN 'unaccounted'
        ELSE 'superseded'
    END AS outcome,
    i.result, (SELECT json_agg(json_build_object('dispatch', dispatch, 'id', claim_id) ORDER BY dispatch) FROM unaccounted) AS unaccounted
FROM (SELECT) one LEFT JOIN invocations i ON i.invocation_id = @invocation_id::uuid AND i.tenant_id = @tenant_id;
