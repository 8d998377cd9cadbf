package main

// ofClaimedLane are the guards of attempts that run inside a workflow task with a claim.
var ofClaimedLane = []mutant{
	{
		guard: "claimed lane: a tool that may still run", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"c.subject IS NULL AND c.over_at > now() + @margin::interval)", "@margin::interval IS NULL)"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "claimed lane: a tool that has answered something else", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"c.subject IS NULL AND c.over_at", "c.over_at"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "claimed lane: a kept answer blocks", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"(c.subject = @subject OR", "(c.subject = @subject AND false OR"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "claimed lane: the claim with the answer first", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"ORDER BY (c.subject = @subject) IS TRUE DESC,", "ORDER BY @subject::text IS NULL,"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "claimed lane: an answer that waits is not lost", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"ORDER BY (c.subject = @subject) IS TRUE DESC,", "ORDER BY (c.subject = @subject) DESC NULLS LAST,"}},
		run:   "TestRecord", packages: onRecord,
	},
	{
		guard: "claimed lane: a settled call keeps nothing", file: "internal/postgres/record/claim.sql",
		edits: []edit{{"AND state = 'open' FOR NO KEY UPDATE", "FOR NO KEY UPDATE"}},
		run:   "TestKeptAnswersAreDeleted", packages: onRecord,
	},
	{
		guard: "claimed lane: an answer of the same subject", file: "activities/attempt/claim.go",
		edits: []edit{{"&& earlier.Subject == subject:", "&& subject != \"\":"}},
		run:   "TestClaimedAttemptAfterALostTask", packages: onSteps,
	},
	{
		guard: "claimed lane: a permit", file: "activities/attempt/permit.go",
		edits: []edit{{"if e.Local && !claims {", "if e.Local {"}},
		run:   "TestClaimedAttemptNeedsAPermit", packages: onSteps,
	},
	{
		guard: "restore: attempts without a trace", file: "internal/cli/reconcile/open.go",
		edits: []edit{{"recorded.Claimed && !noMoreAttempts", "false"}},
		run:   "TestMarkers", packages: []string{"./internal/cli/reconcile"},
	},
	{
		guard: "restore: a final answer", file: "internal/cli/reconcile/outline.go",
		edits: []edit{{"out.Outcome == contract.Refused && (!out.Retryable || !out.NothingHappened)", "out.Outcome == contract.Refused"}},
		run:   "TestMarkers", packages: []string{"./internal/cli/reconcile"},
	},
	{
		guard: "claimed lane: a lost call in a workflow task", file: "internal/cli/reconcile/calls.go",
		edits: []edit{{"	if t.taskUnfinished {\n", "	if t.taskUnfinished && c.mend && !c.mend {\n"}},
		run:   "TestPostgresRestored$", packages: []string{"./internal/e2etest/takeovers"},
	},
}
