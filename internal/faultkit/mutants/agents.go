package main

// The packages whose tests must notice a mutant of agents.
var (
	onAgents        = []string{"./internal/e2etest/agents"}
	onAgentsAsTools = []string{"./internal/e2etest/agentsastools"}
	onAgentRecord   = []string{"./internal/postgres/agents"}
)

// ofAgents are the guards of runs of agents: without one of them a run costs more than its limits, reads or starts what it must not, or counts twice.
var ofAgents = []mutant{
	{
		guard: "agents: a recorded round is not asked again", file: "activities/agent/ask.go",
		edits: []edit{{"if in.Round <= run.Round {", "if in.Round < 0 {"}},
		run:   "TestWorkerKilledAfterResponse", packages: onAgents,
	},
	{
		guard: "agents: only the workflow of the run asks", file: "activities/agent/ask.go",
		edits: []edit{{"!= pawlagent.WorkflowID(in.Run.TenantID, in.Run.RunID) {", "== \"\" {"}},
		run:   "TestForgedRequest", packages: onAgents,
	},
	{
		guard: "agents: a response waits for the database", file: "activities/agent/ask.go",
		edits: []edit{{"if !errs.IsTransient(err) {", "if true {"}},
		run:   "TestDatabaseAwayInRun", packages: onAgents,
	},
	{
		guard: "agents: tokens that are left", file: "activities/agent/limits.go",
		edits: []edit{{"int64(l.Tokens)-used.Tokens()-input", "int64(l.Tokens)-used.Tokens()+leastOutput"}},
		run:   "TestBudgets|TestOutputLeft", packages: onAgents,
	},
	{
		guard: "agents: cost that is left", file: "activities/agent/limits.go",
		edits: []edit{{"l.MicroUSD - used.MicroUSD - *inputCost", "l.MicroUSD - used.MicroUSD + leastOutput*2"}},
		run:   "TestBudgets|TestOutputLeft", packages: onAgents,
	},
	{
		guard: "agents: a model without a price", file: "activities/agent/limits.go",
		edits: []edit{{"if inputCost == nil || millionCost == nil {\n		return \"\", unusable(", "if inputCost == nil || millionCost == nil {\n		return limited, nil\n	}\n	if false {\n		return \"\", unusable("}},
		run:   "TestBudgets", packages: onAgents,
	},
	{
		guard: "agents: a lost response counts", file: "activities/agent/ask.go",
		edits: []edit{{"	if err != nil {\n		a.countLost(ctx, in.Run, model, usage)\n", "	if err != nil {\n"}},
		run:   "TestUsageOfFaults", packages: onAgents,
	},
	{
		guard: "agents: another input under the id", file: "activities/agent/open.go",
		edits: []edit{{"if run.InputDigest != digest {", "if digest == \"\" {"}},
		run:   "TestSameRunOtherInput|TestTakenRunIDs", packages: onAgents,
	},
	{
		guard: "agents: only tools of the input", file: "activities/agent/open.go",
		edits: []edit{{"return !slices.Contains(allowed, tool) })", "return false })"}},
		run:   "TestNarrowedTools|TestRun", packages: onAgentsAsTools,
	},
	{
		guard: "agents: a child starts no run", file: "activities/agent/open.go",
		edits: []edit{{"if run.Parent == nil && len(run.Document.Agents) > 0 {", "if len(run.Document.Agents) > 0 {"}},
		run:   "TestDepth", packages: onAgentsAsTools,
	},
	{
		guard: "agents: only a planned call starts a run", file: "activities/agent/children.go",
		edits: []edit{{"case !found || round.Answers != nil || !round.plansChild(call.ToolCallID):", "case !found || round.Round < 0:"}},
		run:   "TestDepth|TestAgentsOfTheAgent", packages: onAgentsAsTools,
	},
	{
		guard: "agents: only agents of the agent", file: "activities/agent/children.go",
		edits:     []edit{{"case !slices.Contains(run.Document.Agents, call.Agent):", "case false:"}},
		elsewhere: map[string][]edit{"activities/agent/plan.go": {{"&& !run.allows(inv.Args):", "&& false:"}}},
		run:       "TestAgentsOfTheAgent", packages: onAgentsAsTools,
	},
	{
		guard: "agents: children share what is left", file: "internal/postgres/agents/children.sql",
		edits: []edit{{"(p.tokens - r.tokens)::bigint AS tokens", "p.tokens::bigint AS tokens"}},
		run:   "TestBudgetsSideBySide", packages: onAgentsAsTools,
	},
	{
		guard: "agents: the usage of a child counts once", file: "internal/postgres/agents/runs.sql",
		edits: []edit{{"WHERE tenant_id = @tenant_id AND run_id = @run_id AND ended_at IS NULL\n    RETURNING tenant_id, parent_run_id", "WHERE tenant_id = @tenant_id AND run_id = @run_id\n    RETURNING tenant_id, parent_run_id"}},
		run:   "TestCloseChild", packages: onAgentRecord,
	},
	{
		guard: "agents: a message counts once", file: "internal/postgres/agents/runs.sql",
		edits: []edit{{"SELECT tenant_id, run_id, @message_id, @said_by, @text FROM run", "SELECT tenant_id, run_id, @message_id || gen_random_uuid(), @said_by, @text FROM run"}},
		run:   "TestSayToAgent", packages: onAgentRecord,
	},
	{
		guard: "agents: messages that were not sent stay", file: "internal/postgres/agents/runs.sql",
		edits: []edit{{"m.round IS NULL AND m.seq <= @taken::bigint", "m.round IS NULL AND @taken::bigint >= 0"}},
		run:   "TestMessages|TestMessageWhileClosing", packages: onAgents,
	},
	{
		guard: "agents: a fork may read its source", file: "activities/agent/fork.go",
		edits: []edit{{"err != nil || !may {", "err != nil || !may && false {"}},
		run:   "TestFork", packages: onAgents,
	},
	{
		guard: "agents: the id of the run of a graph", file: "activities/agent/fork.go",
		edits: []edit{{"if r.Input.GraphRunID != \"\" && r.Document.Graph == nil {", "if false {"}},
		run:   "TestGraph", packages: onAgents,
	},
}
