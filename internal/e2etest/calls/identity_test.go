package calls

import (
	"context"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/postgrestest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSameCallTwice: a second start with the same input attaches to the call, a start with another input under the same id is a conflict, and the tool runs
// once.
func TestSameCallTwice(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	entered, release := make(chan struct{}), make(chan struct{})
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out,
		error) {
		close(entered)
		<-release
		return e2etest.Echo(ctx, in, call)
	}), e2etest.Once)))
	inv := e2etest.Invocation("twice", "test__send", `{"text":"hello"}`)
	first := w.Start(inv)
	e2etest.Receive(t, entered)
	// The requestId and the formatting of the arguments are not part of the input that is compared.
	inv.Context.RequestID, inv.Args = "another", []byte(`"{ \"text\" : \"hello\" }"`)
	second := w.Start(inv)
	other := e2etest.Invocation("twice", "test__send", `{"text":"bye"}`)
	third := w.Start(other)
	close(release)
	want := w.Result(first)
	e2etest.WantText(t, want, "hello")
	if got := w.Result(second); !e2etest.SameResult(got, want) {
		t.Errorf("the second result is %+v, want %+v", got, want)
	}
	e2etest.WantCode(t, w.Result(third), toolspec.CodeConflict)
	// The same holds after the call has ended.
	e2etest.WantCode(t, w.Invoke(other), toolspec.CodeConflict)
	if got := w.Invoke(inv); !e2etest.SameResult(got, want) {
		t.Errorf("the result of the ended call is %+v, want %+v", got, want)
	}
	if n := effects.Of("twice"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// TestAnotherRun: when a workflow runs again under the id of a settled call, for any reason, it returns the result of the record, and the tool does not run.
func TestAnotherRun(t *testing.T) {
	t.Parallel()
	server := devstacktest.OwnTemporal(t, e2etest.QuickDeletes())
	w := e2etest.NewWorldOn(t, server.Address(), postgrestest.Database(t), e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(
		e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once),
		e2etest.Tool("test__fail", effects.Counted(func(context.Context, e2etest.In, toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{}, toolspec.Safef("no such thing")
		}), e2etest.Once),
		e2etest.Tool("test__read", effects.Counted(e2etest.Echo), e2etest.Fast),
	))
	for name, again := range map[string]func(w *e2etest.World, inv toolspec.Invocation){
		"kept":    func(*e2etest.World, toolspec.Invocation) {},
		"deleted": func(w *e2etest.World, inv toolspec.Invocation) { forget(w, inv.Identity().WorkflowID()) },
		// The temporal program deletes the workflow, and every kind of caller makes the call again, with the policies of the contract. There is no workflow to which it
		// could attach.
		"deleted-by-cli": func(w *e2etest.World, inv toolspec.Invocation) {
			want := w.Record(inv).Result
			for by, again := range callerKinds() {
				w.MustCLI("workflow", "delete", "--workflow-id", inv.Identity().WorkflowID())
				gone(w, inv.Identity().WorkflowID())
				if got := again.result(w, inv); !e2etest.SameResult(got, *want) {
					w.T.Errorf("by %s the run after the delete answered %+v, want %+v", by, got, want)
				}
			}
		},
	} {
		for _, toolID := range []string{"test__send", "test__fail", "test__read"} {
			t.Run(name+"/"+toolID, func(t *testing.T) {
				t.Parallel()
				w := *w
				w.T = t
				id := name + "-" + toolID
				inv := e2etest.Invocation(id, toolID, `{"text":"hello"}`)
				want := w.Invoke(inv)
				before, epoch := effects.Of(id), w.Record(inv).Epoch
				again(&w, inv)
				if got := w.RunAgain(inv); !e2etest.SameResult(got, want) {
					t.Errorf("the second run answered %+v, want %+v", got, want)
				}
				other := e2etest.Invocation(id, toolID, `{"text":"bye"}`)
				e2etest.WantCode(t, w.RunAgain(other), toolspec.CodeConflict)
				// On a busy machine a tool of the local lane may have run twice before the call ended.
				if n := effects.Of(id); n != before || n < 1 || n > 1 && toolID != "test__read" {
					t.Errorf("the tool ran %d times, and %d in the first run", n, before)
				}
				if record := w.Record(inv); record.Epoch != epoch || record.Result == nil || !e2etest.SameResult(*record.Result, want) {
					t.Errorf("the record is %+v, want epoch %d and %+v", record, epoch, want)
				}
			})
		}
	}
}

// forget deletes a workflow with its history.
func forget(w *e2etest.World, workflowID string) {
	w.T.Helper()
	if _, err := w.Temporal.WorkflowService().DeleteWorkflowExecution(w.T.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: w.Namespace, WorkflowExecution: &common.WorkflowExecution{WorkflowId: workflowID},
	}); err != nil {
		w.T.Fatal(err)
	}
	gone(w, workflowID)
}

// gone waits until the server has no workflow with this id any more.
func gone(w *e2etest.World, workflowID string) {
	w.T.Helper()
	w.Until(func() bool {
		_, err := w.Temporal.DescribeWorkflowExecution(w.T.Context(), workflowID, "")
		return err != nil
	}, workflowID+" is gone")
}
