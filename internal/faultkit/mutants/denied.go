package main

// ofDenials are the guards of calls that the gate denies after it has allowed them, of calls whose record is restored while a person decides, and of calls
// that have a result in the record while they wait for a worker.
var ofDenials = []mutant{
	{
		guard: "gate: a result beside a policy that nobody reads", file: "workflows/envelope/stage.go",
		edits: []edit{{"if next.IsEnd() && v.Failure == nil && ", "if false && next.IsEnd() && "}},
		run:   "TestSuperseded", packages: onWorkflow,
	},
	{
		guard: "denied: in the queue", file: "workflows/attempt/lost.go",
		edits: []edit{{"			if a.endsDenied(ctx) {", "			if false {"}},
		run:   "TestDeniedBeforeItBegan", packages: onWorkflow,
	},
	{
		guard: "denied: while the worker answers", file: "workflows/attempt/dispatch.go",
		edits: []edit{{"if ranNoTool(out.Outcome) && a.endsDenied(ctx) {", "if false {"}},
		run:   "TestDeniedAttemptAnswers", packages: onWorkflow,
	},
	{
		guard: "denied: before each dispatch", file: "workflows/attempt/denied.go",
		edits: []edit{{"if a.call.HasRecheck() && ", "if false && "}},
		run:   "TestJudgedBeforeEachDispatch", packages: onWorkflow,
	},
	{
		guard: "denied: after a watched attempt", file: "workflows/attempt/dispatch.go",
		edits: []edit{{"if hadRecheck && a.revoked == nil && ", "if hadRecheck && false && "}},
		run:   "TestJudgedAfterAWatchedAttempt", packages: onWorkflow,
	},
	{
		guard: "denied: a retry that needs an approval", file: "workflows/resolve.go",
		edits: []edit{{"if verdict.Ask != nil && ", "if false && "}},
		run:   "TestParked$", packages: onWorkflow,
	},
	{
		guard: "restored: the claims that a person decides about", file: "workflows/approval/resolve.go",
		edits: []edit{{"if a.call.Epoch() != epoch && ", "if false && "}},
		run:   "TestParkedRestored", packages: onWorkflow,
	},
	{
		guard: "restored: another request", file: "workflows/approval/resolve.go",
		edits: []edit{{"case answer.State != contract.RequestLost:", "default:"}},
		run:   "TestParkedRestored", packages: onWorkflow,
	},
	{
		guard: "restored: the claims of the other request", file: "workflows/approval/resolve.go",
		edits: []edit{{"		a.parts.FenceAgain(ctx)\n	}\n}\n\n// changeFenceAgain", "	}\n}\n\n// changeFenceAgain"}},
		run:   "TestParkedRestored", packages: onWorkflow,
	},
}
