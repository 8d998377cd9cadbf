-- The privileges of the roles. "pawl migrate up" runs this script after the migrations, in one transaction. The script first revokes all
-- privileges of the roles, so that they have only the privileges that it grants.
DO $$
DECLARE
    owned regclass;
    partition regclass;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('pawl roles')); -- Postgres refuses two grants on a table at the same time.
    FOR owned IN SELECT c.oid::regclass FROM pg_class c
        WHERE c.relkind IN ('r', 'p') AND c.relnamespace = current_schema()::regnamespace AND pg_has_role(c.relowner, 'USAGE')
    LOOP
        EXECUTE format('REVOKE ALL ON %s FROM pawl_worker, pawl_client, pawl_reader', owned);
    END LOOP;
    -- The search for secrets reads each partition by its name. All other statements go through the parent and need its privileges only.
    FOR partition IN SELECT h.inhrelid::regclass FROM pg_inherits h JOIN pg_class p ON p.oid = h.inhparent
        WHERE p.relkind = 'p' AND p.relnamespace = current_schema()::regnamespace AND pg_has_role(p.relowner, 'USAGE')
    LOOP
        EXECUTE format('GRANT SELECT ON %s TO pawl_worker', partition);
    END LOOP;
END
$$;

-- pawl_worker gets the privileges that the statements of workers and of the command line need. It owns no table.
GRANT SELECT ON goose_db_version, payloads, role_tenants TO pawl_worker;
GRANT SELECT, UPDATE ON audit_turn, policy_active, policy_shadow TO pawl_worker;
GRANT SELECT, INSERT ON agents, agent_summaries, attempts, claims, decisions, events, hydrations, policies, policy_activations, run_events, stage_events, triggers TO pawl_worker;
GRANT SELECT, INSERT, UPDATE ON
    agent_active, agent_messages, agent_rounds, approval_grants, approvals, approver_keys, connection_grants, connections, database_origin,
    kill_switches, notice_deliveries, notifiers, output_usage, run_turns, submitter_keys, tool_registrations, trigger_active
TO pawl_worker;
GRANT UPDATE (answer, subject) ON claims TO pawl_worker;
GRANT SELECT, INSERT, DELETE ON audit_heads, audit_pending, audit_seals, debits, output_chunks, worker_keys TO pawl_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON
    agent_runs, cache_tags, connection_secrets, endings, invocations, leases, memories, memory_usage, memory_writes, notices, outbox, output_objects,
    outputs, pools, quotas, rechecks, relations, result_cache, runs, semaphores, session_bindings, tool_specs, trigger_events, trigger_queue, worker_tools, workers
TO pawl_worker;
GRANT SELECT, DELETE ON attempts_default, events_default, hydrations_default, payloads_default, run_events_default, stage_events_default TO pawl_worker;
GRANT USAGE ON SEQUENCE lease_tickets TO pawl_worker;
GRANT EXECUTE ON FUNCTION ensure_partitions(text, integer), drop_partition(text) TO pawl_worker;

-- pawl_reader may read the record of calls and of runs, for people and reports. It may not read the arguments as a model wrote them, because they are not masked.
GRANT SELECT ON
    goose_db_version, role_tenants,
    invocations, approvals, decisions, stage_events, attempts, events, hydrations, leases, debits,
    payloads, outputs, output_chunks, output_objects, runs, run_events, run_turns, agent_messages
TO pawl_reader, pawl_client;
-- The input of a run of an agent is left out: it has the proof of the submitter, and arguments and results that nobody has masked. The column shown has the rest of it.
GRANT SELECT (
    tenant_id, run_id, namespace, input_digest, agent, version, document, shown, prompt_hash, trimmed_to, context_from, rounds, calls, input_tokens, cache_read_tokens,
    cache_write_tokens, output_tokens, micro_usd, unpriced, opened_at, ended_at, result, parent_run_id, parent_call_id, token_limit, micro_usd_limit, answer
) ON agent_runs TO pawl_reader, pawl_client;
-- The columns with kept answers are left out, because hooks have not redacted these answers yet.
GRANT SELECT (invocation_id, dispatch, kind, epoch, approval_id, at, repeatable, claim_id, over_at) ON claims TO pawl_reader, pawl_client;
GRANT SELECT (
    tenant_id, run_id, round, format, model, calls_planned, calls, bytes, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens,
    micro_usd, asked_at, answered_at
) ON agent_rounds TO pawl_reader;
GRANT SELECT (
    tenant_id, run_id, before_round, format, model, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, micro_usd, written_at
) ON agent_summaries TO pawl_reader, pawl_client;

-- pawl_client gets the privileges that package client/postgres needs: beside the record, it reads catalogs and writes the texts of turns.
GRANT SELECT ON agent_rounds, policies, policy_active, tool_specs, worker_tools, relations, kill_switches TO pawl_client;
GRANT SELECT (worker_id, namespace, pool, started_at, seen_at) ON workers TO pawl_client;
GRANT INSERT, UPDATE ON runs, run_turns TO pawl_client;
GRANT INSERT ON run_events TO pawl_client;
