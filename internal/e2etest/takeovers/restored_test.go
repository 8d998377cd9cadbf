package takeovers

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

var dumpAge = flag.Duration("dump-age", 0, "how long the load of TestPostgresRestored goes on after the dump")

// TestPostgresRestored: a dump is taken under load, more calls run until the worker is killed, and then the dump replaces the database. No effect happens twice, and each
// call whose effect is not in the record ends with an unknown outcome.
func TestPostgresRestored(t *testing.T) {
	t.Parallel()
	r := restoring{e2etest.NewWorld(t, e2etest.PlainPolicy), t.TempDir()}
	if err := r.World.Store.NoteOrigin(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := r.ServeInChild()
	before := r.start("claimed", "test__asked", "hang") // is claimed after the dump
	ended := r.start("ended", "test__asked", "")        // runs and ends after the dump
	waiting := r.start("waiting", "test__asked", "")    // waits before and after the restore
	busy := r.start("busy", busyTool, "busy")           // after the dump, its first attempt reports that it had no effect
	for _, inv := range []toolspec.Invocation{before, ended, waiting, busy} {
		r.Waiting(inv.Identity().WorkflowID())
	}
	barring := r.start("barred", barredTool, "") // attempts before and after the dump report that they had no effect
	r.runs("barred")
	loading, stopLoad := context.WithCancel(t.Context())
	var load sync.WaitGroup
	var calls [4][]toolspec.Invocation
	for n := range calls {
		load.Go(func() {
			for i := 0; loading.Err() == nil; i++ {
				tool := []string{"test__send", "test__quick", "test__fast"}[i%3]
				inv := r.invocation(fmt.Sprintf("load-%d-%d", n, i), tool, "")
				calls[n] = append(calls[n], inv)
				if _, err := r.Pawl.Invoke(t.Context(), inv); err != nil && loading.Err() == nil {
					t.Errorf("%s: %v", inv.ToolCallID, err)
				}
			}
		})
	}
	count := func() int {
		return e2etest.Scalar[int](r.World, `SELECT count(*)::int FROM invocations WHERE state = 'settled'`)
	}
	r.Until(func() bool { return count() >= 8 }, "the load runs")
	dump := filepath.Join(t.TempDir(), "dump")
	runProgram(t, "pg_dump", "--format", "custom", "--file", dump, r.Database)
	had, tried, dumped := count(), len(r.Effects(r.file("barred"))), time.Now()
	for time.Since(dumped) < *dumpAge && t.Context().Err() == nil {
		more := count() + 8
		r.Until(func() bool { return count() >= more }, "the load goes on")
	}
	r.Until(func() bool { return count() >= had+8 }, "the load runs on")

	r.Approve(before.Identity().WorkflowID())
	r.runs("claimed")
	r.Approve(ended.Identity().WorkflowID())
	r.Closed(ended)
	r.Approve(busy.Identity().WorkflowID())
	r.runs("busy")
	r.Until(func() bool { return r.State(busy.Identity().WorkflowID()).Status == toolspec.StatusRetrying }, "the call retries")
	// This workflow has no input, so a worker refuses it and writes no record.
	junk := r.invocation("junk", "test__send", "")
	if _, err := r.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: junk.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue}, toolspec.WorkflowType); err != nil {
		t.Fatal(err)
	}
	r.Closed(junk)
	hung := r.start("hung", "test__send", "hang") // begins after the dump
	r.runs("hung")
	late := r.start("late", "test__asked", "") // waits, and is not in the dump
	r.Waiting(late.Identity().WorkflowID())
	r.Until(func() bool { return len(r.Effects(r.file("barred"))) > tried }, "a call in the claimed lane makes another attempt")
	r.Until(func() bool { return r.State(barring.Identity().WorkflowID()).Status == toolspec.StatusRetrying }, "the call retries")
	inTask := r.start("in-task", "test__quick", "deaf") // runs inside of a workflow task that never completes
	r.runs("in-task")
	stopLoad() // no call begins any more; the last ones are open when the worker is killed
	e2etest.Kill(first)
	tried = len(r.Effects(r.file("barred")))
	forged := r.forge()

	replaceDatabase(r.World, dump)
	// An operator starts a worker without following the runbook.
	r.Dies(r.ServeInChild())
	if !r.Log.Has("pawl reconcile --older postgres --mend") {
		t.Error("a worker on the restored database does not say what to do")
	}
	want := map[string]string{
		"junk": "", "claimed": "claim_lost", "ended": "workflow_ended", "busy": "claim_lost", "barred": "claim_lost", "hung": "call_lost", "in-task": "call_lost", "late": "call_not_recorded", "": "database_moved",
	}
	found := reconcile(r.World, 1, "--older", "postgres")
	for id, kind := range want {
		if found.byCall[id] != kind {
			t.Errorf("%s: found %q, want %q", id, found.byCall[id], kind)
		}
	}
	if found.byCall["waiting"] != "" || found.byCall[forged.ToolCallID] != "" || found.Strangers != 1 {
		t.Errorf("found %v and %d strangers, and the call that waits and the forged one are none", found.byCall, found.Strangers)
	}
	// If Temporal was restored to an older state too, a call that is waiting in it may have run.
	both := reconcile(r.World, 1, "--older", "both")
	for id, kind := range map[string]string{"claimed": "claim_lost", "hung": "call_lost", "late": "call_lost", "waiting": "call_unsure", "junk": "", "": "database_moved"} {
		if both.byCall[id] != kind {
			t.Errorf("both are older: %s is %q, want %q", id, both.byCall[id], kind)
		}
	}
	if c := r.Command("reconcile", "--older", "temporal", "--mend"); c.Wait() != 2 || !strings.Contains(c.Err.String(), "--older postgres") {
		t.Errorf("only Temporal is said to be older: %s", c.Err)
	}
	// Postgres refuses the record of one call. All other calls are mended, and workers do not start.
	e2etest.Query[int](r.World, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation'; END $$`)
	e2etest.Query[int](r.World, `CREATE TRIGGER refuse BEFORE INSERT ON invocations FOR EACH ROW WHEN (NEW.tool_call_id = 'hung') EXECUTE FUNCTION refuse()`)
	refused := reconcile(r.World, 1, "--older", "postgres", "--mend")
	if len(refused.Findings) != len(found.Findings) || len(found.Findings) < len(want)+7 {
		t.Errorf("%d findings, and %d with --mend", len(found.Findings), len(refused.Findings))
	}
	for _, f := range refused.Findings {
		left := map[string]bool{"failed": true, "database_moved": true}[f.Kind]
		if f.Mended == left || f.Kind == "failed" && f.WorkflowID != hung.Identity().WorkflowID() {
			t.Errorf("with one refused call: %+v", f)
		}
	}
	e2etest.Query[int](r.World, `DROP TRIGGER refuse ON invocations`)
	if mended := reconcile(r.World, 0, "--older", "postgres", "--mend"); mended.byCall["hung"] != "call_lost" || mended.byCall["claimed"] != "" {
		t.Errorf("the second --mend finds %v", mended.byCall)
	}
	// Calls that go on when workers start need nothing more.
	if left := reconcile(r.World, 0, "--older", "postgres"); len(left.Findings) != 0 {
		t.Errorf("before workers start, another run finds %v", left.byCall)
	}
	if n := e2etest.Scalar[int](r.World, `SELECT count(*)::int FROM invocations WHERE tool_call_id = $1`, forged.ToolCallID); n != 0 {
		t.Error("a workflow that no worker has run has a record")
	}

	r.ServeInChild()
	load.Wait()
	r.settled(before, toolspec.CodeOutcomeUnknown, 1)
	r.settled(ended, toolspec.CodeOutcomeUnknown, 1)
	r.settled(hung, toolspec.CodeOutcomeUnknown, 1)
	r.settled(inTask, toolspec.CodeOutcomeUnknown, 1)
	// The attempt has reported that it had no effect, so the outcome is known. The next attempt needs the approval, which the record has lost.
	r.settled(busy, toolspec.CodeApprovalStale, 1)
	// The last attempt of this call may have left no trace.
	r.settled(barring, toolspec.CodeOutcomeUnknown, tried)
	for _, inv := range []toolspec.Invocation{waiting, late} {
		open := func() bool {
			return len(e2etest.Query[string](r.World, `SELECT approval_id FROM approvals WHERE invocation_id = $1::uuid AND state = 'open'`, inv.Identity().InvocationID())) == 1
		}
		r.Until(open, "people see the request of "+inv.ToolCallID)
		view := r.Waiting(inv.Identity().WorkflowID(), map[string]string{"late": late.Identity().InvocationID() + ".1"}[inv.ToolCallID])
		if answer := r.Decide(inv.Identity().WorkflowID(), e2etest.Approving(view.ApprovalID, e2etest.Ann)); !answer.Counted {
			t.Errorf("the approval of %s did not count: %s", inv.ToolCallID, answer.Reason)
		}
		r.settled(inv, "", 1)
	}
	// The last call of each loop was open when the worker was killed. It ends with an unknown outcome if its attempt may have begun.
	var all []toolspec.Invocation
	for _, of := range calls {
		last := of[len(of)-1]
		if n := len(r.Effects(r.file(last.ToolCallID))); n > 1 && last.ToolID != "test__fast" { // a read may be repeated
			t.Errorf("%s was open, and its tool %s ran %d times", last.ToolCallID, last.ToolID, n)
		}
		all = append(all, of[:len(of)-1]...)
	}
	lost, quick := 0, 0
	for _, inv := range all {
		if got := len(r.Effects(r.file(inv.ToolCallID))); got != 1 {
			t.Errorf("%s took effect %d times", inv.ToolCallID, got)
		}
		if kind := found.byCall[inv.ToolCallID]; kind != "" {
			if lost++; inv.ToolID == "test__quick" {
				quick++ // its attempt is a marker in the history, and not an activity
			}
			r.settled(inv, toolspec.CodeOutcomeUnknown, 1)
			if lost > 3 {
				continue
			}
			// A client starts the call again, as if Temporal had deleted its workflow.
			run, err := r.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
				ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
			}, toolspec.WorkflowType, inv)
			if err != nil {
				t.Fatal(err)
			}
			e2etest.WantCode(t, r.Ended(run), toolspec.CodeOutcomeUnknown)
			r.settled(inv, toolspec.CodeOutcomeUnknown, 1)
		}
	}
	if quick == 0 {
		t.Error("no call in the claimed lane was found")
	}
	t.Logf("%d calls of the load, %d of them lost from the record", len(all), lost)
	for _, inv := range []toolspec.Invocation{before, hung, busy, barring, waiting, late} {
		r.Closed(inv)
	}
	if again := reconcile(r.World, 0, "--older", "postgres"); len(again.Findings) != 0 {
		t.Errorf("the second run finds %v", again.byCall)
	}
}

// TestTemporalRestored: Temporal is replaced by an older state of it, and then by an empty server. The record still has which calls have run.
func TestTemporalRestored(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server := devstacktest.OwnTemporal(t, devstack.TemporalOptions{Dir: data, Persist: true})
	r := restoring{e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy), t.TempDir()}
	stop := func() {
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
	}
	restart := func() {
		if err := server.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		r.Until(func() bool {
			_, err := r.Temporal.CheckHealth(t.Context(), &client.CheckHealthRequest{})
			return err == nil
		}, "Temporal answers")
		devstacktest.Namespace(t, r.Temporal, r.Namespace, contract.SearchAttributeNames()...)
	}
	first := r.ServeInChild()
	old := r.start("old", "test__asked", "")
	r.Waiting(old.Identity().WorkflowID())
	stop()
	backup := map[string][]byte{}
	files, err := filepath.Glob(filepath.Join(data, "*", "temporal.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal("the server has no file", err)
	}
	for _, file := range files {
		if backup[file], err = os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
	restart()
	r.Approve(old.Identity().WorkflowID())
	r.settled(old, "", 1)
	done := r.start("done", "test__send", "")
	r.settled(done, "", 1)
	hung := r.start("hung", "test__send", "hang")
	r.runs("hung")
	late := r.start("late", "test__asked", "")
	r.Waiting(late.Identity().WorkflowID())
	e2etest.Kill(first)

	replace := func() {
		stop()
		now, _ := filepath.Glob(filepath.Join(data, "*", "temporal.db*"))
		for _, file := range now {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		for file, text := range backup {
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		restart()
	}
	replace()
	found := reconcile(r.World, 1, "--older", "temporal")
	if len(found.Findings) != 3 || found.byCall["old"] != "workflow_behind" || found.byCall["hung"] != "workflow_ended" || found.byCall["late"] != "workflow_ended" {
		t.Errorf("found %v", found.byCall)
	}
	reconcile(r.World, 0, "--older", "temporal", "--mend")
	if left := reconcile(r.World, 0, "--older", "temporal"); len(left.Findings) != 0 {
		t.Errorf("before workers start, another run finds %v", left.byCall)
	}
	second := r.ServeInChild()
	r.settled(hung, toolspec.CodeOutcomeUnknown, 1)
	r.settled(late, toolspec.CodeCancelled, 0)
	r.Closed(old)
	r.settled(old, "", 1)
	if again := reconcile(r.World, 0, "--older", "temporal"); len(again.Findings) != 0 {
		t.Errorf("the second run finds %v", again.byCall)
	}
	waits := r.start("waits", "test__asked", "")
	r.Waiting(waits.Identity().WorkflowID())
	e2etest.Kill(second)

	clear(backup)
	replace()
	if found := reconcile(r.World, 0, "--older", "temporal", "--mend"); len(found.Findings) != 1 || found.byCall["waits"] != "workflow_ended" {
		t.Errorf("without Temporal found %v", found.byCall)
	}
	r.ServeInChild()
	r.settled(waits, toolspec.CodeCancelled, 0)
	// Because of the record, a call that has run does not run again.
	e2etest.WantText(t, r.Invoke(r.invocation("done", "test__send", "")), "done")
	r.settled(done, "", 1)
}
