package histories

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// newerBinary builds this test program with the next version of the plan, for the plans of every lane, and returns its path.
func newerBinary(t *testing.T) (path string) {
	t.Helper()
	dir := t.TempDir()
	plan, err := filepath.Abs("../../../toolspec/hook/plan.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	now := fmt.Sprintf("const PlanVersion = %d\n", hook.PlanVersion)
	shared := fmt.Sprintf("const sharedVersion = %d\n", hook.PlanVersionOf(hook.RegularLane))
	if strings.Count(string(source), now) != 1 || strings.Count(string(source), shared) != 1 {
		t.Fatalf("%s has no line %q, or no line %q", plan, now, shared)
	}
	newer, list, path := filepath.Join(dir, "plan.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "newer.test")
	next := strings.NewReplacer(now, fmt.Sprintf("const PlanVersion = %d\n", hook.PlanVersion+1),
		shared, fmt.Sprintf("const sharedVersion = %d\n", hook.PlanVersion+1)).Replace(string(source))
	for name, text := range map[string]string{newer: next, list: e2etest.AsJSON(map[string]any{"Replace": map[string]string{plan: newer}})} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := exec.Command("go", "test", "-c", "-ldflags=-s -w", "-overlay", list, "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return path
}

// serveNewer starts the worker of another program in a separate process.
func serveNewer(w *e2etest.World, path string) *exec.Cmd {
	w.T.Helper()
	cmd := w.Child(context.WithoutCancel(w.T.Context()), e2etest.ChildServe)
	cmd.Path, cmd.Args[0] = path, path
	cmd.Stdout, cmd.Stderr = w.Log, w.Log
	if _, err := cmd.StdinPipe(); err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(func() { e2etest.Kill(cmd) })
	return cmd
}

// TestNewerPlanOnAnOlderWorker: calls that a newer worker has admitted get an older worker while they wait for a person, between two attempts and in execute.
// They wait for a newer worker, and then go on normally.
func TestNewerPlanOnAnOlderWorker(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	program := newerBinary(t)
	newer := serveNewer(w, program)
	files := map[string]string{}
	calls := map[string]toolspec.Invocation{}
	begin := func(name, toolID, note string) toolspec.Invocation {
		files[name] = filepath.Join(t.TempDir(), "effects")
		calls[name] = e2etest.Invocation(name, toolID, fmt.Sprintf(`{"text":%q,"note":%q}`, files[name], note))
		w.Start(calls[name])
		return calls[name]
	}
	parked, reset := begin("parked", "test__asked", ""), begin("reset", "test__asked", "")
	parkedView, resetView := w.Waiting(parked.Identity().WorkflowID()), w.Waiting(reset.Identity().WorkflowID())
	// The retrying call starts last, because it is between two attempts for only ten seconds.
	for _, c := range []struct{ name, note string }{{"executing", "hang"}, {"retrying", "busy"}} {
		begin(c.name, "test__write", c.note)
		w.Until(func() bool { return len(w.Effects(files[c.name])) >= 1 }, c.name+" has begun")
	}
	for name, inv := range calls {
		if v := w.Record(inv).Plan.V; v != hook.PlanVersion+1 {
			t.Fatalf("%s has a plan of version %d", name, v)
		}
	}
	e2etest.Kill(newer)

	ran := 0
	never := func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
		ran++
		return e2etest.Out{}, nil
	}
	stop := w.Work(worker.Tools(e2etest.Tool("test__write", never, e2etest.Idempotent),
		e2etest.Tool("test__asked", never, e2etest.Once, e2etest.Risky)))
	// An older worker accepts decisions, because they depend on the record and not on the plan.
	if answer := w.Decide(parked.Identity().WorkflowID(), e2etest.Approving(parkedView.ApprovalID, e2etest.Ann)); !answer.Counted {
		t.Errorf("the approval did not count: %s", answer.Reason)
	}
	w.Reset(reset.Identity().WorkflowID())
	waits := func(inv toolspec.Invocation) bool {
		h := w.History(inv.Identity().WorkflowID(), "")
		return strings.Contains(h.String(), fmt.Sprintf("plan version %d", hook.PlanVersion+1))
	}
	for name, inv := range calls {
		w.Until(func() bool { return waits(inv) }, name+" waits for a newer worker")
	}
	stop()
	if ran != 0 {
		t.Errorf("the older worker ran %d tools", ran)
	}
	newer = serveNewer(w, program)
	if answer := w.Decide(reset.Identity().WorkflowID(),
		e2etest.Approving(w.Waiting(reset.Identity().WorkflowID()).ApprovalID, e2etest.Ann)); !answer.Counted {
		t.Errorf("the approval did not count: %s", answer.Reason)
	}
	for name, inv := range calls {
		e2etest.WantText(t, w.Ended(w.Temporal.GetWorkflow(t.Context(), inv.Identity().WorkflowID(), "")), "done")
		if got := w.Effects(files[name]); !slices.Contains(got, fmt.Sprint(newer.Process.Pid)) {
			t.Errorf("%s was run by %v, want %d", name, got, newer.Process.Pid)
		}
		w.Replay(inv.Identity().WorkflowID())
	}
	if a := w.Record(reset).Approvals; len(a) != 1 || a[0].ApprovalID != resetView.ApprovalID {
		t.Errorf("after the reset the requests are %+v", a)
	}
}

// TestNewerPlanForGood: if no newer worker comes, the call ends at its deadline and settles.
func TestNewerPlanForGood(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	tools := worker.Tools(e2etest.Tool("test__asked", e2etest.Echo, e2etest.Once, e2etest.Risky))
	stop := w.Work(tools)
	inv := e2etest.Invocation("asked", "test__asked", `{"text":"hello"}`)
	call := w.Start(inv)
	w.Waiting(call.WorkflowID)
	stop()
	e2etest.Query[string](w, `UPDATE invocations SET plan = (plan::jsonb || '{"v": 99}' ||
		jsonb_build_object('budgets', plan::jsonb -> 'budgets' || '{"deadlineMs": 10000}'))::json RETURNING tool_id`)
	w.Work(tools)
	began := time.Now()
	r := w.ResultOf(call.WorkflowID, w.Reset(call.WorkflowID))
	e2etest.WantCode(t, r, toolspec.CodeUnavailable)
	if !strings.Contains(r.SafeMessage, "plan version 99") {
		t.Errorf("the message is %q", r.SafeMessage)
	}
	if record := w.Record(inv); record.Status != toolspec.StatusSettled || record.Approvals[0].State != "closed" {
		t.Errorf("the record is %s, its request %s", record.Status, record.Approvals[0].State)
	}
	t.Logf("it took %s", time.Since(began))
}
