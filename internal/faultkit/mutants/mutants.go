package main

// The packages whose tests must notice a mutant.
var (
	onRecord   = []string{"./internal/postgres"}
	onWorkflow = []string{"./workflows/..."}
	onSteps    = []string{"./activities"}
	onServers  = []string{"./internal/e2etest/..."}
)

// mutants are the guards without which something would be lost, or happen twice.
var mutants = []mutant{
	{
		guard: "dedupe: the record answers", file: "internal/postgres/record/admit.sql",
		edits: []edit{{"@invocation_id::uuid AND (state = 'settled' OR ", "@invocation_id::uuid AND ("}},
		run:   "TestSettledRecordAnswers", packages: onRecord,
	},
	{
		guard: "dedupe: other arguments", file: "internal/postgres/record/admit.sql",
		edits: []edit{
			{"(state = 'settled' OR input_digest <> @input_digest OR ", "(state = 'settled' OR "},
			{" AND invocations.input_digest = excluded.input_digest", ""},
		},
		run: "TestRecord|TestAdmit", packages: onRecord,
	},
	{
		guard: "dedupe: only the derived id", file: "activities/admit/admit.go",
		edits: []edit{{"want != in.WorkflowID", "false && want != in.WorkflowID"}},
		run:   "TestAdmit|Foreign", packages: onSteps,
	},
	{
		guard: "epoch: admit raises it", file: "internal/postgres/record/admit.sql",
		edits: []edit{{"SET epoch = invocations.epoch + 1, ", "SET "}},
		run:   "TestAdmit", packages: onRecord,
	},
	{
		guard: "epoch: settle", file: "internal/postgres/record/settle.sql",
		edits: []edit{{"state = 'open' AND epoch = @epoch", "state = 'open' AND (epoch = @epoch OR true)"}},
		run:   "TestStaleEpoch", packages: onRecord,
	},
	{
		guard: "epoch: claim", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id\n        ) THEN", "AND state = 'open' AND (epoch = @epoch OR true) AND temporal_run_id = @temporal_run_id\n        ) THEN"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "epoch: check", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"SELECT epoch FROM invocations WHERE invocation_id = @invocation_id::uuid AND state = 'open' AND epoch = @epoch AND", "SELECT epoch FROM invocations WHERE invocation_id = @invocation_id::uuid AND state = 'open' AND (epoch = @epoch OR true) AND"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "settle once", file: "internal/postgres/record/settle.sql",
		edits: []edit{{"AND state = 'open' AND epoch = @epoch AND temporal_run_id", "AND epoch = @epoch AND temporal_run_id"}},
		run:   "TestSettle", packages: onRecord,
	},
	{
		guard: "claim: before the tool", file: "activities/attempt/execute.go",
		edits: []edit{{"if out == nil && in.Dispatch > 0 {", "if out == nil && in.Dispatch < 0 {"}},
		run:   "TestExecute|TestClaim", packages: onSteps,
	},
	{
		guard: "claim: one unanswered at a time", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"AND (NOT (@repeatable::boolean AND c.repeatable) OR", "AND (@repeatable::boolean AND c.repeatable OR"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "claim: once per dispatch", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"        ) THEN 'redelivered'", "        ) AND false THEN 'redelivered'"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "execution: the id of a claim", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"WHERE a.dispatch = c.dispatch AND a.claim_id = c.claim_id\n                )\n        ) THEN 'claimed'", "WHERE a.dispatch = c.dispatch\n                )\n        ) THEN 'claimed'"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "execution: an id of its own", file: "activities/attempt/execute.go",
		edits: []edit{{"claimID = rand.Text()", "claimID = rand.Text()[:0] + in.Facts.InvocationID"}},
		run:   "TestClaimID", packages: onSteps,
	},
	{
		guard: "execution: the run that claims", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"AND state = 'open' AND epoch = @epoch AND temporal_run_id = @temporal_run_id\n        ) THEN", "AND state = 'open' AND epoch = @epoch AND @temporal_run_id <> 'x'\n        ) THEN"}},
		run:   "TestAnotherRun", packages: onRecord,
	},
	{
		guard: "execution: the run that settles", file: "internal/postgres/record/settle.sql",
		edits: []edit{{"AND epoch = @epoch AND temporal_run_id = @temporal_run_id\n", "AND epoch = @epoch\n"}},
		run:   "TestAnotherRun", packages: onRecord,
	},
	{
		guard: "execution: settle reads the claims", file: "internal/postgres/record/settle.sql",
		edits: []edit{{"        AND NOT EXISTS (SELECT FROM unaccounted)\n", ""}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "execution: unheard attempts", file: "workflows/settle/settle.go",
		edits: []edit{{"		if len(lost) == 0 || err != nil {", "		if true {"}},
		run:   "TestAttemptsOfAnotherRun", packages: onWorkflow,
	},
	{
		guard: "execution: doubt waits", file: "workflows/attempt/doubt.go",
		edits: []edit{{"time.Duration(out.OverInMs)*time.Millisecond", "time.Duration(0)"}},
		run:   "TestDoubtWaits", packages: onWorkflow,
	},
	{
		guard: "execution: no effect is believed late", file: "workflows/attempt/doubt.go",
		edits: []edit{{"if out.Outcome == contract.Free && !out.Fenced {", "if false {"}},
		run:   "TestProbeWhileAnAttemptMayRun", packages: onWorkflow,
	},
	{
		guard: "execution: a function that returned has not ended", file: "workflows/attempt/doubt.go",
		edits: []edit{{"		return a.claims.repeatable()\n", "		return a.claims.over()\n"}},
		run:   "TestProbeWhileAnAttemptMayRun", packages: onWorkflow,
	},
	{
		guard: "execution: the tool declares the fence", file: "activities/attempt/reconcile.go",
		edits: []edit{{"Fenced: bound.Definition().Fences}", "Fenced: true}"}},
		run:   "TestProbe", packages: onSteps,
	},
	{
		guard: "execution: steps are no tasks", file: "workflows/contract/handle.go",
		edits: []edit{{"if !e.Local && !a.regular {", "if false {"}},
		run:   "TestStepsRefuseTasks", packages: onWorkflow,
	},
	{
		guard: "execution: the permit", file: "activities/attempt/permit.go",
		edits: []edit{{"	ok, err = a.Keys.Verify(ctx, text, p.Signature)\n", "	_, err = a.Keys.Verify(ctx, text, p.Signature)\n	ok = true\n"}},
		run:   "TestPermit", packages: onSteps,
	},
	{
		guard: "execution: the permit's run", file: "activities/attempt/permit.go",
		edits: []edit{{"RunID: runID, ", ""}, {"text(runID string,", "text(_ string,"}},
		run:   "TestPermitOfAnotherRun", packages: onSteps,
	},
	{
		guard: "steps: named by the plan", file: "activities/stage/runner.go",
		edits: []edit{{"case in.Own != \"\" && !has:", "case in.Own == \"none\" && !has:"}},
		run:   "TestStageSelectsOwnStep", packages: onSteps,
	},
	{
		guard: "steps: the gate judges again for the permit", file: "activities/stage/runner.go",
		edits: []edit{{"case in.Part == hook.PartHooks && !own.Again:", "case in.Part == hook.PartHooks:"}},
		run:   "TestForgedFirstPart", packages: onSteps,
	},
	{
		guard: "steps: hooks are masked", file: "activities/stage/guard.go",
		edits: []edit{{"case d.SafeArgs != nil:", "case false:"}},
		run:   "TestHooksCannotUnmask", packages: onSteps,
	},
	{
		guard: "approvals: of the rule that decides", file: "policy/decide.go",
		edits: []edit{{"t.approvalOf(f.ToolID, changes...)", "t.approvalOf(f.ToolID)"}, {"	d, changes := t.decide(", "	d, _ := t.decide("}},
		run:   "TestApproversOfRules", packages: []string{"./policy"},
	},
	{
		guard: "approvals: a later rule that names people", file: "policy/decide.go",
		edits: []edit{{"m.plain != nil && !r.NamesPeople() {", "m.plain != nil {"}},
		run:   "TestApproversOfRules", packages: []string{"./policy"},
	},
	{
		guard: "approvals: of rules that cannot be judged", file: "policy/decide.go",
		edits: []edit{{"	for _, r := range m.failed {\n", "	for _, r := range m.failed[:0] {\n"}},
		run:   "TestApproversOfRules", packages: []string{"./policy"},
	},
	{
		guard: "execution: stages by the plan", file: "activities/stage/runner.go",
		edits: []edit{{"case !planned:", "case false && !planned:"}},
		run:   "TestRegularStages", packages: onSteps,
	},
	{
		guard: "execution: receipts", file: "workflows/steps/receipt.go",
		edits: []edit{{"case !accepted.Genuine:", "case false && !accepted.Genuine:"}},
		run:   "TestForged", packages: onWorkflow,
	},
	{
		guard: "sweep: its own namespace, whoever asks", file: "activities/upkeep/sweeper.go",
		edits: []edit{{"OpenPage{Namespace: s.namespace,", "OpenPage{Namespace: \"\","}},
		run:   "TestSweepWorkflow", packages: onWorkflow,
	},
	{
		guard: "claim: needs the approval", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"AND invocation_id = @invocation_id::uuid AND state = 'approved' AND", "AND invocation_id = @invocation_id::uuid AND"}},
		run:   "TestClaim|TestApproval|Consume", packages: onRecord,
	},
	{
		guard: "claim: an approval of this very thing", file: "internal/postgres/record/claim.sql",
		edits: []edit{{" AND digest = @approval_digest\n", " AND @approval_digest <> 'x'\n"}},
		run:   "TestClaim|TestApproval|Consume", packages: onRecord,
	},
	{
		guard: "tombstone", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"AND dispatch = @dispatch AND kind = 'tombstone'", "AND dispatch = @dispatch AND kind = 'tombstone' AND false"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "settle before close", file: "workflows/settle/settle.go",
		edits: []edit{{"	result = Result(ctx, c, end.Next)\n	for {", "	result = Result(ctx, c, end.Next)\n	for range 0 {"}, {"		c.UpsertOutcome(ctx, result)\n		return result, nil, nil\n	}\n", "		c.UpsertOutcome(ctx, result)\n		return result, nil, nil\n	}\n	return result, nil, nil\n"}},
		run:   "Test", packages: onWorkflow,
	},
	{
		guard: "registered names", file: "activities/activities.go",
		edits: []edit{{"for _, info := range hook.All() {", "for _, info := range hook.All()[1:] {"}},
		run:   "Test", packages: []string{"./activities", "./workflows", "./worker"},
	},
	{
		guard: "bytes in: hooks see copies", file: "workflows/contract/handle.go",
		edits: []edit{
			{"func(ctx context.Context, raw converter.RawValue) (result converter.RawValue, err error) {", "func(ctx context.Context, in In) (result converter.RawValue, err error) {"},
			{"		e := executionOf(ctx)\n", "		e, raw := executionOf(ctx), converter.NewRawValue(&common.Payload{})\n"},
			{"		var in In\n		if err := converter.GetDefaultDataConverter().FromPayload(raw.Payload(), &in); err != nil {\n			log.ErrorContext(ctx, \"activity input does not decode\", \"activity\", a.name)\n			return result, failure(toolspec.CodeInternal, false)\n		}\n", ""},
		},
		elsewhere: map[string][]edit{"workflows/steps/run.go": {{"options), a.Name(), raw).Get(ctx, &out)\n	if temporal", "options), a.Name(), in).Get(ctx, &out)\n	_ = raw\n	if temporal"}}},
		run:       "TestStepsGetBytes", packages: onWorkflow,
	},
	{
		guard: "panics: of a step", file: "workflows/contract/handle.go",
		edits: []edit{{"if recovered := recover(); recovered != nil {", "if recovered := any(nil); recovered != nil {"}},
		run:   "TestBind|Panic", packages: onWorkflow,
	},
	{
		guard: "panics: of a tool", file: "activities/attempt/run.go",
		edits: []edit{{"if recovered := recover(); recovered != nil {", "if recovered := any(nil); recovered != nil {"}},
		run:   "Panic|TestExecute", packages: onSteps,
	},
	{
		guard: "budgets: deltas", file: "workflows/envelope/stage.go",
		edits: []edit{{"!c.AddChangedBytes(v.Size())", "false"}},
		run:   "Test", packages: onWorkflow,
	},
	{
		guard: "budgets: result", file: "activities/output/output.go",
		edits: []edit{{"case redacted && len(clean) > most:", "case false:"}},
		run:   "Test", packages: onSteps,
	},
	{
		guard: "budgets: inline", file: "activities/output/output.go",
		edits: []edit{{"if !whole.Exceeds() {", "if true {"}},
		run:   "Test", packages: onSteps,
	},
	{
		guard: "unknown: not repeated", file: "workflows/attempt/lost.go",
		edits: []edit{{"	case !a.call.Plan().Repeatable:", "	case false:"}},
		run:   "Test", packages: onWorkflow,
	},
	{
		guard: "answers are final", file: "internal/postgres/record/approval.sql",
		edits: []edit{{"('open', 'approved', 'denied', 'withdrawn', 'settled_ok', 'settled_failed', 'expired') OR", "('open', 'approved') OR"}},
		run:   "TestAskedAgain", packages: onRecord,
	},
	{
		guard: "sweep: the epoch that was read", file: "internal/postgres/record/sweep.sql",
		edits: []edit{{"i.state = 'open' AND i.epoch = @epoch\n", "i.state = 'open' AND (i.epoch = @epoch OR true)\n"}},
		run:   "TestSweepGuards|TestARunThat", packages: onRecord,
	},
	{
		guard: "sweep: its own namespace", file: "internal/postgres/record/sweep.sql",
		edits: []edit{{"WHERE state = 'open' AND namespace = @namespace AND namespace <> ''", "WHERE state = 'open' AND (namespace = @namespace OR true)"}},
		run:   "TestManyOpenCalls|TestOwners|TestSweep", packages: onRecord,
	},
	{
		guard: "sweep: what may have happened", file: "internal/postgres/record/sweep.sql",
		edits: []edit{{"coalesce(bool_or(NOT repeatable), false) AS risky", "false AS risky"}},
		run:   "TestSweep", packages: onRecord,
	},
	{
		guard: "plan: newer than the worker", file: "activities/judge/plan.go",
		edits: []edit{{"return version > hook.PlanVersion", "return false && version > hook.PlanVersion"}},
		run:   "TestNewerPlan", packages: onSteps,
	},
	{
		guard: "plan: a tool that changed", file: "activities/attempt/execute.go",
		edits: []edit{{"case bound.Digest() != in.Facts.ToolDigest:", "case false:"}},
		run:   "Test", packages: []string{"./activities", "./workflows"},
	},
	{
		guard: "deploys: a hook that is lacking", file: "toolspec/hook/attempt.go",
		edits: []edit{{"[name].at(s); !exists {", "[name].at(s); false && !exists {"}},
		run:   "TestDeploys", packages: onServers,
	},
	{
		guard: "deploys: a tool that changed", file: "activities/attempt/execute.go",
		edits: []edit{{"case bound.Digest() != in.Facts.ToolDigest:", "case false:"}},
		run:   "TestDeploys", packages: onServers,
	},
	{
		guard: "deploys: the recorded plan", file: "activities/admit/admit.go",
		edits: []edit{{"Plan: &record.Plan, Watched", "Plan: func() *hook.Plan { p := a.plan(inv.Context.TenantID, inv.ToolID); return &p }(), Watched"}},
		run:   "TestSameCall|TestReset|TestNewerPlan|TestDeploys", packages: onServers,
	},
	{
		guard: "deploys: a logged hook that is lacking", file: "toolspec/hook/run.go",
		edits: []edit{{"			if info.Failure == Closed {\n				return Verdict{Outcome: Missing", "			if true {\n				return Verdict{Outcome: Missing"}},
		run:   "TestDeploys", packages: onServers,
	},
	{
		guard: "endings: a stage in its time", file: "activities/upkeep/ending.go",
		edits: []edit{{"	if ctx.Err() != nil {\n		return hook.Verdict{Failure", "	if false {\n		return hook.Verdict{Failure"}},
		run:   "TestEndings", packages: onRecord,
	},
	{
		guard: "endings: a call that cannot be read", file: "activities/upkeep/ending.go",
		edits: []edit{{"case err != nil && found:", "case false:"}},
		run:   "TestEndings", packages: onRecord,
	},
	{
		guard: "capacity: no token that is not there", file: "internal/postgres/record/quota.sql",
		edits: []edit{{"WHERE NOT had AND ready_at > until", "WHERE false AND ready_at > until"}},
		run:   "TestQuota", packages: onRecord,
	},
	{
		guard: "capacity: a token is taken once", file: "internal/postgres/record/quota.sql",
		edits: []edit{{"AND q.key = j.key AND NOT j.had AND NOT EXISTS", "AND q.key = j.key AND NOT EXISTS"}},
		run:   "TestQuota", packages: onRecord,
	},
	{
		guard: "capacity: what was dispatched is spent", file: "internal/postgres/record/lease.sql",
		edits: []edit{{" AND @attempts::integer = 0\n", " AND @attempts::integer >= 0\n"}},
		run:   "TestQuota", packages: onRecord,
	},
	{
		guard: "capacity: first come, first served", file: "internal/postgres/record/lease.sql",
		edits: []edit{{"h.held + a.ahead < w.most AS free", "h.held < w.most AS free"}},
		run:   "TestRaisedLimit", packages: onRecord,
	},
	{
		guard: "capacity: a lost place is not used", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"state <> 'held'", "state = 'nothing'"}},
		run:   "Place", packages: onRecord,
	},
	{
		guard: "capacity: the tool of a swept call", file: "internal/postgres/record/lease.sql",
		edits: []edit{{"        AND NOT (kind = 'semaphore' AND state = 'held' AND @grace::interval > interval '0')\n", ""}},
		run:   "TestSweptPlace", packages: onRecord,
	},
	{
		guard: "capacity: the gate before a place is used", file: "workflows/capacity/capacity.go",
		edits: []edit{{"	return k.judge(ctx)\n}\n\n// remainingWait", "	return envelope.Next{}\n}\n\n// remainingWait"}},
		run:   "TestWaitForCapacity", packages: onWorkflow,
	},
	{
		guard: "durable: heartbeats", file: "activities/stage/durable.go",
		edits: []edit{{"stopBeating := heartbeat.Send[struct{}](ctx, nil)", "stopBeating := func() {}"}},
		run:   "TestDurable", packages: onServers,
	},
	{
		guard: "durable: a worker that stops", file: "activities/stage/durable.go",
		edits: []edit{{"	case heartbeat.Stopping(ctx):\n", "	case false:\n"}},
		run:   "TestDurable", packages: onSteps,
	},
	{
		guard: "durable: time of its own", file: "workflows/settle/settle.go",
		edits: []edit{{"endingTime+envelope.DurableTime(stages...)", "endingTime"}},
		run:   "TestDurable", packages: onWorkflow,
	},
	{
		guard: "cache: readers take turns", file: "internal/postgres/record/cache.sql",
		edits: []edit{{"SELECT pg_advisory_xact_lock(hashtextextended(@key, 0))", "SELECT hashtextextended(@key, 0)"}},
		run:   "TestOneCallRunsTheTool", packages: onRecord,
	},
	{
		guard: "cache: the tenant beside the key", file: "internal/postgres/record/cache.sql",
		edits: []edit{{"SELECT e.value FROM result_cache e\n    WHERE e.tenant_id = @tenant_id AND", "SELECT e.value FROM result_cache e\n    WHERE"}},
		run:   "TestPoisonedEntry", packages: onRecord,
	},
	{
		guard: "cache: the actor in the key", file: "activities/cache/key.go",
		edits: []edit{{"in.actor, in.subject = c.ActorID, c.SubjectID", "in.subject = c.SubjectID"}},
		run:   "TestCacheKey|TestKeptApart", packages: []string{"./activities/cache", "./workflows"},
	},
	{
		guard: "cache: only what ran", file: "workflows/output/output.go",
		edits: []edit{{"entry != nil && isCacheable(c)", "entry != nil"}},
		run:   "TestNotKept", packages: onWorkflow,
	},
	{
		guard: "notices: told with the change", file: "internal/postgres/record/approval.sql",
		edits: []edit{{"SELECT approval_id, state FROM overdue ON", "SELECT approval_id, state FROM overdue WHERE false ON"}},
		run:   "TestNoticesComeWithTheirChange", packages: onRecord,
	},
	{
		guard: "notices: nothing after a decision", file: "internal/postgres/outbox/notice.sql",
		edits: []edit{{"a.state = 'open' AND a.expires_at > now() AS is_open", "true AS is_open"}},
		run:   "TestWaitingBringsAboutWhatIsDue", packages: onRecord,
	},
	{
		guard: "notices: taken by one", file: "internal/postgres/outbox/notice.sql",
		edits: []edit{{"ORDER BY next_at LIMIT @batch FOR UPDATE SKIP LOCKED", "ORDER BY next_at LIMIT @batch"}},
		run:   "TestTwoWorkersNotifyOnce", packages: onRecord,
	},
	{
		guard: "escalation: not before its time", file: "activities/approval/judge.go",
		edits: []edit{{"open.Rule.At(open.Waited)", "open.Rule.At(1 << 62)"}},
		run:   "TestReview", packages: onSteps,
	},
}
