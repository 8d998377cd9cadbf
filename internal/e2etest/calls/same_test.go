package calls

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSameCallByEveryDoor: a call that is made again by each of the three kinds of callers, while it runs and after its end, gives the same result. With other
// arguments it is a conflict, and the caller does not see the result of the first call.
func TestSameCallByEveryDoor(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	entered, release := make(chan struct{}, 3), make(chan struct{})
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out,
		error) {
		entered <- struct{}{}
		<-release
		return e2etest.Echo(ctx, in, call)
	}), e2etest.Once, e2etest.Within(5*time.Minute))))
	made := func(name, text string) toolspec.Invocation {
		return e2etest.Invocation("by-"+name, "test__send", fmt.Sprintf(`{"text":%q}`, text))
	}
	for name, first := range callerKinds() {
		first.start(w, made(name, "hello"))
		e2etest.Receive(t, entered)
		for _, again := range callerKinds() {
			again.start(w, made(name, "hello"))
			again.start(w, made(name, "bye"))
		}
	}
	close(release)
	for name, first := range callerKinds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			want := first.result(&w, made(name, "hello"))
			e2etest.WantText(t, want, "hello")
			for by, again := range callerKinds() {
				if got := again.result(&w, made(name, "hello")); !e2etest.SameResult(got, want) {
					t.Errorf("by %s the result is %+v, want %+v", by, got, want)
				}
				r := again.result(&w, made(name, "bye"))
				e2etest.WantCode(t, r, toolspec.CodeConflict)
				if r.Value != nil {
					t.Errorf("by %s a conflict shows %s", by, r.Value)
				}
			}
			record := w.Record(made(name, ""))
			if n := effects.Of("by-" + name); n != 1 || record.Epoch > 1+w.LostTasks(made(name, "")) ||
				!e2etest.SameResult(*record.Result, want) {
				t.Errorf("%d effects and the record %+v, want one and %+v", n, record, want)
			}
		})
	}
}

// TestSameCallAtOnce: when twenty callers in two processes and both programs make a call at the same time, there is one run, one effect and one result.
func TestSameCallAtOnce(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once),
		e2etest.Tool("test__fast", effects.Counted(e2etest.Echo), e2etest.Fast)))
	for _, toolID := range []string{"test__send", "test__fast"} {
		t.Run(toolID, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			inv := e2etest.Invocation(toolID, toolID, `{"text":"hello"}`)
			var all sync.WaitGroup
			printed := make([]string, 2)
			failed := make([]error, 2)
			ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
			defer cancel()
			for i := range printed {
				child := w.Child(ctx, childCallers, "10", e2etest.AsJSON(inv))
				all.Go(func() {
					text, err := child.Output()
					printed[i], failed[i] = string(text), err
				})
			}
			got := []toolspec.Result{resultRaw(&w, inv), callerKinds()["pawl"].result(&w, inv)}
			all.Wait()
			if err := errors.Join(failed...); err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(strings.Join(printed, "")) {
				got = append(got, parsed[toolspec.Result](&w, line))
			}
			if len(got) != 22 {
				t.Fatalf("%d results, want 22", len(got))
			}
			record := w.Record(inv)
			for _, r := range got {
				if e2etest.WantText(t, r, "hello"); !e2etest.SameResult(r, *record.Result) {
					t.Errorf("one result is %+v, want %+v", r, record.Result)
				}
			}
			// A workflow task that is lost on a busy machine is repeated in the next epoch, and in the local lane it runs the tool again.
			most := 1 + w.LostTasks(inv)
			if n := effects.Of(toolID); n < 1 || n > 1 && toolID == "test__send" || n > most || record.Epoch < 1 || record.Epoch > most {
				t.Errorf("%d effects in epoch %d, want one in the first", n, record.Epoch)
			}
		})
	}
}

// terminating returns ways to start a new run that terminates a running one.
func terminating() map[string]func(w *e2etest.World, inv toolspec.Invocation) {
	byClient := func(o client.StartWorkflowOptions) func(w *e2etest.World, inv toolspec.Invocation) {
		return func(w *e2etest.World, inv toolspec.Invocation) {
			o := o // several tests have it
			o.ID, o.TaskQueue = inv.Identity().WorkflowID(), toolspec.TaskQueue
			if _, err := w.Temporal.ExecuteWorkflow(w.T.Context(), o, toolspec.WorkflowType, inv); err != nil {
				w.T.Fatal(err)
			}
		}
	}
	return map[string]func(w *e2etest.World, inv toolspec.Invocation){
		"terminate-existing": byClient(client.StartWorkflowOptions{WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING}),
		"terminate-if-running": byClient(client.StartWorkflowOptions{
			WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING, //nolint:staticcheck // it is deprecated, and other clients still send it
		}),
		"cli-terminate-existing": func(w *e2etest.World, inv toolspec.Invocation) {
			rawStart(w, inv.Identity().WorkflowID(), "--input", e2etest.AsJSON(inv), "--id-conflict-policy", "TerminateExisting")
		},
		"cli-terminate-if-running": func(w *e2etest.World, inv toolspec.Invocation) {
			rawStart(w, inv.Identity().WorkflowID(), "--input", e2etest.AsJSON(inv), "--id-reuse-policy", "TerminateIfRunning")
		},
	}
}

// TestRunInPlaceOfOneThatRuns: a terminated run may have had its effect, so the run that replaces it does not run the tool. A tool that may be repeated is
// repeated with the same key, and a call that waits for a person keeps its request. Other arguments are a conflict.
func TestRunInPlaceOfOneThatRuns(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	var keys sync.Map
	hanging := func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
		keys.Store(call.ToolCallID+call.IdempotencyKey, true)
		if n := effects.Add(call); n > 1 {
			return e2etest.Echo(ctx, in, call)
		}
		<-ctx.Done()
		return e2etest.Out{}, ctx.Err()
	}
	w.Work(worker.Tools(
		e2etest.Tool("test__send", hanging, e2etest.Once), e2etest.Tool("test__write", hanging, e2etest.Idempotent),
		e2etest.Tool("test__asked", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
	))
	type started struct {
		w   *e2etest.World
		inv toolspec.Invocation
	}
	runs := func(s started) {
		s.w.Until(func() bool { return effects.Of(s.inv.ToolCallID) > 0 }, s.inv.ToolCallID+" runs")
	}
	for name, restart := range terminating() {
		each := func(kind, toolID string, f func(s started)) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				w := *w
				w.T = t
				s := started{&w, e2etest.Invocation(kind+"-"+name, toolID, `{"text":"hello"}`)}
				w.Start(s.inv)
				f(s)
			})
		}
		each("once", "test__send", func(s started) {
			runs(s)
			restart(s.w, s.inv)
			wantUnknown(s.w, s.inv, &effects)
		})
		each("other-arguments", "test__send", func(s started) {
			runs(s)
			other := e2etest.Invocation(s.inv.ToolCallID, "test__send", `{"text":"bye"}`)
			restart(s.w, other)
			e2etest.WantCode(s.w.T, s.w.ResultOf(other.Identity().WorkflowID(), ""), toolspec.CodeConflict)
			// The caller of the first call gets its result by another run.
			e2etest.WantCode(s.w.T, s.w.RunAgain(s.inv), toolspec.CodeOutcomeUnknown)
			wantUnknown(s.w, s.inv, &effects)
		})
		each("idempotent", "test__write", func(s started) {
			runs(s)
			restart(s.w, s.inv)
			r := s.w.ResultOf(s.inv.Identity().WorkflowID(), "")
			e2etest.WantText(s.w.T, r, "hello")
			if n := effects.Of(s.inv.ToolCallID); n != 2 || !e2etest.SameResult(r, *s.w.Record(s.inv).Result) {
				s.w.T.Errorf("%d runs and the result %+v; the record is %+v", n, r, s.w.Record(s.inv))
			}
		})
		each("waiting", "test__asked", func(s started) {
			id := s.inv.Identity().WorkflowID()
			view := s.w.Waiting(id)
			restart(s.w, s.inv)
			again := s.w.Approve(id)
			if again.ApprovalID != view.ApprovalID || again.Digest != view.Digest {
				s.w.T.Errorf("the request is %+v now, want %+v", again, view)
			}
			e2etest.WantText(s.w.T, s.w.ResultOf(id, ""), "hello")
			if n := effects.Of(s.inv.ToolCallID); n != 1 {
				s.w.T.Errorf("the tool ran %d times", n)
			}
		})
	}
	t.Cleanup(func() {
		n := 0
		keys.Range(func(any, any) bool { n++; return true })
		if calls := 3 * len(terminating()); n != calls {
			t.Errorf("%d calls had %d idempotency keys", calls, n)
		}
	})
}

// wantUnknown fails unless a call ended with an unknown outcome after one effect, and ends so again for every kind of caller that makes it again.
func wantUnknown(w *e2etest.World, inv toolspec.Invocation, effects *e2etest.Ledger) {
	w.T.Helper()
	r := w.ResultOf(inv.Identity().WorkflowID(), "")
	e2etest.WantCode(w.T, r, toolspec.CodeOutcomeUnknown)
	if got := w.Invoke(inv); !e2etest.SameResult(got, r) {
		w.T.Errorf("made again the call ended with %+v, want %+v", got, r)
	}
	record := w.Record(inv)
	if n := effects.Of(inv.ToolCallID); n != 1 || record.Result == nil || !e2etest.SameResult(*record.Result, r) {
		w.T.Errorf("%d effects, the result %+v and the record %+v", n, r, record)
	}
}

// TestStartAnswerLost: the server starts a call, and its answer is lost. There is one workflow with one effect, whether the client repeats the request by
// itself or the caller starts the call again.
func TestStartAnswerLost(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once)))
	var seen, lose atomic.Int32
	lossy := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker,
		options ...grpc.CallOption) error {
		err := invoke(ctx, method, request, reply, conn, options...)
		if _, starts := request.(*workflowservice.StartWorkflowExecutionRequest); !starts || err != nil {
			return err
		}
		seen.Add(1)
		if lose.Add(-1) >= 0 {
			return status.Error(codes.Unavailable, "the answer is lost")
		}
		return nil
	}
	options := w.Config().Temporal
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(lossy))
	temporal, err := client.DialContext(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()
	c := pawl.New(temporal, pawl.Options{})

	t.Run("client tries again", func(t *testing.T) {
		lose.Store(2)
		inv := e2etest.Invocation("again", "test__send", `{"text":"hello"}`)
		r, err := c.Invoke(t.Context(), inv)
		if err != nil || seen.Swap(0) != 3 {
			t.Fatalf("%v, want a result from the third request", err)
		}
		wantOneRun(w, inv, r, &effects)
	})
	t.Run("caller tries again", func(t *testing.T) {
		lose.Store(1000)
		inv := e2etest.Invocation("anew", "test__send", `{"text":"hello"}`)
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := c.Start(ctx, inv); err == nil {
			t.Fatal("a start without an answer succeeded")
		}
		lose.Store(0)
		r, err := c.Invoke(t.Context(), inv)
		if err != nil {
			t.Fatal(err)
		}
		wantOneRun(w, inv, r, &effects)
	})
}

// wantOneRun fails unless a call had one workflow run, one effect and this result.
func wantOneRun(w *e2etest.World, inv toolspec.Invocation, r toolspec.Result, effects *e2etest.Ledger) {
	w.T.Helper()
	e2etest.WantText(w.T, r, "hello")
	record := w.Record(inv)
	info := w.Describe(inv.Identity().WorkflowID()).GetWorkflowExecutionInfo()
	if record.TemporalRunID != info.GetExecution().GetRunId() || record.Epoch > 1+w.LostTasks(inv) || !e2etest.SameResult(*record.Result, r) {
		w.T.Errorf("the current run is %s and the record is %+v, want one run", info.GetExecution().GetRunId(), record)
	}
	if n := effects.Of(inv.ToolCallID); n != 1 {
		w.T.Errorf("the tool ran %d times", n)
	}
}
