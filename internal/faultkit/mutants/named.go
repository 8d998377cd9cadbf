package main

// named are the mutants of approvals for which hooks name approvers.
var named = []mutant{
	{
		guard: "named: an empty list", file: "toolspec/hook/approvals.go",
		edits: []edit{{"case len(s.Approvers) == 0:", "case false && len(s.Approvers) == 0:"}},
		run:   "TestApprovalsAreChecked", packages: []string{"./toolspec/hook"},
	},
	{
		guard: "named: an empty list in the rule", file: "policy/approvers.go",
		edits: []edit{{"if len(h.Entries) == 0 ||", "if false && len(h.Entries) == 0 ||"}},
		run:   "TestBesidesKeepsPolicy", packages: []string{"./policy"},
	},
	{
		guard: "named: copies", file: "toolspec/hook/rights.go",
		edits: []edit{{"a.c.hook, ask.Approvals.clone()", "a.c.hook, ask.Approvals"}},
		run:   "TestApprovalsAreCopied", packages: []string{"./toolspec/hook"},
	},
	{
		guard: "named: all hooks are heard", file: "toolspec/hook/run.go",
		edits: []edit{{"in.Part == PartApprovers && collectAsk(end, &verdict)", "in.Part == PartApprovers && collectAsk(end, &verdict) && false"}},
		run:   "TestAskApproverHooks$", packages: []string{"./toolspec/hook"},
	},
	{
		guard: "named: policy's people stay", file: "policy/chain.go",
		edits: []edit{{"effects := []listEffect{effectOn(a.entries(), v, votes, policyEntry)}", "effects := []listEffect{{entry: NoEntry}}"}},
		run:   "TestBesidesIsStricter", packages: []string{"./policy"},
	},
	{
		guard: "named: the hooks' people count", file: "policy/chain.go",
		edits: []edit{{"for i, h := range a.Hooks {\n\t\teffects", "for i, h := range a.Hooks[:0] {\n\t\teffects"}},
		run:   "TestBesidesIsStricter", packages: []string{"./policy"},
	},
	{
		guard: "named: nobody before a later turn", file: "policy/chain.go",
		edits: []edit{{"case early != nil || !counts:", "case !counts:"}},
		run:   "TestApproveBesides", packages: []string{"./policy"},
	},
	{
		guard: "named: not remembered", file: "policy/approvers.go",
		edits: []edit{{"Entries: cloneEntries(h.Entries)})\n\t}\n\treturn a.Unremembered(), nil", "Entries: cloneEntries(h.Entries)})\n\t}\n\treturn a, nil"}},
		run:   "TestRequestBesides", packages: onSteps,
	},
	{
		guard: "named: the shorter lifetime", file: "policy/approvers.go",
		edits: []edit{{"a.ExpiresAfterMs = min(a.ExpiresAfterMs, d.Milliseconds())", "a.ExpiresAfterMs = d.Milliseconds()"}},
		run:   "TestRequestBesides", packages: onSteps,
	},
	{
		guard: "named: the gate's rule", file: "activities/approval/request.go",
		edits: []edit{{"RuleDigest: decision.Approval.Digest()", "RuleDigest: \"\""}},
		run:   "TestRequestBesides", packages: onSteps,
	},
	{
		guard: "named: the recorded rule is shown", file: "activities/approval/request.go",
		edits: []edit{{"view.Approvers = record.Rule.Describe(view.RequestedBy, view.OnBehalfOf)\n", ""}},
		run:   "TestRequest$", packages: onSteps,
	},
	{
		guard: "named: entries are written", file: "activities/approval/judge.go",
		edits: []edit{{"j.Entry, j.HookEntries, j.Final = ruling.Entry, ruling.HookEntries, ruling.Final", "j.Entry, j.Final = ruling.Entry, ruling.Final"}},
		run:   "TestReviewBesides", packages: onSteps,
	},
	{
		guard: "named: entries are read", file: "internal/postgres/record/approval.sql",
		edits: []edit{{"'hookEntries', v.hook_entries)", "'hookEntries', NULL)"}},
		run:   "TestAHookNamesApprovers$", packages: []string{"./internal/e2etest/approvals"},
	},
	{
		guard: "named: heard about what runs", file: "workflows/approval/hooks.go",
		edits: []edit{{"if !a.parts.HasApproverHooks() {", "if true {"}},
		run:   "TestNamedApprovers|TestHooksJudgeNormalizedArguments", packages: onWorkflow,
	},
	{
		guard: "named: no hooks at a recheck", file: "workflows/gate/gate.go",
		edits: []edit{{"if len(step.ApproverHooks) > 0 {\n\t\t\treturn c.RunOwnStep", "if len(step.ApproverHooks) < 0 {\n\t\t\treturn c.RunOwnStep"}},
		run:   "TestHooksDoNotHoldTheWait", packages: onWorkflow,
	},
	{
		guard: "named: the wait goes on for a hook", file: "workflows/approval/approval.go",
		edits: []edit{{"verdict.Ask != nil || a.hooksAsk || ", "verdict.Ask != nil || "}},
		run:   "TestNamedApprovers", packages: onWorkflow,
	},
	{
		guard: "named: hooks after policy asks no more", file: "workflows/approval/approval.go",
		edits: []edit{{"verdict := a.parts.Regate(ctx)\n\t\t\tif verdict.IsEnd()", "verdict := envelope.Verdict{}\n\t\t\tif verdict.IsEnd()"}},
		run:   "TestAHookBeginsToAsk", packages: onWorkflow,
	},
	{
		guard: "named: by the plan of before", file: "workflows/approval/hooks.go",
		edits: []edit{{"case ask.Approvals.Names():", "case false:"}},
		run:   "TestNamesInAPlanWithoutApproverHooks", packages: onWorkflow,
	},
}
