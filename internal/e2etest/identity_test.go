package e2etest

import (
	"context"
	"testing"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSameCallTwice: the same input attaches, another one under the same id is a conflict, and the tool runs once.
func TestSameCallTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	entered, release := make(chan struct{}), make(chan struct{})
	w.work(worker.Tools(tool("test__send", effects.counted(func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		close(entered)
		<-release
		return echo(ctx, in, call)
	}), once)))
	inv := invocation("twice", "test__send", `{"text":"hello"}`)
	first := w.start(inv)
	receive(t, entered)
	// The requestId is not part of what is asked, nor is the form of the arguments.
	inv.Context.RequestID, inv.Args = "another", []byte(`"{ \"text\" : \"hello\" }"`)
	second := w.start(inv)
	other := invocation("twice", "test__send", `{"text":"bye"}`)
	third := w.start(other)
	close(release)
	want := w.result(first)
	wantText(t, want, "hello")
	if got := w.result(second); !same(got, want) {
		t.Errorf("the second result is %+v, want %+v", got, want)
	}
	wantCode(t, w.result(third), toolspec.CodeConflict)
	// And after it has ended.
	wantCode(t, w.invoke(other), toolspec.CodeConflict)
	if got := w.invoke(inv); !same(got, want) {
		t.Errorf("the result of the ended call is %+v, want %+v", got, want)
	}
	if n := effects.of("twice"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// quickDeletes are those of a server that deletes at once. Deleting waits for these queues to say how far they are: else for half a minute.
func quickDeletes() devstack.TemporalOptions {
	return devstack.TemporalOptions{DynamicConfig: []string{
		`history.transferProcessorUpdateAckInterval="100ms"`, `history.visibilityProcessorUpdateAckInterval="100ms"`,
		`history.timerProcessorUpdateAckInterval="100ms"`,
	}}
}

// TestAnotherRun: whatever lets the same workflow id run again, the record answers and the tool does not run.
func TestAnotherRun(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, quickDeletes())
	w := newWorldOn(t, server.Address(), devstacktest.Postgres(t), plainPolicy)
	var effects ledger
	w.work(worker.Tools(
		tool("test__send", effects.counted(echo), once),
		tool("test__fail", effects.counted(func(context.Context, in, toolspec.Call) (out, error) {
			return out{}, toolspec.Safef("no such thing")
		}), once),
		tool("test__read", effects.counted(echo), fast),
	))
	for name, again := range map[string]func(w *world, inv toolspec.Invocation){
		"kept":    func(*world, toolspec.Invocation) {},
		"deleted": func(w *world, inv toolspec.Invocation) { w.forget(inv.Identity().WorkflowID()) },
		// By the programs, which then make the call anew: with the policies of the contract, for there is nothing left to attach to.
		"deleted-by-cli": func(w *world, inv toolspec.Invocation) {
			want := w.record(inv).Result
			for by, again := range doors() {
				w.mustCLI("workflow", "delete", "--workflow-id", inv.Identity().WorkflowID())
				w.gone(inv.Identity().WorkflowID())
				if got := again.result(w, inv); !same(got, *want) {
					w.t.Errorf("by %s the run after the delete answered %+v, want %+v", by, got, want)
				}
			}
		},
	} {
		for _, toolID := range []string{"test__send", "test__fail", "test__read"} {
			t.Run(name+"/"+toolID, func(t *testing.T) {
				t.Parallel()
				w := *w
				w.t = t
				id := name + "-" + toolID
				inv := invocation(id, toolID, `{"text":"hello"}`)
				want := w.invoke(inv)
				before, epoch := effects.of(id), w.record(inv).Epoch
				again(&w, inv)
				if got := w.runAgain(inv); !same(got, want) {
					t.Errorf("the second run answered %+v, want %+v", got, want)
				}
				other := invocation(id, toolID, `{"text":"bye"}`)
				wantCode(t, w.runAgain(other), toolspec.CodeConflict)
				// In the local lane a busy machine may have run it again before the end.
				if n := effects.of(id); n != before || n < 1 || n > 1 && toolID != "test__read" {
					t.Errorf("the tool ran %d times, and %d in the first run", n, before)
				}
				if record := w.record(inv); record.Epoch != epoch || record.Result == nil || !same(*record.Result, want) {
					t.Errorf("the record is %+v, want epoch %d and %+v", record, epoch, want)
				}
			})
		}
	}
}

// runAgain starts another run under the same id, and returns its result.
func (w *world) runAgain(inv toolspec.Invocation) toolspec.Result {
	w.t.Helper()
	run, err := w.temporal.ExecuteWorkflow(w.t.Context(), client.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, toolspec.WorkflowType, inv)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.ended(run)
}

// forget deletes a workflow with its history.
func (w *world) forget(workflowID string) {
	w.t.Helper()
	if _, err := w.temporal.WorkflowService().DeleteWorkflowExecution(w.t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: w.namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: workflowID},
	}); err != nil {
		w.t.Fatal(err)
	}
	w.gone(workflowID)
}

// gone waits until the server knows nothing of a workflow any more.
func (w *world) gone(workflowID string) {
	w.t.Helper()
	w.until(func() bool {
		_, err := w.temporal.DescribeWorkflowExecution(w.t.Context(), workflowID, "")
		return err != nil
	}, workflowID+" is gone")
}

// same compares two results by their JSON.
func same(a, b toolspec.Result) bool { return asJSON(a) == asJSON(b) }
