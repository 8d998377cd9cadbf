package activities_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// pass waits for d. Inside a synctest bubble the wait takes no real time.
func pass(d time.Duration) { <-time.NewTimer(d).C }

// TestLateHookStartsNoTool: a hook that does not stop in time calls Next after its attempt has ended. The tool must not run then, because another attempt may
// already run.
func TestLateHookStartsNoTool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{hooks: []hook.Hook{around(func(v *hook.Around) error {
			pass(time.Hour)
			_, err := v.Next()
			return err
		})}})
		in := w.executeIn()
		in.Around = []string{"around"}
		if got := w.execute(t.Context(), t, in); got.Outcome != contract.Interrupted || !got.LeftBehind {
			t.Errorf("got %+v", got)
		}
		pass(2 * time.Hour)
		if w.runs != 0 {
			t.Error("the tool ran after its attempt had ended")
		}
	})
}

// TestTimeouts: each way in which an attempt is stopped has its outcome. The test takes no real time.
func TestTimeouts(t *testing.T) {
	for _, tc := range []struct {
		name   string
		cancel time.Duration // after which the activity is cancelled; 0 never
		cause  error
		run    func(context.Context) (any, error)
		took   time.Duration
		want   contract.ExecuteOut
	}{
		{"a tool that stops when told", 0, nil, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }, 10 * time.Second,
			contract.ExecuteOut{Outcome: contract.Interrupted, Failure: &hook.Failure{Code: toolspec.CodeTimeout}}},
		{"a tool that ignores its context", 0, nil, func(context.Context) (any, error) { pass(time.Hour); return out{Text: canary}, nil }, 11 * time.Second,
			contract.ExecuteOut{Outcome: contract.Interrupted, LeftBehind: true, Failure: &hook.Failure{Code: toolspec.CodeTimeout}}},
		{"a tool that panics when told", 0, nil, func(ctx context.Context) (any, error) { <-ctx.Done(); panic(canary) }, 10 * time.Second,
			contract.ExecuteOut{Outcome: contract.Interrupted, Failure: &hook.Failure{Code: toolspec.CodeTimeout}}},
		{"an answer in the last moment counts", 0, nil, func(context.Context) (any, error) {
			pass(10*time.Second + time.Millisecond)
			return out{Text: "late"}, nil
		},
			10*time.Second + time.Millisecond, contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"late"}`), OutputInfo: toolspec.OutputInfo{Bytes: 15}}},
		{"its own word counts", 0, nil, func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, toolspec.Safef("stopped before it wrote")
		}, 10 * time.Second,
			contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{Code: toolspec.CodeExecution, SafeMessage: "Error executing tool: stopped before it wrote"}}},
		{"nothing happened", 0, nil, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, toolspec.RetryAfter(0, "x") }, 10 * time.Second,
			contract.ExecuteOut{Outcome: contract.Refused, Retryable: true, NothingHappened: true,
				Failure: &hook.Failure{Code: toolspec.CodeRateLimited, SafeMessage: "Error executing tool: x"}}},
		{"its abort counts", 0, nil, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, toolspec.Abort("x", "", 0) }, 10 * time.Second,
			contract.ExecuteOut{Outcome: contract.Refused, By: "(tool)", Failure: &hook.Failure{Code: toolspec.CodeAborted, SafeMessage: "x", Details: &toolspec.Details{}}}},
		{"its response counts", 0, nil, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, toolspec.Respond(out{Text: "late"}) }, 10 * time.Second,
			contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"late"}`), OutputInfo: toolspec.OutputInfo{Bytes: 15}, Responded: true, By: "(tool)"}},
		{"cancelled", 3 * time.Second, nil, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }, 3 * time.Second,
			contract.ExecuteOut{Outcome: contract.Interrupted, Failure: &hook.Failure{Code: toolspec.CodeCancelled}}},
		{"cancelled, as the SDK says it", 3 * time.Second, temporal.NewCanceledError(), func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }, 3 * time.Second,
			contract.ExecuteOut{Outcome: contract.Interrupted, Failure: &hook.Failure{Code: toolspec.CodeCancelled}}},
		{"not heard any more", 3 * time.Second, serviceerror.NewUnavailable("away"), func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }, 3 * time.Second,
			contract.ExecuteOut{Outcome: contract.Interrupted, Failure: &hook.Failure{Code: contract.CauseLost}}},
		{"cancelled, and it ignores that", 3 * time.Second, nil, func(context.Context) (any, error) { pass(time.Hour); return out{}, nil }, 4 * time.Second,
			contract.ExecuteOut{Outcome: contract.Interrupted, LeftBehind: true, Failure: &hook.Failure{Code: toolspec.CodeCancelled}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{run: func(ctx context.Context, _ in, _ toolspec.Call) (any, error) { return tc.run(ctx) }})
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tc.cancel > 0 {
					time.AfterFunc(tc.cancel, func() { cancel(tc.cause) })
				}
				started := time.Now()
				got := w.execute(ctx, t, w.executeIn())
				if !reflect.DeepEqual(got, tc.want) {
					t.Errorf("got %+v (%+v), want %+v", got, got.Failure, tc.want)
				}
				if took := time.Since(started); took != tc.took {
					t.Errorf("took %s, want %s", took, tc.took)
				}
				pass(2 * time.Hour) // the tools that were left behind end too
			})
		})
	}
}
