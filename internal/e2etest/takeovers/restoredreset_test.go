package takeovers

import (
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestPostgresRestoredAfterResets: after a dump, a call is reset, makes an attempt, and is reset to a task before that attempt. Then the dump replaces the
// database. The run that the record has and the latest run have no attempt, so only the run between them shows it. The effect does not happen twice.
func TestPostgresRestoredAfterResets(t *testing.T) {
	t.Parallel()
	r := restoring{e2etest.NewWorld(t, e2etest.PlainPolicy), t.TempDir()}
	if err := r.World.Store.NoteOrigin(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := r.ServeInChild()
	hung := r.start("hung", "test__asked", "hang") // its attempt has no answer when the call is reset
	ended := r.start("ended", "test__asked", "")
	both := []toolspec.Invocation{hung, ended}
	for _, inv := range both {
		r.Waiting(inv.Identity().WorkflowID())
	}
	dump := filepath.Join(t.TempDir(), "dump")
	runProgram(t, "pg_dump", "--format", "custom", "--file", dump, r.Database)
	for _, inv := range both {
		r.Reset(inv.Identity().WorkflowID())
		r.Approve(inv.Identity().WorkflowID())
		r.runs(inv.ToolCallID)
	}
	r.Closed(ended)
	e2etest.Kill(first)
	for _, inv := range both {
		r.Reset(inv.Identity().WorkflowID())
	}

	replaceDatabase(r.World, dump)
	found := reconcile(r.World, 1, "--older", "postgres")
	for _, inv := range both {
		if got := found.byCall[inv.ToolCallID]; got != "claim_lost" {
			t.Errorf("%s: found %q, want claim_lost", inv.ToolCallID, got)
		}
	}
	reconcile(r.World, 0, "--older", "postgres", "--mend")
	r.ServeInChild()
	for _, inv := range both { // the reset has delivered the approval again
		r.settled(inv, toolspec.CodeOutcomeUnknown, 1)
	}
}
