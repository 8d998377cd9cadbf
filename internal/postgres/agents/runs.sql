-- name: OpenAgentRun
INSERT INTO agent_runs (tenant_id, run_id, namespace, input_digest, agent, version, document, input, token_limit, micro_usd_limit)
VALUES (@tenant_id, @run_id, @namespace, @input_digest, @agent, @version, @document::json, @input::json, nullif(@token_limit::bigint, 0), nullif(@micro_usd_limit::bigint, 0))
ON CONFLICT (tenant_id, run_id) DO NOTHING;

-- name: ForkAgentRun
-- Writes a run with a copy of the conversation of another run, up to a round. A repeated statement finds the run and copies nothing. Totals
-- stay at zero, because the source has paid for the rounds. The id of a copied message has two spaces, which no id of a person can have.
WITH source AS (
    SELECT trimmed_to, context_from, rounds FROM agent_runs WHERE tenant_id = @tenant_id AND run_id = @source AND parent_run_id IS NULL
), kept AS (
    SELECT count(*) AS rounds, coalesce(sum(bytes), 0) + (
        SELECT coalesce(sum(octet_length(text)), 0) FROM agent_messages WHERE tenant_id = @tenant_id AND run_id = @source AND round <= @rounds::integer + 1
    ) AS bytes
    FROM agent_rounds
    WHERE tenant_id = @tenant_id AND run_id = @source AND round <= @rounds::integer AND (answers IS NOT NULL OR calls_planned = 0)
), summary AS (
    SELECT coalesce(max(before_round), 1) AS before_round FROM agent_summaries WHERE tenant_id = @tenant_id AND run_id = @source AND before_round <= @rounds::integer
), made AS (
    INSERT INTO agent_runs (tenant_id, run_id, namespace, input_digest, agent, version, document, input, token_limit, micro_usd_limit, rounds, trimmed_to, context_from)
    SELECT @tenant_id, @run_id, @namespace, @input_digest, @agent, @version, @document::json, @input::json, nullif(@token_limit::bigint, 0),
        nullif(@micro_usd_limit::bigint, 0), @rounds::integer,
        -- The answers of the last copied round stay whole. If requests of the source leave out all copied rounds, requests of the fork
        -- begin with the round after the last copied summary.
        greatest(least(s.trimmed_to, @rounds::integer), 1), CASE WHEN s.context_from <= @rounds::integer THEN s.context_from ELSE y.before_round END
    FROM source s, kept k, summary y WHERE k.rounds = @rounds::integer AND k.bytes <= @max_bytes
    ON CONFLICT (tenant_id, run_id) DO NOTHING RETURNING run_id
), copied AS (
    INSERT INTO agent_rounds (tenant_id, run_id, round, format, model, plan, calls_planned, calls, answers, trimmed, bytes, input_tokens, cache_read_tokens, cache_write_tokens,
        output_tokens, micro_usd, asked_at, answered_at)
    SELECT r.tenant_id, m.run_id, r.round, r.format, r.model, r.plan, r.calls_planned, r.calls, r.answers, r.trimmed, r.bytes, r.input_tokens, r.cache_read_tokens,
        r.cache_write_tokens, r.output_tokens, r.micro_usd, r.asked_at, r.answered_at
    FROM made m, agent_rounds r WHERE r.tenant_id = @tenant_id AND r.run_id = @source AND r.round <= @rounds::integer
), summarized AS (
    INSERT INTO agent_summaries (tenant_id, run_id, before_round, format, model, summary, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd, written_at)
    SELECT u.tenant_id, m.run_id, u.before_round, u.format, u.model, u.summary, u.input_tokens, u.cache_read_tokens, u.cache_write_tokens, u.output_tokens, u.micro_usd,
        u.written_at
    FROM made m, summary y, agent_summaries u WHERE u.tenant_id = @tenant_id AND u.run_id = @source AND u.before_round = y.before_round
), said AS (
    INSERT INTO agent_messages (tenant_id, run_id, message_id, said_by, text, round, said_at)
    SELECT @tenant_id, m.run_id, x.message_id, x.said_by, x.text, x.round, x.said_at
    FROM made m, (
        SELECT 1 AS part, g.seq AS n, 'kept  ' || g.seq AS message_id, g.said_by, g.text, CASE WHEN g.round <= @rounds::integer THEN g.round END AS round, g.said_at
        FROM source s, agent_messages g
        WHERE g.tenant_id = @tenant_id AND g.run_id = @source AND (
            g.round <= @rounds::integer OR
            cardinality(@texts::text[]) = 0 AND (g.round = @rounds::integer + 1 OR g.round IS NULL AND s.rounds = @rounds::integer))
        UNION ALL
        SELECT 2, t.n, 'said  ' || t.n, '', t.text, NULL, now() FROM unnest(@texts::text[]) WITH ORDINALITY AS t (text, n)
    ) x
    -- Messages get their numbers in the order of these rows.
    ORDER BY x.part, x.n
)
SELECT EXISTS (SELECT FROM source) AS found, rounds::integer AS rounds, bytes::bigint AS bytes FROM kept;

-- name: AgentRun
SELECT r.namespace, r.input_digest, r.document, r.input, r.trimmed_to, r.context_from, r.opened_at, r.result, r.rounds, r.calls, r.input_tokens, r.cache_read_tokens,
    r.cache_write_tokens, r.output_tokens, r.micro_usd, r.unpriced, coalesce(r.parent_run_id, '') AS parent_run_id,
    coalesce(r.parent_call_id, '') AS parent_call_id, coalesce(r.token_limit, 0) AS token_limit, coalesce(r.micro_usd_limit, 0) AS micro_usd_limit,
    (SELECT coalesce(max(m.seq), 0) FROM agent_messages m WHERE m.tenant_id = r.tenant_id AND m.run_id = r.run_id) AS said,
    (SELECT coalesce(max(m.seq), 0) FROM agent_messages m WHERE m.tenant_id = r.tenant_id AND m.run_id = r.run_id AND m.round IS NOT NULL) AS taken,
    coalesce(s.before_round, 0) AS summary_before, coalesce(s.summary, '') AS summary
FROM agent_runs r
LEFT JOIN LATERAL (
    SELECT before_round, summary FROM agent_summaries WHERE tenant_id = r.tenant_id AND run_id = r.run_id ORDER BY before_round DESC LIMIT 1
) s ON true
WHERE r.tenant_id = @tenant_id AND r.run_id = @run_id;

-- name: SayToAgent
-- The lock of the run makes its messages commit in the order of their numbers. Without the lock, a request to the model could have a
-- message but not an earlier message, and RecordRound would mark the earlier message as read.
WITH run AS (
    SELECT tenant_id, run_id FROM agent_runs WHERE tenant_id = @tenant_id AND run_id = @run_id AND ended_at IS NULL FOR NO KEY UPDATE
), said AS (
    INSERT INTO agent_messages (tenant_id, run_id, message_id, said_by, text) SELECT tenant_id, run_id, @message_id, @said_by, @text FROM run
    WHERE (SELECT count(*) FROM agent_messages u WHERE u.tenant_id = @tenant_id AND u.run_id = @run_id AND u.round IS NULL) < @most
    -- The update changes nothing. It returns a row that was committed after this statement began, which a SELECT in this statement cannot see.
    ON CONFLICT (tenant_id, run_id, message_id) DO UPDATE SET message_id = excluded.message_id RETURNING seq
)
SELECT coalesce((SELECT seq FROM said), (SELECT seq FROM agent_messages WHERE tenant_id = @tenant_id AND run_id = @run_id AND message_id = @message_id), 0) AS seq,
    EXISTS (SELECT FROM run) AS open;

-- name: AgentRound
SELECT round, format, model, plan, answers, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd
FROM agent_rounds WHERE tenant_id = @tenant_id AND run_id = @run_id AND round = @round;

-- name: AgentRounds
-- Reads the trimmed answers of rounds before @trimmed_to: a request to the model contains only these.
SELECT round, format, model, plan, CASE WHEN round < @trimmed_to THEN coalesce(trimmed, answers) ELSE answers END AS answers, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd
FROM agent_rounds WHERE tenant_id = @tenant_id AND run_id = @run_id AND round >= @from AND (answers IS NOT NULL OR calls_planned = 0)
ORDER BY round;

-- name: SaidToAgent
SELECT seq, coalesce(round, 0) AS round, text FROM agent_messages
WHERE tenant_id = @tenant_id AND run_id = @run_id AND (round IS NULL OR round >= @from) ORDER BY seq;

-- name: MoveContext
UPDATE agent_runs SET trimmed_to = greatest(trimmed_to, @trimmed_to::integer), context_from = greatest(context_from, @from::integer)
WHERE tenant_id = @tenant_id AND run_id = @run_id;

-- name: RecordSummary
-- Writes a summary once, moves context_from behind the rounds that it summarizes, and adds its usage
-- to the totals.
WITH made AS (
    INSERT INTO agent_summaries (tenant_id, run_id, before_round, format, model, summary, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd)
    SELECT tenant_id, run_id, @before::integer, @format, @model, @summary, @input_tokens::bigint, @cache_read_tokens::bigint, @cache_write_tokens::bigint, @output_tokens::bigint,
        @micro_usd::bigint
    -- The same lock as in RecordRound.
    FROM agent_runs WHERE tenant_id = @tenant_id AND run_id = @run_id AND ended_at IS NULL AND context_from < @before::integer FOR NO KEY UPDATE
    ON CONFLICT (tenant_id, run_id, before_round) DO NOTHING RETURNING before_round
)
UPDATE agent_runs SET trimmed_to = greatest(trimmed_to, @trimmed_to::integer), context_from = greatest(context_from, @before::integer),
    input_tokens = input_tokens + @input_tokens::bigint, cache_read_tokens = cache_read_tokens + @cache_read_tokens::bigint,
    cache_write_tokens = cache_write_tokens + @cache_write_tokens::bigint, output_tokens = output_tokens + @output_tokens::bigint,
    micro_usd = micro_usd + coalesce(@micro_usd::bigint, 0), unpriced = unpriced + CASE WHEN @micro_usd::bigint IS NULL THEN 1 ELSE 0 END
WHERE tenant_id = @tenant_id AND run_id = @run_id AND EXISTS (SELECT FROM made);

-- name: RecordRound
-- Writes the response of a round once. If the round is written already, the statement changes nothing, also no messages.
WITH made AS (
    INSERT INTO agent_rounds (tenant_id, run_id, round, format, model, plan, calls_planned, calls, bytes, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd)
    SELECT tenant_id, run_id, @round::integer, @format, @model, @plan::json, @calls_planned::integer, @calls::integer, octet_length(@plan::text), @input_tokens::bigint,
        @cache_read_tokens::bigint, @cache_write_tokens::bigint, @output_tokens::bigint, @micro_usd::bigint
    -- The lock waits for a transaction that ends the run: usage that is added after the end would not count for the parent.
    FROM agent_runs WHERE tenant_id = @tenant_id AND run_id = @run_id AND ended_at IS NULL AND rounds + 1 = @round::integer FOR NO KEY UPDATE
    ON CONFLICT (tenant_id, run_id, round) DO NOTHING RETURNING round
), read AS (
    UPDATE agent_messages m SET round = made.round FROM made
    WHERE m.tenant_id = @tenant_id AND m.run_id = @run_id AND m.round IS NULL AND m.seq <= @taken::bigint
)
UPDATE agent_runs SET prompt_hash = @prompt_hash, rounds = rounds + 1, calls = calls + @calls::integer, input_tokens = input_tokens + @input_tokens::bigint,
    cache_read_tokens = cache_read_tokens + @cache_read_tokens::bigint, cache_write_tokens = cache_write_tokens + @cache_write_tokens::bigint,
    output_tokens = output_tokens + @output_tokens::bigint, micro_usd = micro_usd + coalesce(@micro_usd::bigint, 0),
    unpriced = unpriced + CASE WHEN @micro_usd::bigint IS NULL THEN 1 ELSE 0 END
WHERE tenant_id = @tenant_id AND run_id = @run_id AND EXISTS (SELECT FROM made);

-- name: AddUsage
UPDATE agent_runs SET input_tokens = input_tokens + @input_tokens::bigint, cache_read_tokens = cache_read_tokens + @cache_read_tokens::bigint,
    cache_write_tokens = cache_write_tokens + @cache_write_tokens::bigint, output_tokens = output_tokens + @output_tokens::bigint,
    micro_usd = micro_usd + coalesce(@micro_usd::bigint, 0), unpriced = unpriced + CASE WHEN @micro_usd::bigint IS NULL THEN 1 ELSE 0 END
-- The totals of a run that has ended are final: its result and the totals of its parent have them.
WHERE tenant_id = @tenant_id AND run_id = @run_id AND ended_at IS NULL;

-- name: RecordAnswers
UPDATE agent_rounds SET answers = @answers::json, trimmed = @trimmed::json, answered_at = now(), bytes = bytes + octet_length(@answers::text) + coalesce(octet_length(@trimmed::text), 0)
WHERE tenant_id = @tenant_id AND run_id = @run_id AND round = @round AND answers IS NULL;

-- name: CloseAgentRun
-- Ends a run once. The usage of a run with a parent is added to the usage of the parent. StartChild no longer counts the reservation of an ended run.
WITH closed AS (
    UPDATE agent_runs SET ended_at = now(), result = @result::json, answer = CASE WHEN parent_run_id IS NULL THEN NULL ELSE @answer END
    WHERE tenant_id = @tenant_id AND run_id = @run_id AND ended_at IS NULL
    RETURNING tenant_id, parent_run_id, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd, unpriced
)
UPDATE agent_runs p SET input_tokens = p.input_tokens + c.input_tokens, cache_read_tokens = p.cache_read_tokens + c.cache_read_tokens,
    cache_write_tokens = p.cache_write_tokens + c.cache_write_tokens, output_tokens = p.output_tokens + c.output_tokens,
    micro_usd = p.micro_usd + c.micro_usd, unpriced = p.unpriced + c.unpriced
FROM closed c WHERE p.tenant_id = c.tenant_id AND p.run_id = c.parent_run_id;

-- name: OpenAgentRuns
-- Returns a page of open runs for the sweeper, newest first. Leaves out runs without a namespace, because the sweeper cannot find their workflows.
SELECT r.tenant_id, r.run_id, coalesce(r.parent_run_id, '') AS parent_run_id, r.opened_at,
    r.opened_at + make_interval(secs => coalesce((r.document -> 'limits' ->> 'seconds')::integer, 0)) < now() AS is_late,
    EXISTS (SELECT FROM agent_runs c WHERE c.tenant_id = r.tenant_id AND c.parent_run_id = r.run_id AND c.ended_at IS NULL) AS has_children
FROM agent_runs r
WHERE r.namespace = @namespace AND r.namespace <> '' AND r.ended_at IS NULL
    AND (@before::timestamptz IS NULL OR (r.opened_at, r.tenant_id, r.run_id) < (@before::timestamptz, @before_tenant, @before_run))
ORDER BY r.opened_at DESC, r.tenant_id DESC, r.run_id DESC
LIMIT @max;

-- name: DeleteExpiredAgentRuns
-- A run without a recorded end counts as ended when its time limit is over: its workflow is closed by then.
DELETE FROM agent_runs WHERE ctid = ANY (ARRAY (
    SELECT r.ctid FROM agent_runs r
    WHERE r.opened_at < now() - make_interval(days => @days::integer)
        AND coalesce(r.ended_at, r.opened_at + make_interval(secs => (r.document -> 'limits' ->> 'seconds')::integer)) < now() - make_interval(days => @days::integer)
    ORDER BY r.opened_at LIMIT @batch FOR UPDATE SKIP LOCKED
));
