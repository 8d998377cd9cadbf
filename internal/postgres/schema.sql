TABLE agent_active
    name text NOT NULL
    version text NOT NULL
    retired boolean NOT NULL DEFAULT false
    changed_by text NOT NULL
    changed_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT agent_active_pkey PRIMARY KEY (name)
    CONSTRAINT agent_active_version FOREIGN KEY (name, version) REFERENCES agents(name, version)

TABLE agent_messages
    tenant_id text NOT NULL
    run_id text NOT NULL
    seq bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    message_id text NOT NULL
    said_by text NOT NULL
    text text NOT NULL
    round integer
    said_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT agent_messages_pkey PRIMARY KEY (tenant_id, run_id, message_id)
    CONSTRAINT agent_messages_run FOREIGN KEY (tenant_id, run_id) REFERENCES agent_runs(tenant_id, run_id) ON DELETE CASCADE
    CREATE INDEX agent_messages_in_order ON public.agent_messages USING btree (tenant_id, run_id, seq) INCLUDE (round)

TABLE agent_rounds
    tenant_id text NOT NULL
    run_id text NOT NULL
    round integer NOT NULL
    format text NOT NULL
    model text NOT NULL
    plan json NOT NULL
    calls_planned integer NOT NULL
    calls integer NOT NULL
    answers json
    bytes integer NOT NULL
    input_tokens bigint NOT NULL
    cache_read_tokens bigint NOT NULL
    cache_write_tokens bigint NOT NULL
    output_tokens bigint NOT NULL
    micro_usd bigint
    asked_at timestamp with time zone NOT NULL DEFAULT now()
    answered_at timestamp with time zone
    trimmed json
    CONSTRAINT agent_rounds_pkey PRIMARY KEY (tenant_id, run_id, round)
    CONSTRAINT agent_rounds_run FOREIGN KEY (tenant_id, run_id) REFERENCES agent_runs(tenant_id, run_id) ON DELETE CASCADE

TABLE agent_runs
    tenant_id text NOT NULL
    run_id text NOT NULL
    input_digest text NOT NULL
    agent text NOT NULL
    version text NOT NULL
    document json NOT NULL
    input json NOT NULL
    prompt_hash text NOT NULL DEFAULT ''::text
    trimmed_to integer NOT NULL DEFAULT 1
    context_from integer NOT NULL DEFAULT 1
    rounds integer NOT NULL DEFAULT 0
    calls integer NOT NULL DEFAULT 0
    input_tokens bigint NOT NULL DEFAULT 0
    cache_read_tokens bigint NOT NULL DEFAULT 0
    cache_write_tokens bigint NOT NULL DEFAULT 0
    output_tokens bigint NOT NULL DEFAULT 0
    micro_usd bigint NOT NULL DEFAULT 0
    unpriced integer NOT NULL DEFAULT 0
    opened_at timestamp with time zone NOT NULL DEFAULT now()
    ended_at timestamp with time zone
    result json
    parent_run_id text
    parent_call_id text
    token_limit bigint
    micro_usd_limit bigint
    answer text
    namespace text NOT NULL DEFAULT ''::text
    shown json
    CONSTRAINT agent_runs_end CHECK ((ended_at IS NULL) = (result IS NULL))
    CONSTRAINT agent_runs_parent CHECK ((parent_run_id IS NULL) = (parent_call_id IS NULL))
    CONSTRAINT agent_runs_pkey PRIMARY KEY (tenant_id, run_id)
    CREATE INDEX agent_runs_by_age ON public.agent_runs USING btree (opened_at)
    CREATE INDEX agent_runs_of_tenant ON public.agent_runs USING btree (tenant_id, opened_at)
    CREATE INDEX agent_runs_open ON public.agent_runs USING btree (namespace, opened_at, tenant_id, run_id) WHERE (ended_at IS NULL)
    CREATE INDEX agent_runs_open_children ON public.agent_runs USING btree (tenant_id, parent_run_id) WHERE ((parent_run_id IS NOT NULL) AND (ended_at IS NULL))
    CREATE TRIGGER agent_runs_queue_ended AFTER UPDATE ON agent_runs FOR EACH ROW WHEN (old.ended_at IS NULL AND new.ended_at IS NOT NULL) EXECUTE FUNCTION queue_run_ended()
    CREATE TRIGGER agent_runs_show BEFORE INSERT OR UPDATE OF input ON agent_runs FOR EACH ROW EXECUTE FUNCTION show_agent_run()

TABLE agent_summaries
    tenant_id text NOT NULL
    run_id text NOT NULL
    before_round integer NOT NULL
    format text NOT NULL
    model text NOT NULL
    summary text NOT NULL
    input_tokens bigint NOT NULL
    cache_read_tokens bigint NOT NULL
    cache_write_tokens bigint NOT NULL
    output_tokens bigint NOT NULL
    micro_usd bigint
    written_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT agent_summaries_pkey PRIMARY KEY (tenant_id, run_id, before_round)
    CONSTRAINT agent_summaries_run FOREIGN KEY (tenant_id, run_id) REFERENCES agent_runs(tenant_id, run_id) ON DELETE CASCADE

TABLE agents
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    name text NOT NULL
    version text NOT NULL
    digest text NOT NULL
    document text NOT NULL
    applied_by text NOT NULL
    applied_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT agents_digest_of_document CHECK (digest = encode(sha256(convert_to(document, 'UTF8'::name)), 'hex'::text))
    CONSTRAINT agents_pkey PRIMARY KEY (name, version)
    CREATE INDEX agents_versions ON public.agents USING btree (name, id DESC)

TABLE approval_grants
    grant_id uuid NOT NULL DEFAULT gen_random_uuid()
    tenant_id text NOT NULL
    tool_id text NOT NULL
    granted json NOT NULL
    args_digest text
    args_match json
    actor_id text
    session_id text
    approver text NOT NULL
    approval_id text NOT NULL
    created_at timestamp with time zone NOT NULL DEFAULT now()
    expires_at timestamp with time zone NOT NULL
    revoked_at timestamp with time zone
    revoked_by text
    CONSTRAINT approval_grants_args_one_way CHECK (args_digest IS NULL OR args_match IS NULL)
    CONSTRAINT approval_grants_once UNIQUE (approval_id)
    CONSTRAINT approval_grants_pkey PRIMARY KEY (grant_id)
    CONSTRAINT approval_grants_revoked_by_somebody CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
    CREATE INDEX approval_grants_live ON public.approval_grants USING btree (tenant_id, tool_id, expires_at) WHERE (revoked_at IS NULL)

TABLE approvals
    approval_id text NOT NULL
    invocation_id uuid NOT NULL
    number integer NOT NULL
    tenant_id text NOT NULL
    digest text NOT NULL
    tool_id text NOT NULL
    effect text NOT NULL
    risk text NOT NULL
    safe_args json
    message text NOT NULL
    requested_by text NOT NULL
    edited_by text NOT NULL DEFAULT ''::text
    approvers_text text NOT NULL
    rule json NOT NULL
    granted json NOT NULL
    policy_rule text NOT NULL
    policy_digest text NOT NULL
    state text NOT NULL DEFAULT 'open'::text
    approver text
    decided_at timestamp with time zone
    consumed_dispatch integer
    expires_at timestamp with time zone NOT NULL
    created_at timestamp with time zone NOT NULL DEFAULT now()
    parked text NOT NULL DEFAULT ''::text
    votes integer NOT NULL DEFAULT 0
    on_behalf_of text NOT NULL DEFAULT ''::text
    remembered uuid
    preview json
    CONSTRAINT approvals_consumed_was_approved CHECK (consumed_dispatch IS NULL OR state = 'approved'::text)
    CONSTRAINT approvals_decided_has_approver CHECK ((state = ANY (ARRAY['approved'::text, 'denied'::text, 'edited'::text, 'withdrawn'::text, 'retried'::text, 'settled_ok'::text, 'settled_failed'::text])) = (approver IS NOT NULL) AND (approver IS NULL) = (decided_at IS NULL))
    CONSTRAINT approvals_id_is_derived CHECK (approval_id = ((invocation_id::text || '.'::text) || number::text))
    CONSTRAINT approvals_number_once UNIQUE (invocation_id, number)
    CONSTRAINT approvals_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations(invocation_id) ON DELETE CASCADE
    CONSTRAINT approvals_pkey PRIMARY KEY (approval_id)
    CONSTRAINT approvals_state_known CHECK (state = ANY (ARRAY['open'::text, 'approved'::text, 'denied'::text, 'edited'::text, 'withdrawn'::text, 'retried'::text, 'settled_ok'::text, 'settled_failed'::text, 'expired'::text, 'closed'::text]))
    CONSTRAINT approvals_state_of_kind CHECK ((state = ANY (ARRAY['open'::text, 'expired'::text, 'closed'::text])) OR (parked <> ''::text) = (state = ANY (ARRAY['retried'::text, 'settled_ok'::text, 'settled_failed'::text])))
    CREATE INDEX approvals_by_tenant ON public.approvals USING btree (tenant_id, created_at DESC)
    CREATE UNIQUE INDEX approvals_one_open ON public.approvals USING btree (invocation_id) WHERE (state = 'open'::text)
    CREATE TRIGGER approvals_queue_requested AFTER INSERT ON approvals FOR EACH ROW WHEN (new.state = 'open'::text) EXECUTE FUNCTION queue_approval_requested()
    CREATE TRIGGER approvals_run_decided AFTER UPDATE ON approvals FOR EACH ROW WHEN (old.state = 'open'::text AND new.state <> 'open'::text) EXECUTE FUNCTION write_run_approval()
    CREATE TRIGGER approvals_run_requested AFTER INSERT ON approvals FOR EACH ROW WHEN (new.state = 'open'::text) EXECUTE FUNCTION write_run_approval()

TABLE approver_keys
    tenant_id text NOT NULL
    key_id text NOT NULL
    identity text NOT NULL
    public_key bytea NOT NULL
    registered_at timestamp with time zone NOT NULL DEFAULT now()
    registered_by text NOT NULL
    revoked_at timestamp with time zone
    revoked_by text
    CONSTRAINT approver_keys_ed25519 CHECK (length(public_key) = 32)
    CONSTRAINT approver_keys_pkey PRIMARY KEY (tenant_id, key_id)
    CONSTRAINT approver_keys_revoked_by_somebody CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))

TABLE attempts PARTITION BY RANGE (month)
    month date NOT NULL
    invocation_id uuid NOT NULL
    seq integer NOT NULL
    attempt integer NOT NULL
    dispatch integer NOT NULL
    lane text NOT NULL
    outcome text NOT NULL
    code text NOT NULL
    at timestamp with time zone NOT NULL
    duration_us bigint NOT NULL
    CONSTRAINT attempts_pkey PRIMARY KEY (invocation_id, seq, month)

TABLE attempts_default PARTITION OF attempts DEFAULT

TABLE audit_heads
    tenant_id text NOT NULL
    n bigint NOT NULL
    link bytea NOT NULL
    at timestamp with time zone NOT NULL
    retention_days integer NOT NULL
    after bigint NOT NULL
    key_id text NOT NULL
    signature bytea NOT NULL
    CONSTRAINT audit_heads_forward CHECK (after >= 0 AND n > after)
    CONSTRAINT audit_heads_one_chain UNIQUE (tenant_id, after)
    CONSTRAINT audit_heads_pkey PRIMARY KEY (tenant_id, n)
    CONSTRAINT audit_heads_retention CHECK (retention_days >= 0)
    CONSTRAINT audit_heads_signed CHECK ((key_id = ''::text) = (octet_length(signature) = 0))
    CREATE INDEX audit_heads_signed_heads ON public.audit_heads USING btree (tenant_id) WHERE (key_id <> ''::text)

TABLE audit_pending
    month date NOT NULL
    event_id uuid NOT NULL

TABLE audit_seals
    tenant_id text NOT NULL
    n bigint NOT NULL
    month date NOT NULL
    event_id uuid NOT NULL
    leaf bytea NOT NULL
    link bytea NOT NULL
    CONSTRAINT audit_seals_hashes CHECK (octet_length(leaf) = 32 AND octet_length(link) = 32)
    CONSTRAINT audit_seals_number CHECK (n > 0)
    CONSTRAINT audit_seals_pkey PRIMARY KEY (tenant_id, n)

TABLE audit_turn
    one boolean NOT NULL DEFAULT true
    CONSTRAINT audit_turn_one CHECK (one)
    CONSTRAINT audit_turn_pkey PRIMARY KEY (one)

TABLE cache_tags
    tenant_id text NOT NULL
    tag text NOT NULL
    invalidated_at timestamp with time zone NOT NULL
    CONSTRAINT cache_tags_pkey PRIMARY KEY (tenant_id, tag)
    CREATE INDEX cache_tags_by_age ON public.cache_tags USING btree (invalidated_at)

TABLE claims
    invocation_id uuid NOT NULL
    dispatch integer NOT NULL
    kind text NOT NULL
    epoch integer NOT NULL
    approval_id text
    at timestamp with time zone NOT NULL DEFAULT now()
    repeatable boolean NOT NULL DEFAULT false
    claim_id text NOT NULL DEFAULT ''::text
    over_at timestamp with time zone NOT NULL DEFAULT (now() + '01:00:00'::interval)
    answer json
    subject text
    CONSTRAINT claims_dispatch_counts CHECK (dispatch >= 1)
    CONSTRAINT claims_kind_known CHECK (kind = ANY (ARRAY['claim'::text, 'tombstone'::text]))
    CONSTRAINT claims_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations(invocation_id) ON DELETE CASCADE
    CONSTRAINT claims_pkey PRIMARY KEY (invocation_id, dispatch)
    CREATE INDEX claims_with_answer ON public.claims USING btree (invocation_id) WHERE (answer IS NOT NULL)

TABLE connection_grants
    grant_id uuid NOT NULL DEFAULT gen_random_uuid()
    tenant_id text NOT NULL
    connection_id text NOT NULL
    grantee text NOT NULL
    scopes text[] NOT NULL
    expires_at timestamp with time zone
    granted_at timestamp with time zone NOT NULL DEFAULT now()
    granted_by text NOT NULL
    revoked_at timestamp with time zone
    revoked_by text
    CONSTRAINT connection_grants_of_connection FOREIGN KEY (tenant_id, connection_id) REFERENCES connections(tenant_id, connection_id) ON DELETE CASCADE
    CONSTRAINT connection_grants_pkey PRIMARY KEY (grant_id)
    CONSTRAINT connection_grants_revoked_whole CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
    CONSTRAINT connection_grants_to_somebody CHECK (grantee <> ''::text)
    CREATE UNIQUE INDEX connection_grants_live ON public.connection_grants USING btree (tenant_id, connection_id, grantee) WHERE (revoked_at IS NULL)

TABLE connection_secrets
    tenant_id text NOT NULL
    connection_id text NOT NULL
    version integer NOT NULL
    key_id bigint NOT NULL
    sealed bytea NOT NULL
    expires_at timestamp with time zone
    sealed_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT connection_secrets_of_connection FOREIGN KEY (tenant_id, connection_id) REFERENCES connections(tenant_id, connection_id) ON DELETE CASCADE
    CONSTRAINT connection_secrets_pkey PRIMARY KEY (tenant_id, connection_id, version)
    CREATE INDEX connection_secrets_by_key ON public.connection_secrets USING btree (key_id, tenant_id, connection_id)

TABLE connections
    tenant_id text NOT NULL
    connection_id text NOT NULL
    provider text NOT NULL
    settings json NOT NULL
    hosts text[] NOT NULL
    scopes text[] NOT NULL
    status text NOT NULL DEFAULT 'active'::text
    generation integer NOT NULL DEFAULT 1
    secret_version integer NOT NULL DEFAULT 1
    refresher text
    refresh_until timestamp with time zone
    refresh_fails integer NOT NULL DEFAULT 0
    refresh_after timestamp with time zone
    refreshed_at timestamp with time zone
    added_at timestamp with time zone NOT NULL DEFAULT now()
    added_by text NOT NULL
    revoked_at timestamp with time zone
    revoked_by text
    CONSTRAINT connections_counts CHECK (generation >= 1 AND secret_version >= 1)
    CONSTRAINT connections_has_hosts CHECK (cardinality(hosts) >= 1)
    CONSTRAINT connections_pkey PRIMARY KEY (tenant_id, connection_id)
    CONSTRAINT connections_revoked_whole CHECK ((status = 'revoked'::text) = (revoked_at IS NOT NULL) AND (revoked_at IS NULL) = (revoked_by IS NULL))
    CONSTRAINT connections_status_known CHECK (status = ANY (ARRAY['active'::text, 'needs_reauth'::text, 'revoked'::text]))

TABLE database_origin
    id boolean NOT NULL DEFAULT true
    system_identifier text NOT NULL
    database_oid bigint NOT NULL
    noted_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT database_origin_is_one CHECK (id)
    CONSTRAINT database_origin_pkey PRIMARY KEY (id)

TABLE debits
    invocation_id uuid NOT NULL
    tenant_id text NOT NULL
    key text NOT NULL
    round integer NOT NULL
    epoch integer NOT NULL
    cost interval NOT NULL
    ready_at timestamp with time zone NOT NULL
    CONSTRAINT debits_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations(invocation_id) ON DELETE CASCADE
    CONSTRAINT debits_pkey PRIMARY KEY (invocation_id, key)

TABLE decisions
    approval_id text NOT NULL
    decision_hash text NOT NULL
    decision text NOT NULL
    approver text NOT NULL
    reason text NOT NULL DEFAULT ''::text
    args_digest text
    remember boolean NOT NULL
    signed boolean NOT NULL
    counted boolean NOT NULL
    answer text NOT NULL DEFAULT ''::text
    at timestamp with time zone NOT NULL DEFAULT now()
    seat integer NOT NULL DEFAULT 0
    final boolean NOT NULL DEFAULT true
    key_id text
    hook_entries integer[]
    CONSTRAINT decisions_of_approval FOREIGN KEY (approval_id) REFERENCES approvals(approval_id) ON DELETE CASCADE
    CONSTRAINT decisions_pkey PRIMARY KEY (approval_id, decision_hash)
    CREATE UNIQUE INDEX decisions_one_final ON public.decisions USING btree (approval_id) WHERE (counted AND final)
    CREATE UNIQUE INDEX decisions_person_once ON public.decisions USING btree (approval_id, approver) WHERE (counted AND (decision = 'approve'::text))

TABLE endings
    invocation_id uuid NOT NULL
    namespace text NOT NULL
    done integer NOT NULL DEFAULT 0
    tries integer NOT NULL DEFAULT 0
    due_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT endings_count CHECK (done >= 0 AND tries >= 0)
    CONSTRAINT endings_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations(invocation_id) ON DELETE CASCADE
    CONSTRAINT endings_pkey PRIMARY KEY (invocation_id)
    CREATE INDEX endings_by_due ON public.endings USING btree (namespace, due_at)

TABLE events PARTITION BY RANGE (month)
    month date NOT NULL DEFAULT (date_trunc('month'::text, (now() AT TIME ZONE 'UTC'::text)))::date
    id uuid NOT NULL DEFAULT gen_random_uuid()
    at timestamp with time zone NOT NULL DEFAULT now()
    kind text NOT NULL
    tenant_id text
    invocation_id uuid
    workflow_id text
    audit_id text
    seq integer NOT NULL DEFAULT 0
    detail json
    CONSTRAINT events_pkey PRIMARY KEY (id, month)
    CREATE INDEX events_by_invocation ON ONLY public.events USING btree (invocation_id) WHERE (invocation_id IS NOT NULL)
    CREATE INDEX events_by_time ON ONLY public.events USING btree (at)
    CREATE INDEX events_by_workflow ON ONLY public.events USING btree (workflow_id) WHERE ((invocation_id IS NULL) AND (workflow_id IS NOT NULL))
    CREATE TRIGGER events_audit AFTER INSERT ON events REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION queue_for_audit()

TABLE events_default PARTITION OF events DEFAULT

TABLE hydrations PARTITION BY RANGE (month)
    month date NOT NULL
    invocation_id uuid NOT NULL
    at timestamp with time zone NOT NULL
    seq integer NOT NULL
    outcome text NOT NULL
    repaired boolean NOT NULL
    tool_id text NOT NULL
    provider_tool text NOT NULL
    tool_digest text NOT NULL
    provenance json NOT NULL
    CONSTRAINT hydrations_outcome_known CHECK (outcome = ANY (ARRAY['success'::text, 'parse'::text, 'validate'::text, 'instantiate'::text]))
    CONSTRAINT hydrations_pkey PRIMARY KEY (invocation_id, at, seq, month)
    CONSTRAINT hydrations_repaired_is_usable CHECK (NOT repaired OR outcome = 'success'::text OR outcome = 'instantiate'::text)

TABLE hydrations_default PARTITION OF hydrations DEFAULT

TABLE invocations
    invocation_id uuid NOT NULL
    month date NOT NULL DEFAULT (date_trunc('month'::text, (now() AT TIME ZONE 'UTC'::text)))::date
    tenant_id text NOT NULL
    run_id text NOT NULL
    tool_call_id text NOT NULL
    tool_id text NOT NULL
    actor_id text NOT NULL
    subject_id text
    session_id text
    request_id text
    graph_id text
    connection_id text
    workflow_id text NOT NULL
    temporal_run_id text NOT NULL
    state text NOT NULL DEFAULT 'open'::text
    epoch integer NOT NULL DEFAULT 1
    input_digest text NOT NULL
    plan json NOT NULL
    gate_round integer NOT NULL DEFAULT 0
    dispatch_round integer NOT NULL DEFAULT 0
    request_round integer NOT NULL DEFAULT 0
    policy_digest text NOT NULL DEFAULT ''::text
    result json
    ok boolean
    error_code text
    safe_args json
    attempts integer NOT NULL DEFAULT 0
    started_at timestamp with time zone NOT NULL
    settled_at timestamp with time zone
    created_at timestamp with time zone NOT NULL DEFAULT now()
    namespace text NOT NULL DEFAULT ''::text
    input_history json
    output_history json
    capacity_round integer NOT NULL DEFAULT 0
    begun_at timestamp with time zone
    CONSTRAINT invocations_capacity_counts CHECK (capacity_round >= 0)
    CONSTRAINT invocations_epoch_counts CHECK (epoch >= 1)
    CONSTRAINT invocations_id_is_identity CHECK (invocation_id = encode(set_byte(set_byte(SUBSTRING(sha256((((convert_to(tenant_id, 'UTF8'::name) || '\x00'::bytea) || convert_to(run_id, 'UTF8'::name)) || '\x00'::bytea) || convert_to(tool_call_id, 'UTF8'::name)) FROM 1 FOR 16), 6, (get_byte(sha256((((convert_to(tenant_id, 'UTF8'::name) || '\x00'::bytea) || convert_to(run_id, 'UTF8'::name)) || '\x00'::bytea) || convert_to(tool_call_id, 'UTF8'::name)), 6) & 15) | 128), 8, (get_byte(sha256((((convert_to(tenant_id, 'UTF8'::name) || '\x00'::bytea) || convert_to(run_id, 'UTF8'::name)) || '\x00'::bytea) || convert_to(tool_call_id, 'UTF8'::name)), 8) & 63) | 128), 'hex'::text)::uuid)
    CONSTRAINT invocations_month_is_first CHECK (EXTRACT(day FROM month) = 1::numeric)
    CONSTRAINT invocations_pkey PRIMARY KEY (invocation_id)
    CONSTRAINT invocations_rounds_count CHECK (gate_round >= 0 AND dispatch_round >= 0 AND request_round >= 0)
    CONSTRAINT invocations_run_result TRIGGER DEFERRABLE INITIALLY DEFERRED
    CONSTRAINT invocations_run_start TRIGGER DEFERRABLE INITIALLY DEFERRED
    CONSTRAINT invocations_settled_has_result CHECK ((state = 'settled'::text) = (result IS NOT NULL) AND (state = 'settled'::text) = (settled_at IS NOT NULL) AND (state = 'settled'::text) = (ok IS NOT NULL))
    CONSTRAINT invocations_state_known CHECK (state = ANY (ARRAY['open'::text, 'settled'::text]))
    CREATE INDEX invocations_by_call ON public.invocations USING btree (tenant_id, tool_call_id)
    CREATE INDEX invocations_by_month ON public.invocations USING btree (month, settled_at)
    CREATE INDEX invocations_by_tenant ON public.invocations USING btree (tenant_id, created_at DESC, invocation_id DESC)
    CREATE INDEX invocations_by_workflow ON public.invocations USING btree (workflow_id)
    CREATE INDEX invocations_open ON public.invocations USING btree (namespace, created_at, invocation_id) WHERE (state = 'open'::text)
    CREATE INDEX invocations_open_connection ON public.invocations USING btree (tenant_id, connection_id) WHERE ((state = 'open'::text) AND (connection_id IS NOT NULL))
    CREATE INDEX invocations_open_registered ON public.invocations USING btree (tenant_id, tool_id, created_at) WHERE ((state = 'open'::text) AND (starts_with(tool_id, 'tenant-'::text) OR starts_with(tool_id, 'mcp__tenant-'::text)))
    CREATE CONSTRAINT TRIGGER invocations_run_result AFTER UPDATE ON invocations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.state = 'open'::text AND new.state = 'settled'::text) EXECUTE FUNCTION write_run_result()
    CREATE CONSTRAINT TRIGGER invocations_run_start AFTER UPDATE ON invocations DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.begun_at IS NULL AND new.begun_at IS NOT NULL AND new.state = 'open'::text) EXECUTE FUNCTION write_run_start()
    CREATE TRIGGER invocations_queue_ended AFTER UPDATE ON invocations FOR EACH ROW WHEN (old.state = 'open'::text AND new.state = 'settled'::text) EXECUTE FUNCTION queue_call_ended()

TABLE kill_switches
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    tenant_id text NOT NULL
    tool text NOT NULL
    effect text NOT NULL
    reason text NOT NULL
    on_by text NOT NULL
    on_at timestamp with time zone NOT NULL DEFAULT now()
    off_by text
    off_at timestamp with time zone
    CONSTRAINT kill_switches_effect_known CHECK (effect = ANY (ARRAY[''::text, 'read_only'::text, 'state_change'::text, 'external_side_effect'::text]))
    CONSTRAINT kill_switches_off_whole CHECK ((off_by IS NULL) = (off_at IS NULL))
    CONSTRAINT kill_switches_pkey PRIMARY KEY (id)
    CONSTRAINT kill_switches_tool_given CHECK (tool <> ''::text)
    CREATE UNIQUE INDEX kill_switches_on ON public.kill_switches USING btree (tenant_id, tool, effect) WHERE (off_at IS NULL)

TABLE leases
    invocation_id uuid NOT NULL
    kind text NOT NULL
    tenant_id text NOT NULL
    key text NOT NULL
    state text NOT NULL
    ticket bigint NOT NULL DEFAULT nextval('lease_tickets'::regclass)
    most integer NOT NULL DEFAULT 1
    round integer NOT NULL
    epoch integer NOT NULL
    expires_at timestamp with time zone NOT NULL
    CONSTRAINT leases_kind_known CHECK (kind = ANY (ARRAY['semaphore'::text, 'single_flight'::text, 'broker'::text]))
    CONSTRAINT leases_most_counts CHECK (most >= 1)
    CONSTRAINT leases_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations(invocation_id) ON DELETE CASCADE
    CONSTRAINT leases_pkey PRIMARY KEY (invocation_id, kind, key)
    CONSTRAINT leases_state_known CHECK (state = ANY (ARRAY['held'::text, 'waiting'::text, 'lost'::text]))
    CREATE INDEX leases_by_expiry ON public.leases USING btree (expires_at)
    CREATE INDEX leases_by_key ON public.leases USING btree (kind, tenant_id, key, state, ticket)

TABLE memories
    tenant_id text NOT NULL
    session text NOT NULL
    path text NOT NULL
    kind text NOT NULL
    number bigint NOT NULL
    title text NOT NULL DEFAULT ''::text
    content text NOT NULL
    status text NOT NULL DEFAULT ''::text
    active boolean NOT NULL DEFAULT false
    version bigint NOT NULL
    trust text NOT NULL
    actor_id text NOT NULL
    run_id text NOT NULL DEFAULT ''::text
    tool_call_id text NOT NULL DEFAULT ''::text
    created_at timestamp with time zone NOT NULL DEFAULT now()
    updated_at timestamp with time zone NOT NULL DEFAULT now()
    expires_at timestamp with time zone NOT NULL
    words tsvector NOT NULL
    CONSTRAINT memories_active_is_open CHECK (NOT active OR status = 'open'::text)
    CONSTRAINT memories_pkey PRIMARY KEY (tenant_id, session, path)
    CONSTRAINT memories_trust_known CHECK (trust = ANY (ARRAY['model'::text, 'person'::text]))
    CREATE INDEX memories_expiry ON public.memories USING btree (expires_at)
    CREATE INDEX memories_words ON public.memories USING gin (words)
    CREATE UNIQUE INDEX memories_one_active ON public.memories USING btree (tenant_id, session) WHERE active

TABLE memory_usage
    tenant_id text NOT NULL
    session text NOT NULL
    entries bigint NOT NULL DEFAULT 0
    bytes bigint NOT NULL DEFAULT 0
    numbered bigint NOT NULL DEFAULT 0
    version bigint NOT NULL DEFAULT 0
    touched_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT memory_usage_pkey PRIMARY KEY (tenant_id, session)
    CREATE INDEX memory_usage_idle ON public.memory_usage USING btree (touched_at) WHERE ((entries = 0) AND (session <> ''::text))

TABLE memory_writes
    tenant_id text NOT NULL
    session text NOT NULL
    key text NOT NULL
    answer json NOT NULL
    created_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT memory_writes_pkey PRIMARY KEY (tenant_id, session, key)
    CREATE INDEX memory_writes_age ON public.memory_writes USING btree (created_at)

TABLE notice_deliveries
    notice_id text NOT NULL
    notifier text NOT NULL
    attempts integer NOT NULL DEFAULT 0
    next_at timestamp with time zone NOT NULL DEFAULT now()
    sent_at timestamp with time zone
    given_up_at timestamp with time zone
    last_error text
    CONSTRAINT notice_deliveries_end_one_way CHECK (sent_at IS NULL OR given_up_at IS NULL)
    CONSTRAINT notice_deliveries_of_notice FOREIGN KEY (notice_id) REFERENCES notices(notice_id) ON DELETE CASCADE
    CONSTRAINT notice_deliveries_pkey PRIMARY KEY (notice_id, notifier)
    CREATE INDEX notice_deliveries_due ON public.notice_deliveries USING btree (notifier, next_at) WHERE ((sent_at IS NULL) AND (given_up_at IS NULL))

TABLE notices
    approval_id text NOT NULL
    kind text NOT NULL
    number integer NOT NULL DEFAULT 0
    notice_id text NOT NULL DEFAULT (((replace(approval_id, '.'::text, '_'::text) || '_'::text) || kind) ||
CASE
    WHEN (number = 0) THEN ''::text
    ELSE ('_'::text || (number)::text)
END)
    at timestamp with time zone NOT NULL DEFAULT now()
    happened boolean NOT NULL DEFAULT true
    approver text NOT NULL DEFAULT ''::text
    decision text NOT NULL DEFAULT ''::text
    reason text NOT NULL DEFAULT ''::text
    remark text NOT NULL DEFAULT ''::text
    spread_at timestamp with time zone
    CONSTRAINT notices_kind_known CHECK (kind = ANY (ARRAY['requested'::text, 'reminded'::text, 'escalated'::text, 'voted'::text, 'decided'::text, 'expired'::text, 'closed'::text]))
    CONSTRAINT notices_number_counts CHECK (number >= 0)
    CONSTRAINT notices_of_approval FOREIGN KEY (approval_id) REFERENCES approvals(approval_id) ON DELETE CASCADE
    CONSTRAINT notices_only_time_is_waited_for CHECK (happened OR (kind = ANY (ARRAY['reminded'::text, 'escalated'::text])) AND spread_at IS NULL)
    CONSTRAINT notices_pkey PRIMARY KEY (notice_id)
    CREATE INDEX notices_by_approval ON public.notices USING btree (approval_id)
    CREATE INDEX notices_fresh ON public.notices USING btree (at) WHERE (happened AND (spread_at IS NULL))
    CREATE INDEX notices_old ON public.notices USING btree (at) WHERE happened
    CREATE INDEX notices_to_come ON public.notices USING btree (at) WHERE (NOT happened)

TABLE notifiers
    name text NOT NULL
    seen_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT notifiers_pkey PRIMARY KEY (name)

TABLE outbox
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    kind text NOT NULL
    workflow_id text NOT NULL
    signal text NOT NULL DEFAULT ''::text
    payload json
    created_at timestamp with time zone NOT NULL DEFAULT now()
    attempts integer NOT NULL DEFAULT 0
    next_at timestamp with time zone NOT NULL DEFAULT now()
    sent_at timestamp with time zone
    last_error text
    namespace text NOT NULL DEFAULT ''::text
    CONSTRAINT outbox_kind_known CHECK (kind = 'signal'::text)
    CONSTRAINT outbox_pkey PRIMARY KEY (id)
    CREATE INDEX outbox_due_by_namespace ON public.outbox USING btree (namespace, next_at) WHERE (sent_at IS NULL)
    CREATE INDEX outbox_sent ON public.outbox USING btree (sent_at) WHERE (sent_at IS NOT NULL)

TABLE output_chunks
    output_id bigint NOT NULL
    first_byte bigint NOT NULL
    first_line bigint NOT NULL
    bytes integer NOT NULL
    lines integer NOT NULL
    ends_line boolean NOT NULL
    data bytea
    object uuid
    CONSTRAINT output_chunks_have_data CHECK ((data IS NULL) <> (object IS NULL)) NOT VALID
    CONSTRAINT output_chunks_of_output FOREIGN KEY (output_id) REFERENCES outputs(id) ON DELETE CASCADE
    CONSTRAINT output_chunks_pkey PRIMARY KEY (output_id, first_byte)
    CONSTRAINT output_chunks_size CHECK (bytes > 0)
    CREATE INDEX output_chunks_by_line ON public.output_chunks USING btree (output_id, first_line, first_byte)
    CREATE TRIGGER output_chunks_object AFTER DELETE ON output_chunks FOR EACH ROW WHEN (old.object IS NOT NULL) EXECUTE FUNCTION discard_output_object()

TABLE output_objects
    key uuid NOT NULL
    bucket text NOT NULL
    state text NOT NULL DEFAULT 'reserved'::text
    output_id bigint
    size integer NOT NULL
    sha256 bytea NOT NULL
    changed_at timestamp with time zone NOT NULL DEFAULT now()
    tried_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT output_objects_pkey PRIMARY KEY (key)
    CONSTRAINT output_objects_state_known CHECK (state = ANY (ARRAY['reserved'::text, 'stored'::text, 'garbage'::text]))
    CREATE INDEX output_objects_by_output ON public.output_objects USING btree (output_id) WHERE (output_id IS NOT NULL)
    CREATE INDEX output_objects_unused ON public.output_objects USING btree (state, tried_at) WHERE (state <> 'stored'::text)

TABLE output_usage
    tenant_id text NOT NULL
    stored bigint NOT NULL DEFAULT 0
    quota bigint NOT NULL
    CONSTRAINT output_usage_pkey PRIMARY KEY (tenant_id)
    CONSTRAINT output_usage_within_quota CHECK (stored <= quota)

TABLE outputs
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    ref text NOT NULL
    invocation_id uuid NOT NULL
    tenant_id text NOT NULL
    run_id text NOT NULL
    tool_id text NOT NULL
    dispatch integer NOT NULL
    media_type text NOT NULL
    state text NOT NULL DEFAULT 'writing'::text
    bytes bigint NOT NULL DEFAULT 0
    lines bigint NOT NULL DEFAULT 0
    stored bigint NOT NULL DEFAULT 0
    sha256 text NOT NULL DEFAULT ''::text
    created_at timestamp with time zone NOT NULL DEFAULT now()
    touched_at timestamp with time zone NOT NULL DEFAULT now()
    expires_at timestamp with time zone NOT NULL
    CONSTRAINT outputs_by_ref UNIQUE (ref)
    CONSTRAINT outputs_complete_has_digest CHECK (state <> 'complete'::text OR sha256 <> ''::text)
    CONSTRAINT outputs_of_invocation FOREIGN KEY (invocation_id) REFERENCES invocations(invocation_id) ON DELETE CASCADE
    CONSTRAINT outputs_pkey PRIMARY KEY (id)
    CONSTRAINT outputs_state_known CHECK (state = ANY (ARRAY['writing'::text, 'complete'::text, 'expired'::text]))
    CREATE INDEX outputs_by_expiry ON public.outputs USING btree (expires_at) WHERE (state <> 'expired'::text)
    CREATE INDEX outputs_by_invocation ON public.outputs USING btree (invocation_id)
    CREATE INDEX outputs_expired ON public.outputs USING btree (touched_at) WHERE (state = 'expired'::text)
    CREATE INDEX outputs_reclaimable ON public.outputs USING btree (id) WHERE ((state = 'expired'::text) AND (stored > 0))
    CREATE INDEX outputs_writing ON public.outputs USING btree (touched_at) WHERE (state = 'writing'::text)

TABLE payloads PARTITION BY RANGE (month)
    month date NOT NULL
    ref text NOT NULL
    invocation_id uuid NOT NULL
    tenant_id text NOT NULL
    dispatch integer NOT NULL
    value json NOT NULL
    created_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT payloads_pkey PRIMARY KEY (ref, month)

TABLE payloads_default PARTITION OF payloads DEFAULT

TABLE policies
    digest text NOT NULL
    source text NOT NULL
    created_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT policies_digest_of_source CHECK (digest = encode(sha256(convert_to(source, 'UTF8'::name)), 'hex'::text))
    CONSTRAINT policies_pkey PRIMARY KEY (digest)

TABLE policy_activations
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    digest text NOT NULL
    before text NOT NULL
    how text NOT NULL
    activated_by text NOT NULL
    activated_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT policy_activations_how_known CHECK (how = ANY (ARRAY['apply'::text, 'rollback'::text]))
    CONSTRAINT policy_activations_pkey PRIMARY KEY (id)
    CONSTRAINT policy_activations_version FOREIGN KEY (digest) REFERENCES policies(digest)

TABLE policy_active
    id boolean NOT NULL DEFAULT true
    digest text
    activated_at timestamp with time zone
    activated_by text
    CONSTRAINT policy_active_pkey PRIMARY KEY (id)
    CONSTRAINT policy_active_singleton CHECK (id)
    CONSTRAINT policy_active_version FOREIGN KEY (digest) REFERENCES policies(digest)
    CONSTRAINT policy_active_whole CHECK ((digest IS NULL) = (activated_at IS NULL) AND (digest IS NULL) = (activated_by IS NULL))

TABLE policy_shadow
    id boolean NOT NULL DEFAULT true
    digest text
    set_by text NOT NULL DEFAULT ''::text
    set_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT policy_shadow_pkey PRIMARY KEY (id)
    CONSTRAINT policy_shadow_singleton CHECK (id)
    CONSTRAINT policy_shadow_version FOREIGN KEY (digest) REFERENCES policies(digest)

TABLE pools
    namespace text NOT NULL
    pool text NOT NULL
    seen_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT pools_pkey PRIMARY KEY (namespace, pool)
    CONSTRAINT pools_pool_length CHECK (length(pool) >= 1 AND length(pool) <= 40)

TABLE quotas
    tenant_id text NOT NULL
    key text NOT NULL
    full_at timestamp with time zone NOT NULL
    CONSTRAINT quotas_pkey PRIMARY KEY (tenant_id, key)
    CREATE INDEX quotas_full ON public.quotas USING btree (full_at)

TABLE rechecks
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    tenant_id text NOT NULL
    tool text NOT NULL
    effect text NOT NULL
    actor_id text NOT NULL
    connection_id text NOT NULL
    policy_digest text NOT NULL
    asked_at timestamp with time zone NOT NULL DEFAULT now()
    due_at timestamp with time zone NOT NULL
    CONSTRAINT rechecks_pkey PRIMARY KEY (id)

TABLE relations
    tenant_id text NOT NULL
    subject text NOT NULL
    kind text NOT NULL
    object text NOT NULL DEFAULT ''::text
    tools text NOT NULL DEFAULT ''::text
    graph_id text NOT NULL DEFAULT ''::text
    expires_at timestamp with time zone
    granted_at timestamp with time zone NOT NULL DEFAULT now()
    granted_by text NOT NULL
    CONSTRAINT relations_kind_known CHECK (kind = ANY (ARRAY['member'::text, 'execute'::text, 'delegate'::text]))
    CONSTRAINT relations_pkey PRIMARY KEY (tenant_id, subject, kind, object, tools, graph_id)
    CONSTRAINT relations_whole CHECK ((kind = 'execute'::text) = (object = ''::text) AND (kind = 'member'::text) = (tools = ''::text) AND (kind <> 'member'::text OR graph_id = ''::text) AND subject <> ''::text)

TABLE result_cache
    tenant_id text NOT NULL
    key text NOT NULL
    tool_id text NOT NULL
    value json NOT NULL
    tags text[] NOT NULL DEFAULT '{}'::text[]
    invocation_id uuid NOT NULL
    made_at timestamp with time zone NOT NULL
    created_at timestamp with time zone NOT NULL DEFAULT now()
    expires_at timestamp with time zone NOT NULL
    CONSTRAINT result_cache_pkey PRIMARY KEY (tenant_id, key)
    CREATE INDEX result_cache_by_expiry ON public.result_cache USING btree (expires_at)
    CREATE INDEX result_cache_by_tag ON public.result_cache USING gin (tags) WHERE (tags <> '{}'::text[])

TABLE role_tenants
    role_name text NOT NULL
    tenant_id text NOT NULL
    CONSTRAINT role_tenants_pkey PRIMARY KEY (role_name, tenant_id)

TABLE run_events PARTITION BY RANGE (month)
    month date NOT NULL DEFAULT (date_trunc('month'::text, (now() AT TIME ZONE 'UTC'::text)))::date
    tenant_id text NOT NULL
    run_id text NOT NULL
    seq bigint NOT NULL
    at timestamp with time zone NOT NULL
    kind text NOT NULL
    invocation_id uuid
    tool_call_id text NOT NULL DEFAULT ''::text
    tool_id text NOT NULL DEFAULT ''::text
    owner_id text NOT NULL DEFAULT ''::text
    detail json
    CONSTRAINT run_events_pkey PRIMARY KEY (tenant_id, run_id, seq, month)

TABLE run_events_default PARTITION OF run_events DEFAULT

TABLE run_turns
    tenant_id text NOT NULL
    run_id text NOT NULL
    key text NOT NULL
    written bigint NOT NULL
    done boolean NOT NULL
    CONSTRAINT run_turns_of_run FOREIGN KEY (tenant_id, run_id) REFERENCES runs(tenant_id, run_id) ON DELETE CASCADE
    CONSTRAINT run_turns_pkey PRIMARY KEY (tenant_id, run_id, key)

TABLE runs
    tenant_id text NOT NULL
    run_id text NOT NULL
    key uuid NOT NULL DEFAULT gen_random_uuid()
    last_seq bigint NOT NULL DEFAULT 0
    watched_until timestamp with time zone NOT NULL DEFAULT '-infinity'::timestamp with time zone
    calls bigint NOT NULL DEFAULT 0
    outcomes jsonb NOT NULL DEFAULT '{}'::jsonb
    attempts bigint NOT NULL DEFAULT 0
    latency_ms bigint NOT NULL DEFAULT 0
    max_latency_ms bigint NOT NULL DEFAULT 0
    approval_wait_ms bigint NOT NULL DEFAULT 0
    result_bytes bigint NOT NULL DEFAULT 0
    first_started_at timestamp with time zone
    last_ended_at timestamp with time zone
    created_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT runs_count CHECK (last_seq >= 0 AND calls >= 0)
    CONSTRAINT runs_pkey PRIMARY KEY (tenant_id, run_id)
    CREATE INDEX runs_by_age ON public.runs USING btree (created_at)

TABLE semaphores
    tenant_id text NOT NULL
    key text NOT NULL
    used_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT semaphores_pkey PRIMARY KEY (tenant_id, key)
    CREATE INDEX semaphores_used ON public.semaphores USING btree (used_at)

TABLE session_bindings
    tenant_id text NOT NULL
    session_id text NOT NULL
    token text NOT NULL
    factory text NOT NULL
    args json NOT NULL
    version bigint NOT NULL DEFAULT 1
    invocation_id uuid NOT NULL
    written_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT session_bindings_pkey PRIMARY KEY (tenant_id, session_id, token)
    CONSTRAINT session_bindings_version_counts CHECK (version >= 1)
    CREATE INDEX session_bindings_written ON public.session_bindings USING btree (written_at)

TABLE stage_events PARTITION BY RANGE (month)
    month date NOT NULL
    invocation_id uuid NOT NULL
    seq integer NOT NULL
    stage text NOT NULL
    round integer NOT NULL
    attempt integer NOT NULL
    outcome text NOT NULL
    by_hook text NOT NULL
    rule text NOT NULL
    at timestamp with time zone NOT NULL
    duration_us bigint NOT NULL
    notes json
    CONSTRAINT stage_events_pkey PRIMARY KEY (invocation_id, seq, month)

TABLE stage_events_default PARTITION OF stage_events DEFAULT

TABLE submitter_keys
    tenant_id text NOT NULL
    key_id text NOT NULL
    name text NOT NULL
    public_key bytea NOT NULL
    added_at timestamp with time zone NOT NULL DEFAULT now()
    added_by text NOT NULL
    revoked_at timestamp with time zone
    revoked_by text
    CONSTRAINT submitter_keys_id_of_key CHECK (key_id = "left"(encode(sha256(public_key), 'hex'::text), 32))
    CONSTRAINT submitter_keys_is_ed25519 CHECK (length(public_key) = 32)
    CONSTRAINT submitter_keys_pkey PRIMARY KEY (tenant_id, key_id)
    CONSTRAINT submitter_keys_revoked_whole CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))

TABLE tool_registrations
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    tenant_id text NOT NULL
    name text NOT NULL
    version integer NOT NULL
    kind text NOT NULL
    digest text NOT NULL
    address text NOT NULL
    tools text[] NOT NULL
    document text NOT NULL
    registered_by text NOT NULL
    registered_at timestamp with time zone NOT NULL DEFAULT now()
    ended_by text
    ended_at timestamp with time zone
    CONSTRAINT tool_registrations_ended CHECK ((ended_by IS NULL) = (ended_at IS NULL))
    CONSTRAINT tool_registrations_id UNIQUE (id)
    CONSTRAINT tool_registrations_kind_known CHECK (kind = ANY (ARRAY['http'::text, 'mcp'::text]))
    CONSTRAINT tool_registrations_pkey PRIMARY KEY (tenant_id, name, version)
    CREATE INDEX tool_registrations_ended ON public.tool_registrations USING btree (ended_at) WHERE (ended_at IS NOT NULL)
    CREATE INDEX tool_registrations_ended_by_tenant ON public.tool_registrations USING btree (tenant_id, ended_at DESC) WHERE (ended_at IS NOT NULL)
    CREATE UNIQUE INDEX tool_registrations_in_force ON public.tool_registrations USING btree (tenant_id, name) WHERE (ended_at IS NULL)

TABLE tool_specs
    digest text NOT NULL
    tool_id text NOT NULL
    spec json NOT NULL
    published_at timestamp with time zone NOT NULL DEFAULT now()
    seen_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT tool_specs_pkey PRIMARY KEY (tool_id, digest)

TABLE trigger_active
    tenant_id text NOT NULL
    name text NOT NULL
    version text NOT NULL
    retired boolean NOT NULL DEFAULT false
    changed_by text NOT NULL
    changed_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT trigger_active_pkey PRIMARY KEY (tenant_id, name)
    CONSTRAINT trigger_active_version FOREIGN KEY (tenant_id, name, version) REFERENCES triggers(tenant_id, name, version)

TABLE trigger_events
    tenant_id text NOT NULL
    name text NOT NULL
    event_id text NOT NULL
    version text NOT NULL
    run_id text
    reason text
    first_at timestamp with time zone NOT NULL DEFAULT now()
    last_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT trigger_events_done CHECK ((run_id IS NULL) <> (reason IS NULL))
    CONSTRAINT trigger_events_pkey PRIMARY KEY (tenant_id, name, event_id)
    CONSTRAINT trigger_events_trigger FOREIGN KEY (tenant_id, name, version) REFERENCES triggers(tenant_id, name, version)
    CREATE INDEX trigger_events_by_age ON public.trigger_events USING btree (tenant_id, name, last_at)

TABLE trigger_queue
    tenant_id text NOT NULL
    name text NOT NULL
    event_id text NOT NULL
    namespace text NOT NULL
    data json NOT NULL
    attempts integer NOT NULL DEFAULT 0
    next_at timestamp with time zone NOT NULL DEFAULT now()
    queued_at timestamp with time zone NOT NULL DEFAULT now()
    source text NOT NULL DEFAULT 'pawl'::text
    has_token boolean NOT NULL DEFAULT false
    CONSTRAINT trigger_queue_pkey PRIMARY KEY (tenant_id, name, event_id)
    CREATE INDEX trigger_queue_by_due ON public.trigger_queue USING btree (next_at)
    CREATE INDEX trigger_queue_by_trigger ON public.trigger_queue USING btree (tenant_id, name, has_token, next_at, queued_at)

TABLE triggers
    id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    tenant_id text NOT NULL
    name text NOT NULL
    version text NOT NULL
    digest text NOT NULL
    document text NOT NULL
    applied_by text NOT NULL
    applied_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT triggers_digest_of_document CHECK (digest = encode(sha256(convert_to(document, 'UTF8'::name)), 'hex'::text))
    CONSTRAINT triggers_pkey PRIMARY KEY (tenant_id, name, version)
    CONSTRAINT triggers_tenant_of_document CHECK ((document::json ->> 'tenant'::text) = tenant_id AND (document::json ->> 'name'::text) = name)
    CREATE INDEX triggers_by_channel ON public.triggers USING btree ((((document)::json #>> '{postgres,channel}'::text[]))) WHERE (((document)::json #>> '{postgres,channel}'::text[]) IS NOT NULL)
    CREATE INDEX triggers_by_own_event ON public.triggers USING btree (tenant_id, (((document)::json #>> '{pawl,event}'::text[]))) WHERE (((document)::json #>> '{pawl,event}'::text[]) IS NOT NULL)

TABLE worker_keys
    key_id bigint NOT NULL GENERATED ALWAYS AS IDENTITY
    secret bytea NOT NULL
    made_at timestamp with time zone NOT NULL DEFAULT now()
    CONSTRAINT worker_keys_pkey PRIMARY KEY (key_id)
    CONSTRAINT worker_keys_secret_length CHECK (octet_length(secret) = 32)

TABLE worker_tools
    worker_id text NOT NULL
    tool_id text NOT NULL
    digest text NOT NULL
    CONSTRAINT worker_tools_pkey PRIMARY KEY (tool_id, worker_id)
    CONSTRAINT worker_tools_spec FOREIGN KEY (tool_id, digest) REFERENCES tool_specs(tool_id, digest)
    CONSTRAINT worker_tools_worker FOREIGN KEY (worker_id) REFERENCES workers(worker_id) ON DELETE CASCADE
    CREATE INDEX worker_tools_by_worker ON public.worker_tools USING btree (worker_id)

TABLE workers
    worker_id text NOT NULL
    namespace text NOT NULL
    started_at timestamp with time zone NOT NULL DEFAULT now()
    seen_at timestamp with time zone NOT NULL DEFAULT now()
    sources json
    pool text NOT NULL DEFAULT ''::text
    CONSTRAINT workers_pkey PRIMARY KEY (worker_id)
    CONSTRAINT workers_pool_length CHECK (length(pool) <= 40)

CREATE OR REPLACE FUNCTION public.append_run_event(of_month date, tenant text, run text, event_kind text, invocation uuid, call_id text, tool text, owner text, content json)
 RETURNS bigint
 LANGUAGE plpgsql
AS $function$
DECLARE
    number bigint;
    channel_key uuid;
BEGIN
    INSERT INTO runs AS r (tenant_id, run_id, last_seq) VALUES (tenant, run, 1)
    ON CONFLICT (tenant_id, run_id) DO UPDATE SET last_seq = r.last_seq + 1
    RETURNING last_seq, CASE WHEN watched_until > now() THEN key END INTO number, channel_key;
    -- The clock is read under the lock, so that times do not decrease within a run.
    INSERT INTO run_events (month, tenant_id, run_id, seq, at, kind, invocation_id, tool_call_id, tool_id, owner_id, detail)
    VALUES (of_month, tenant, run, number, clock_timestamp(), event_kind, invocation, call_id, tool, owner, content);
    IF channel_key IS NOT NULL THEN
        PERFORM pg_notify('pawl_runs', channel_key::text);
    END IF;
    RETURN number;
END
$function$


CREATE OR REPLACE FUNCTION public.discard_output_object()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    UPDATE output_objects SET state = 'garbage', changed_at = now() WHERE key = OLD.object;
    RETURN NULL;
END
$function$


CREATE OR REPLACE FUNCTION public.drop_partition(partition text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
    of_month date := pg_catalog.to_date(substring(partition FROM '_(\d{4}_\d{2})$'), 'YYYY_MM');
BEGIN
    -- Every insert into the table queues behind this wait for the lock, so the wait is short. Only one worker drops at a time: two
    -- concurrent drops of one partition fail in Postgres with an internal error.
    PERFORM pg_catalog.set_config('lock_timeout', '200ms', true);
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('pawl partitions'));
    IF NOT EXISTS (
        SELECT FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid JOIN pg_class p ON p.oid = h.inhparent
        WHERE c.relname = partition AND p.relnamespace = pg_catalog.current_schema()::regnamespace::oid AND c.relnamespace = p.relnamespace
            AND p.relname IN ('stage_events', 'attempts', 'payloads', 'events', 'hydrations', 'run_events')
    ) THEN
        RETURN; -- Another worker has dropped it.
    END IF;
    IF of_month IS NULL OR of_month >= pg_catalog.date_trunc('month', pg_catalog.now() AT TIME ZONE 'UTC') OR EXISTS (SELECT FROM invocations WHERE month = of_month) THEN
        RAISE EXCEPTION 'the partition is of a month that is not over, or that has calls' USING ERRCODE = 'object_in_use';
    END IF;
    EXECUTE pg_catalog.format('DROP TABLE %I', partition);
END
$function$


CREATE OR REPLACE FUNCTION public.ensure_partitions(parent text, months integer)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
    first date;
    partition text;
    taken boolean;
BEGIN
    IF parent NOT IN ('stage_events', 'attempts', 'payloads', 'events', 'hydrations', 'run_events') OR months NOT BETWEEN 0 AND 24 THEN
        RAISE EXCEPTION 'no table with partitions, or not 0 to 24 months' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM pg_catalog.set_config('lock_timeout', '2s', true);
    PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('pawl partitions'));
    FOR ahead IN 0 .. months LOOP
        first := (pg_catalog.date_trunc('month', pg_catalog.now() AT TIME ZONE 'UTC') + pg_catalog.make_interval(months => ahead))::date;
        partition := parent || pg_catalog.to_char(first::timestamp, '_YYYY_MM');
        CONTINUE WHEN pg_catalog.to_regclass(partition) IS NOT NULL;
        -- Postgres refuses to create the partition of a month that has rows in DEFAULT; that month stays in DEFAULT. If the refusal is
        -- certain, the function does not ask for the lock.
        EXECUTE pg_catalog.format('SELECT EXISTS (SELECT FROM %I WHERE month = %L)', parent || '_default', first) INTO taken;
        CONTINUE WHEN taken;
        BEGIN
            EXECUTE pg_catalog.format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', partition, parent, first, (first + interval '1 month')::date);
            -- Queries go through the parent and need its privileges only. The search for secrets reads each partition by its name.
            IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'pawl_worker') THEN
                EXECUTE pg_catalog.format('GRANT SELECT ON %I TO pawl_worker', partition);
            END IF;
        EXCEPTION WHEN check_violation THEN
            NULL;
        END;
    END LOOP;
END
$function$


CREATE OR REPLACE FUNCTION public.fire_trigger(of_tenant text, of_trigger text, event text, content json)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
    active text;
BEGIN
    -- The current user is the owner of the function.
    IF NOT EXISTS (SELECT FROM role_tenants WHERE role_name = session_user::text AND tenant_id IN (of_tenant, '*')) THEN
        RAISE EXCEPTION 'the user % has no right to fire triggers of this tenant: its owner adds a row to role_tenants', session_user USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF coalesce(event !~ '^[!-~]+$' OR length(event) > 256 OR octet_length(content::text) > 262144, true) THEN
        RAISE EXCEPTION 'an event needs an id of 1 to 256 visible ASCII characters, and at most 262144 bytes of JSON' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    SELECT a.version INTO active
    FROM trigger_active a JOIN triggers v ON v.tenant_id = a.tenant_id AND v.name = a.name AND v.version = a.version
    WHERE a.tenant_id = of_tenant AND a.name = of_trigger AND NOT a.retired AND v.document::json ->> 'on' = 'postgres';
    IF active IS NULL THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM trigger_queue WHERE tenant_id = of_tenant AND name = of_trigger AND event_id = event)
        OR EXISTS (SELECT FROM trigger_events WHERE tenant_id = of_tenant AND name = of_trigger AND event_id = event AND run_id IS NOT NULL)
    THEN
        RETURN true;
    END IF;
    IF (SELECT count(*) FROM (SELECT FROM trigger_queue WHERE tenant_id = of_tenant AND name = of_trigger LIMIT 10000) waiting) >= 10000 THEN
        -- One row for an hour, so that no flood fills the table.
        INSERT INTO trigger_events (tenant_id, name, event_id, version, reason)
        VALUES (of_tenant, of_trigger, 'not-queued-' || to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24"Z"'), active,
            'events were not queued, because 10000 events of the trigger wait')
        ON CONFLICT DO NOTHING;
        RETURN false;
    END IF;
    -- Workers of every namespace start the run: the caller knows none.
    INSERT INTO trigger_queue (tenant_id, name, event_id, namespace, data, source) VALUES (of_tenant, of_trigger, event, '', content, 'postgres')
    ON CONFLICT DO NOTHING;
    RETURN true;
END
$function$


CREATE OR REPLACE FUNCTION public.queue_approval_requested()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
    call record;
BEGIN
    SELECT run_id, namespace, tool_call_id INTO STRICT call FROM invocations WHERE invocation_id = NEW.invocation_id;
    PERFORM queue_trigger_event(NEW.tenant_id, call.run_id, call.namespace, 'approval_requested', NEW.approval_id, NEW.tool_id, NULL, json_build_object(
        'event', 'approval_requested', 'at', NEW.created_at, 'approval', json_build_object(
            'id', NEW.approval_id, 'runId', call.run_id, 'toolCallId', call.tool_call_id, 'tool', NEW.tool_id, 'effect', NEW.effect, 'risk', NEW.risk,
            'requestedBy', NEW.requested_by, 'parked', NEW.parked <> '')));
    RETURN NULL;
END
$function$


CREATE OR REPLACE FUNCTION public.queue_call_ended()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
    ended text := coalesce(NEW.error_code, 'ok');
BEGIN
    PERFORM queue_trigger_event(NEW.tenant_id, NEW.run_id, NEW.namespace, 'call_ended', NEW.invocation_id::text, NEW.tool_id, ended, json_build_object(
        'event', 'call_ended', 'at', NEW.settled_at, 'call', json_build_object(
            'id', NEW.invocation_id, 'runId', NEW.run_id, 'toolCallId', NEW.tool_call_id, 'tool', NEW.tool_id, 'actor', NEW.actor_id, 'outcome', ended)));
    RETURN NULL;
END
$function$


CREATE OR REPLACE FUNCTION public.queue_for_audit()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    INSERT INTO audit_pending (month, event_id) SELECT month, id FROM added;
    RETURN NULL;
END
$function$


CREATE OR REPLACE FUNCTION public.queue_run_ended()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
DECLARE
    ended text := NEW.result ->> 'outcome';
BEGIN
    PERFORM queue_trigger_event(NEW.tenant_id, NEW.run_id, NEW.namespace, 'run_ended', NEW.run_id, NEW.agent, ended, json_build_object(
        'event', 'run_ended', 'at', NEW.ended_at, 'run', json_build_object(
            'id', NEW.run_id, 'agent', NEW.agent, 'version', NEW.version, 'actor', NEW.input #>> '{context,actorId}', 'outcome', ended,
            'rounds', NEW.rounds, 'calls', NEW.calls)));
    RETURN NULL;
END
$function$


CREATE OR REPLACE FUNCTION public.queue_trigger_event(of_tenant text, of_run text, of_namespace text, kind text, subject text, named text, ended text, content json)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
BEGIN
    -- The whole statement costs more than a look into the index, which is all that most calls need.
    IF NOT EXISTS (SELECT FROM triggers v WHERE v.tenant_id = of_tenant AND v.document::json #>> '{pawl,event}' = kind) THEN
        RETURN;
    END IF;
    INSERT INTO trigger_queue (tenant_id, name, event_id, namespace, data)
    SELECT a.tenant_id, a.name, kind || ':' || subject, of_namespace, content
    FROM triggers v JOIN trigger_active a ON a.tenant_id = v.tenant_id AND a.name = v.name AND a.version = v.version
    WHERE v.tenant_id = of_tenant AND v.document::json #>> '{pawl,event}' = kind AND NOT a.retired
        AND coalesce((v.document::json #> '{pawl,agents}')::jsonb ? named, true)
        AND coalesce((v.document::json #> '{pawl,tools}')::jsonb ? named, true)
        AND coalesce((v.document::json #> '{pawl,outcomes}')::jsonb ? ended, true)
        AND NOT EXISTS (
            WITH RECURSIVE line (run_id) AS (
                SELECT of_run
                UNION
                SELECT r.parent_run_id FROM line l JOIN agent_runs r ON r.tenant_id = of_tenant AND r.run_id = l.run_id WHERE r.parent_run_id IS NOT NULL
            )
            SELECT FROM line l WHERE starts_with(l.run_id, 'trigger-pawl-')
        )
    ON CONFLICT DO NOTHING;
END
$function$


CREATE OR REPLACE FUNCTION public.show_agent_run()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    NEW.shown := json_build_object(
        'actorId', NEW.input #>> '{context,actorId}', 'graphId', NEW.input #>> '{context,graphId}', 'graphRunId', NEW.input ->> 'graphRunId', 'stays', NEW.input -> 'stays', 'fork', NEW.input -> 'fork',
        'began', (
            SELECT json_agg(json_build_object('role', m.value ->> 'role', 'text', t.text) ORDER BY m.n)
            FROM json_array_elements(CASE json_typeof(NEW.input -> 'messages') WHEN 'array' THEN NEW.input -> 'messages' END) WITH ORDINALITY AS m (value, n)
            CROSS JOIN LATERAL (
                SELECT string_agg(p.value ->> 'text', '' ORDER BY p.n) AS text
                FROM json_array_elements(CASE json_typeof(m.value -> 'content') WHEN 'array' THEN m.value -> 'content' END) WITH ORDINALITY AS p (value, n)
                WHERE p.value ->> 'type' = 'text'
            ) t
            WHERE t.text <> ''
        ));
    RETURN NEW;
EXCEPTION WHEN data_exception THEN
    -- A text that Postgres cannot read must not keep a run from opening.
    NEW.shown := '{}';
    RETURN NEW;
END
$function$


CREATE OR REPLACE FUNCTION public.write_run_approval()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
    opens boolean := NEW.state = 'open';
    approval json := json_strip_nulls(json_build_object(
        'approvalId', NEW.approval_id, 'message', CASE WHEN opens THEN NEW.message END, 'decision', CASE WHEN NOT opens THEN NEW.state END,
        'approver', CASE WHEN NOT opens THEN NEW.approver END));
    call record;
BEGIN
    SELECT month, tenant_id, run_id, tool_call_id, tool_id INTO STRICT call FROM invocations WHERE invocation_id = NEW.invocation_id;
    PERFORM append_run_event(call.month, call.tenant_id, call.run_id, CASE WHEN opens THEN 'approval_requested' ELSE 'approval_decided' END, NEW.invocation_id,
        call.tool_call_id, call.tool_id, '',
        CASE WHEN opens AND NEW.safe_args IS NOT NULL THEN json_build_object('approval', approval, 'args', NEW.safe_args) ELSE json_build_object('approval', approval) END);
    IF NOT opens THEN
        UPDATE runs SET approval_wait_ms = approval_wait_ms + greatest(0, floor(extract(epoch FROM now() - NEW.created_at) * 1000))::bigint
        WHERE tenant_id = call.tenant_id AND run_id = call.run_id;
    END IF;
    RETURN NULL;
END
$function$


CREATE OR REPLACE FUNCTION public.write_run_result()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
DECLARE
    number bigint;
    channel_key uuid;
    added integer := CASE WHEN NEW.begun_at IS NULL THEN 2 ELSE 1 END;
    outcome text := coalesce(NEW.error_code, 'ok');
    took bigint := greatest(0, floor(extract(epoch FROM NEW.settled_at - NEW.created_at) * 1000));
BEGIN
    INSERT INTO runs AS r (tenant_id, run_id, last_seq, calls, outcomes, attempts, latency_ms, max_latency_ms, result_bytes, first_started_at, last_ended_at)
    VALUES (NEW.tenant_id, NEW.run_id, added, 1, jsonb_build_object(outcome, 1), NEW.attempts, took, took, octet_length(NEW.result::text),
        NEW.created_at, NEW.settled_at)
    ON CONFLICT (tenant_id, run_id) DO UPDATE SET
        last_seq = r.last_seq + added, calls = r.calls + 1, attempts = r.attempts + excluded.attempts,
        outcomes = jsonb_set(r.outcomes, ARRAY[outcome], to_jsonb(coalesce((r.outcomes ->> outcome)::bigint, 0) + 1)),
        latency_ms = r.latency_ms + took, max_latency_ms = greatest(r.max_latency_ms, took), result_bytes = r.result_bytes + excluded.result_bytes,
        first_started_at = least(r.first_started_at, excluded.first_started_at), last_ended_at = greatest(r.last_ended_at, excluded.last_ended_at)
    RETURNING last_seq, CASE WHEN watched_until > now() THEN key END INTO number, channel_key;
    IF NEW.begun_at IS NULL THEN
        INSERT INTO run_events (month, tenant_id, run_id, seq, at, kind, invocation_id, tool_call_id, tool_id, detail)
        VALUES (NEW.month, NEW.tenant_id, NEW.run_id, number - 1, clock_timestamp(), 'tool_call_start', NEW.invocation_id, NEW.tool_call_id, NEW.tool_id, NEW.safe_args);
    END IF;
    INSERT INTO run_events (month, tenant_id, run_id, seq, at, kind, invocation_id, tool_call_id, tool_id)
    VALUES (NEW.month, NEW.tenant_id, NEW.run_id, number, clock_timestamp(), 'tool_call_result', NEW.invocation_id, NEW.tool_call_id, NEW.tool_id);
    IF channel_key IS NOT NULL THEN
        PERFORM pg_notify('pawl_runs', channel_key::text);
    END IF;
    RETURN NULL;
END
$function$


CREATE OR REPLACE FUNCTION public.write_run_start()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    PERFORM append_run_event(NEW.month, NEW.tenant_id, NEW.run_id, 'tool_call_start', NEW.invocation_id, NEW.tool_call_id, NEW.tool_id, '', NEW.safe_args);
    RETURN NULL;
END
$function$

