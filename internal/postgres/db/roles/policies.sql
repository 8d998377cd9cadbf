-- Row-level security: pawl_client and pawl_reader see only rows of the tenants that table role_tenants has for the user. "pawl migrate up"
-- runs this script after the migrations. The script locks a table only if a policy of the table is missing or has changed: the comment of a
-- policy is the digest of its text, so that a later release replaces a policy that it has corrected.
--
-- The permissive policy lets everybody see all rows, so that nothing changes for other roles. The restrictive policy applies to all members
-- of the two roles, also if they are members of other roles. The owner of a table is not subject to its policies.
DO $$
DECLARE
    -- own has the tenants of the user. every says whether the user may see all tenants. A statement reads both only once.
    own    constant text := 'ARRAY(SELECT t.tenant_id FROM role_tenants t WHERE t.role_name = current_user)';
    every  constant text := '(SELECT EXISTS (SELECT FROM role_tenants t WHERE t.role_name = current_user AND t.tenant_id = ''*''))';
    of_row constant text := every || ' OR tenant_id = ANY (' || own || ')';
    -- A row is visible if its call is visible under the policy of calls.
    of_call constant text := 'EXISTS (SELECT FROM invocations i WHERE i.invocation_id = %1$I.invocation_id)';
    -- The prefix in the name of a registered tool names its tenant. toolspec.TenantNamespace makes the same prefix.
    of_tool constant text := every || $p$ OR CASE
        WHEN pg_catalog.starts_with(tool_id, 'tenant-') THEN pg_catalog.split_part(tool_id, '_', 1)
        WHEN pg_catalog.starts_with(tool_id, 'mcp__tenant-') THEN pg_catalog.split_part(pg_catalog.substr(tool_id, 6), '_', 1) ELSE '' END = ANY (ARRAY(
            SELECT '' UNION ALL
            SELECT CASE WHEN t.tenant_id ~ '^[0-9A-Za-z][-0-9A-Za-z]{0,12}$' THEN 'tenant-' || t.tenant_id ELSE 'tenant--' || (
                SELECT pg_catalog.string_agg(pg_catalog.substr('abcdefghijklmnopqrstuvwxyz234567', substring(h.bits FROM 5 * n + 1 FOR 5)::bit(5)::integer + 1, 1), '' ORDER BY n)
                FROM pg_catalog.generate_series(0, 15) n, (SELECT ('x' || pg_catalog.left(pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(t.tenant_id, 'UTF8')), 'hex'), 20))::bit(80) AS bits) h
            ) END
            FROM role_tenants t WHERE t.role_name = current_user
        ))$p$;
    -- A client inserts only the texts of turns, in this month. An event of another kind would show the client results of calls, and an event of another month would delay retention.
    of_text constant text := $p$ kind IN ('text_delta', 'done') AND invocation_id IS NULL
        AND month = pg_catalog.date_trunc('month', pg_catalog.now() AT TIME ZONE 'UTC')::date $p$;
    missing record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('pawl roles'));
    FOR missing IN
        WITH tables (name, visible) AS (VALUES
            ('role_tenants', 'role_name = current_user'),
            ('invocations', of_row), ('approvals', of_row), ('leases', of_row), ('debits', of_row), ('payloads', of_row), ('outputs', of_row),
            ('runs', of_row), ('run_events', of_row), ('run_turns', of_row), ('agent_runs', of_row), ('agent_rounds', of_row),
            ('agent_messages', of_row), ('agent_summaries', of_row), ('relations', of_row), ('kill_switches', 'tenant_id = '''' OR ' || of_row),
            ('claims', of_call), ('stage_events', of_call), ('attempts', of_call), ('hydrations', of_call), ('events', of_call),
            ('decisions', 'EXISTS (SELECT FROM approvals a WHERE a.approval_id = %1$I.approval_id)'),
            ('output_chunks', 'EXISTS (SELECT FROM outputs o WHERE o.id = %1$I.output_id)'),
            ('output_objects', 'EXISTS (SELECT FROM outputs o WHERE o.id = %1$I.output_id)'),
            ('tool_specs', of_tool), ('worker_tools', of_tool)
        ), wanted (name, policy, definition) AS (
            SELECT name, 'pawl_everybody', 'USING (true)' FROM tables UNION ALL
            SELECT name, 'pawl_tenants', 'AS RESTRICTIVE TO pawl_client, pawl_reader USING (' || visible || ')' FROM tables UNION ALL
            SELECT 'run_events', 'pawl_texts', 'AS RESTRICTIVE FOR INSERT TO pawl_client WITH CHECK (' || of_text || ')'
        )
        SELECT w.name, w.policy, w.definition, pg_catalog.md5(w.definition) AS digest, c.relrowsecurity
        FROM wanted w JOIN pg_class c ON c.oid = to_regclass(w.name)
        WHERE NOT c.relrowsecurity OR NOT EXISTS (
            SELECT FROM pg_policy p WHERE p.polrelid = c.oid AND p.polname = w.policy
                AND pg_catalog.obj_description(p.oid, 'pg_policy') = pg_catalog.md5(w.definition)
        )
    LOOP
        EXECUTE format('DROP POLICY IF EXISTS %I ON %I', missing.policy, missing.name);
        EXECUTE format('CREATE POLICY %2$I ON %1$I ' || missing.definition, missing.name, missing.policy);
        EXECUTE format('COMMENT ON POLICY %I ON %I IS %L', missing.policy, missing.name, missing.digest);
        IF NOT missing.relrowsecurity THEN
            EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', missing.name);
        END IF;
    END LOOP;
END
$$;
