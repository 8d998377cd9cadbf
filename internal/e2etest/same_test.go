package e2etest

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
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// TestSameCallByEveryDoor: a call that runs, and one that is over, made again by each of the three ways: the same result. With other
// arguments it is a conflict, and nobody sees the other's result.
func TestSameCallByEveryDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	entered, release := make(chan struct{}, 3), make(chan struct{})
	w.work(worker.Tools(tool("test__send", effects.counted(func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		entered <- struct{}{}
		<-release
		return echo(ctx, in, call)
	}), once, within(5*time.Minute))))
	made := func(name, text string) toolspec.Invocation {
		return invocation("by-"+name, "test__send", fmt.Sprintf(`{"text":%q}`, text))
	}
	for name, first := range doors() {
		first.start(w, made(name, "hello"))
		receive(t, entered)
		for _, again := range doors() {
			again.start(w, made(name, "hello"))
			again.start(w, made(name, "bye"))
		}
	}
	close(release)
	for name, first := range doors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			want := first.result(&w, made(name, "hello"))
			wantText(t, want, "hello")
			for by, again := range doors() {
				if got := again.result(&w, made(name, "hello")); !same(got, want) {
					t.Errorf("by %s the result is %+v, want %+v", by, got, want)
				}
				r := again.result(&w, made(name, "bye"))
				wantCode(t, r, toolspec.CodeConflict)
				if r.Value != nil {
					t.Errorf("by %s a conflict shows %s", by, r.Value)
				}
			}
			record := w.record(made(name, ""))
			if n := effects.of("by-" + name); n != 1 || record.Epoch > 1+w.lostTasks(made(name, "")) || !same(*record.Result, want) {
				t.Errorf("%d effects and the record %+v, want one and %+v", n, record, want)
			}
		})
	}
}

// TestSameCallAtOnce: twenty callers in two processes, and both programs, at the same time: one run, one effect, one result.
func TestSameCallAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once), tool("test__fast", effects.counted(echo), fast)))
	for _, toolID := range []string{"test__send", "test__fast"} {
		t.Run(toolID, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			inv := invocation(toolID, toolID, `{"text":"hello"}`)
			var all sync.WaitGroup
			printed := make([]string, 2)
			failed := make([]error, 2)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for i := range printed {
				child := w.child(ctx, childCallers, "10", asJSON(inv))
				all.Go(func() {
					text, err := child.Output()
					printed[i], failed[i] = string(text), err
				})
			}
			got := []toolspec.Result{resultRaw(&w, inv), doors()["pawl"].result(&w, inv)}
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
			record := w.record(inv)
			for _, r := range got {
				if wantText(t, r, "hello"); !same(r, *record.Result) {
					t.Errorf("one result is %+v, want %+v", r, record.Result)
				}
			}
			// A workflow task that a busy machine loses is made anew, in the next epoch and, in the local lane, with its tool.
			most := 1 + w.lostTasks(inv)
			if n := effects.of(toolID); n < 1 || n > 1 && toolID == "test__send" || n > most || record.Epoch < 1 || record.Epoch > most {
				t.Errorf("%d effects in epoch %d, want one in the first", n, record.Epoch)
			}
		})
	}
}

// terminating are ways to start a run in the place of one that runs.
func terminating() map[string]func(w *world, inv toolspec.Invocation) {
	byClient := func(o client.StartWorkflowOptions) func(w *world, inv toolspec.Invocation) {
		return func(w *world, inv toolspec.Invocation) {
			o := o // several tests have it
			o.ID, o.TaskQueue = inv.Identity().WorkflowID(), toolspec.TaskQueue
			if _, err := w.temporal.ExecuteWorkflow(w.t.Context(), o, toolspec.WorkflowType, inv); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return map[string]func(w *world, inv toolspec.Invocation){
		"terminate-existing": byClient(client.StartWorkflowOptions{WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING}),
		"terminate-if-running": byClient(client.StartWorkflowOptions{
			WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING, //nolint:staticcheck // others send it
		}),
		"cli-terminate-existing": func(w *world, inv toolspec.Invocation) {
			w.rawStart(inv.Identity().WorkflowID(), "--input", asJSON(inv), "--id-conflict-policy", "TerminateExisting")
		},
		"cli-terminate-if-running": func(w *world, inv toolspec.Invocation) {
			w.rawStart(inv.Identity().WorkflowID(), "--input", asJSON(inv), "--id-reuse-policy", "TerminateIfRunning")
		},
	}
}

// TestRunInPlaceOfOneThatRuns: the run that is terminated may have had its effect, so the next one has none. Where the tool may be
// repeated it is, with the same key; where a person is asked the request stays the same one. Other arguments are a conflict, also here.
func TestRunInPlaceOfOneThatRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	var keys sync.Map
	hanging := func(ctx context.Context, in in, call toolspec.Call) (out, error) {
		keys.Store(call.ToolCallID+call.IdempotencyKey, true)
		if n := effects.add(call); n > 1 {
			return echo(ctx, in, call)
		}
		<-ctx.Done()
		return out{}, ctx.Err()
	}
	w.work(worker.Tools(
		tool("test__send", hanging, once), tool("test__write", hanging, idempotent), tool("test__asked", effects.counted(echo), once, risky),
	))
	type started struct {
		w   *world
		inv toolspec.Invocation
	}
	runs := func(s started) {
		s.w.until(func() bool { return effects.of(s.inv.ToolCallID) > 0 }, s.inv.ToolCallID+" runs")
	}
	for name, restart := range terminating() {
		each := func(kind, toolID string, f func(s started)) {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				w := *w
				w.t = t
				s := started{&w, invocation(kind+"-"+name, toolID, `{"text":"hello"}`)}
				w.start(s.inv)
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
			other := invocation(s.inv.ToolCallID, "test__send", `{"text":"bye"}`)
			restart(s.w, other)
			wantCode(s.w.t, s.w.resultOf(other.Identity().WorkflowID(), ""), toolspec.CodeConflict)
			// Its own caller finds it by another run.
			wantCode(s.w.t, s.w.runAgain(s.inv), toolspec.CodeOutcomeUnknown)
			wantUnknown(s.w, s.inv, &effects)
		})
		each("idempotent", "test__write", func(s started) {
			runs(s)
			restart(s.w, s.inv)
			r := s.w.resultOf(s.inv.Identity().WorkflowID(), "")
			wantText(s.w.t, r, "hello")
			if n := effects.of(s.inv.ToolCallID); n != 2 || !same(r, *s.w.record(s.inv).Result) {
				s.w.t.Errorf("%d runs and the result %+v; the record is %+v", n, r, s.w.record(s.inv))
			}
		})
		each("waiting", "test__asked", func(s started) {
			id := s.inv.Identity().WorkflowID()
			view := s.w.waiting(id)
			restart(s.w, s.inv)
			again := s.w.approve(id)
			if again.ApprovalID != view.ApprovalID || again.Digest != view.Digest {
				s.w.t.Errorf("the request is %+v now, want %+v", again, view)
			}
			wantText(s.w.t, s.w.resultOf(id, ""), "hello")
			if n := effects.of(s.inv.ToolCallID); n != 1 {
				s.w.t.Errorf("the tool ran %d times", n)
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

// wantUnknown fails unless a call ended as unknown, after one effect, and says so to every way to make it again.
func wantUnknown(w *world, inv toolspec.Invocation, effects *ledger) {
	w.t.Helper()
	r := w.resultOf(inv.Identity().WorkflowID(), "")
	wantCode(w.t, r, toolspec.CodeOutcomeUnknown)
	if got := w.invoke(inv); !same(got, r) {
		w.t.Errorf("made again the call ended with %+v, want %+v", got, r)
	}
	record := w.record(inv)
	if n := effects.of(inv.ToolCallID); n != 1 || record.Result == nil || !same(*record.Result, r) {
		w.t.Errorf("%d effects, the result %+v and the record %+v", n, r, record)
	}
}

// TestStartAnswerLost: the server starts a call and its answer never comes. Whether the client sends the same request again by itself or
// its caller starts anew, there is one workflow with one effect.
func TestStartAnswerLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once)))
	var seen, lose atomic.Int32
	lossy := func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
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
	options := w.config().Temporal
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(lossy))
	temporal, err := client.DialContext(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	defer temporal.Close()
	c := pawl.New(temporal, pawl.Options{})

	t.Run("client tries again", func(t *testing.T) {
		lose.Store(2)
		inv := invocation("again", "test__send", `{"text":"hello"}`)
		r, err := c.Invoke(t.Context(), inv)
		if err != nil || seen.Swap(0) != 3 {
			t.Fatalf("%v, want a result from the third request", err)
		}
		wantOneRun(w, inv, r, &effects)
	})
	t.Run("caller tries again", func(t *testing.T) {
		lose.Store(1000)
		inv := invocation("anew", "test__send", `{"text":"hello"}`)
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

// wantOneRun fails unless a call was one run of a workflow, with one effect and this result.
func wantOneRun(w *world, inv toolspec.Invocation, r toolspec.Result, effects *ledger) {
	w.t.Helper()
	wantText(w.t, r, "hello")
	record := w.record(inv)
	info := w.describe(inv.Identity().WorkflowID()).GetWorkflowExecutionInfo()
	if record.TemporalRunID != info.GetExecution().GetRunId() || record.Epoch > 1+w.lostTasks(inv) || !same(*record.Result, r) {
		w.t.Errorf("the current run is %s and the record is %+v, want one run", info.GetExecution().GetRunId(), record)
	}
	if n := effects.of(inv.ToolCallID); n != 1 {
		w.t.Errorf("the tool ran %d times", n)
	}
}
