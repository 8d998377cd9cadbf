package e2etest

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

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// newerBinary makes this test program with the next plan version.
func newerBinary(t *testing.T) (path string) {
	t.Helper()
	dir := t.TempDir()
	plan, err := filepath.Abs("../../toolspec/hook/plan.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	now := fmt.Sprintf("const PlanVersion = %d\n", hook.PlanVersion)
	if strings.Count(string(source), now) != 1 {
		t.Fatalf("%s has no line %q", plan, now)
	}
	newer, list, path := filepath.Join(dir, "plan.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "newer.test")
	next := strings.Replace(string(source), now, fmt.Sprintf("const PlanVersion = %d\n", hook.PlanVersion+1), 1)
	for name, text := range map[string]string{newer: next, list: asJSON(map[string]any{"Replace": map[string]string{plan: newer}})} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := exec.Command("go", "test", "-c", "-overlay", list, "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return path
}

// serveNewer starts a worker of another program in a process of its own.
func (w *world) serveNewer(path string) *exec.Cmd {
	w.t.Helper()
	cmd := w.child(context.WithoutCancel(w.t.Context()), childServe)
	cmd.Path, cmd.Args[0] = path, path
	cmd.Stdout, cmd.Stderr = w.log, w.log
	if _, err := cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { kill(cmd) })
	return cmd
}

// TestNewerPlanOnAnOlderWorker: calls that a newer worker admitted meet an older one while they wait for a person, between two attempts
// and in execute. They wait for a newer worker, and then go on as if nothing had been.
func TestNewerPlanOnAnOlderWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	program := newerBinary(t)
	newer := w.serveNewer(program)
	files := map[string]string{}
	calls := map[string]toolspec.Invocation{}
	begin := func(name, toolID, note string) toolspec.Invocation {
		files[name] = filepath.Join(t.TempDir(), "effects")
		calls[name] = invocation(name, toolID, fmt.Sprintf(`{"text":%q,"note":%q}`, files[name], note))
		w.start(calls[name])
		return calls[name]
	}
	parked, reset := begin("parked", "test__asked", ""), begin("reset", "test__asked", "")
	parkedView, resetView := w.waiting(parked.Identity().WorkflowID()), w.waiting(reset.Identity().WorkflowID())
	// The one that retries is the last: it is between two attempts for ten seconds only.
	for _, c := range []struct{ name, note string }{{"executing", "hang"}, {"retrying", "busy"}} {
		begin(c.name, "test__write", c.note)
		w.until(func() bool { return len(w.effects(files[c.name])) >= 1 }, c.name+" has begun")
	}
	for name, inv := range calls {
		if v := w.record(inv).Plan.V; v != hook.PlanVersion+1 {
			t.Fatalf("%s has a plan of version %d", name, v)
		}
	}
	kill(newer)

	ran := 0
	never := func(context.Context, in, toolspec.Call) (out, error) { ran++; return out{}, nil }
	stop := w.work(worker.Tools(tool("test__write", never, idempotent), tool("test__asked", never, once, risky)))
	// Decisions count on an older worker: they follow the record and not the plan.
	if answer := w.decide(parked.Identity().WorkflowID(), approval(parkedView.ApprovalID, ann)); !answer.Counted {
		t.Errorf("the approval did not count: %s", answer.Reason)
	}
	w.reset(reset.Identity().WorkflowID())
	waits := func(inv toolspec.Invocation) bool {
		h := w.history(inv.Identity().WorkflowID(), "")
		return strings.Contains(h.String(), fmt.Sprintf("plan version %d", hook.PlanVersion+1))
	}
	for name, inv := range calls {
		w.until(func() bool { return waits(inv) }, name+" waits for a newer worker")
	}
	stop()
	if ran != 0 {
		t.Errorf("the older worker ran %d tools", ran)
	}
	newer = w.serveNewer(program)
	if answer := w.decide(reset.Identity().WorkflowID(), approval(w.waiting(reset.Identity().WorkflowID()).ApprovalID, ann)); !answer.Counted {
		t.Errorf("the approval did not count: %s", answer.Reason)
	}
	for name, inv := range calls {
		wantText(t, w.ended(w.temporal.GetWorkflow(t.Context(), inv.Identity().WorkflowID(), "")), "done")
		if got := w.effects(files[name]); !slices.Contains(got, fmt.Sprint(newer.Process.Pid)) {
			t.Errorf("%s was run by %v, want %d", name, got, newer.Process.Pid)
		}
		w.replay(inv.Identity().WorkflowID())
	}
	if a := w.record(reset).Approvals; len(a) != 1 || a[0].ApprovalID != resetView.ApprovalID {
		t.Errorf("after the reset the requests are %+v", a)
	}
}

// TestNewerPlanForGood: where no newer worker comes, the call ends at its deadline, and settles.
func TestNewerPlanForGood(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	tools := worker.Tools(tool("test__asked", echo, once, risky))
	stop := w.work(tools)
	inv := invocation("asked", "test__asked", `{"text":"hello"}`)
	call := w.start(inv)
	w.waiting(call.WorkflowID)
	stop()
	query[string](w, `UPDATE invocations SET plan = (plan::jsonb || '{"v": 99}' ||
		jsonb_build_object('budgets', plan::jsonb -> 'budgets' || '{"deadlineMs": 10000}'))::json RETURNING tool_id`)
	w.work(tools)
	began := time.Now()
	r := w.resultOf(call.WorkflowID, w.reset(call.WorkflowID))
	wantCode(t, r, toolspec.CodeUnavailable)
	if !strings.Contains(r.SafeMessage, "plan version 99") {
		t.Errorf("the message is %q", r.SafeMessage)
	}
	if record := w.record(inv); record.Status != toolspec.StatusSettled || record.Approvals[0].State != "closed" {
		t.Errorf("the record is %s, its request %s", record.Status, record.Approvals[0].State)
	}
	t.Logf("it took %s", time.Since(began))
}
