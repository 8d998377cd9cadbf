package takeovers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// TestRetriesForReal compares the stages, attempts and times of failing tools in the record with the expected ones. It uses the real clock, without skipping
// time.
func TestRetriesForReal(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	failing := func(err error, times int) e2etest.Run {
		var effects e2etest.Ledger
		return func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if effects.Add(call) <= times {
				return e2etest.Out{}, err
			}
			return e2etest.Echo(ctx, in, call)
		}
	}
	plain := errors.New("canary")
	w.Work(worker.Tools(
		e2etest.Tool("test__twice", failing(plain, 2)), e2etest.Tool("test__always", failing(plain, 99)),
		e2etest.Tool("test__aborts", failing(toolspec.Abort("not today", "closed", 403), 99)),
		e2etest.Tool("test__busy", failing(toolspec.RetryAfter(1500*time.Millisecond, "busy"), 1), e2etest.Once, e2etest.Attempts(2)),
		e2etest.Tool("test__once", failing(plain, 99), e2etest.Once),
	), worker.Hooks(watching()))
	for _, tc := range []struct {
		tool     string
		code     toolspec.Code
		tried    string
		stages   string
		from, to time.Duration
	}{
		{"test__twice", "", "failed_safely execution, failed_safely execution, ok", "onRetry 2, onRetry 3", 3 * time.Second, 5 * time.Second},
		{"test__always", toolspec.CodeExecution, "failed_safely execution, failed_safely execution, failed_safely execution",
			"onRetry 2, onRetry 3, onGiveUp, onError", 3 * time.Second, 6 * time.Second},
		{"test__aborts", toolspec.CodeAborted, "failed_safely aborted", "onError", 0, time.Second},
		{"test__busy", "", "failed_safely rate_limited, ok", "onRetry 2", 1500 * time.Millisecond, 4 * time.Second},
		{"test__once", toolspec.CodeExecution, "failed execution", "onGiveUp, onError", 0, time.Second},
	} {
		t.Run(tc.tool, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			inv := e2etest.Invocation(tc.tool[len("test__"):], tc.tool, `{"text":"hello"}`)
			r := w.Invoke(inv)
			if r.ErrorCode != tc.code {
				t.Errorf("ended with %+v, want %q", r, tc.code)
			}
			if tc.code == toolspec.CodeAborted && (r.SafeMessage != "not today" || r.HTTPStatus != 403 || r.Details.Code != "closed") {
				t.Errorf("the caller is told %+v (%+v)", r, r.Details)
			}
			of := fmt.Sprintf(`JOIN invocations USING (invocation_id) WHERE tool_call_id = '%s'`, inv.ToolCallID)
			if got := e2etest.Scalar[string](&w, `SELECT string_agg(trim(a.outcome || ' ' || a.code), ', ' ORDER BY seq) FROM attempts a `+of); got != tc.tried {
				t.Errorf("attempts: %s; want %s", got, tc.tried)
			}
			got := e2etest.Scalar[string](&w, `SELECT coalesce(string_agg(stage || CASE WHEN stage = 'onRetry' THEN ' ' || round ELSE '' END, ', ' ORDER BY seq), '')
				FROM stage_events `+of+` AND stage IN ('onRetry', 'onGiveUp', 'onError')`)
			if got != tc.stages {
				t.Errorf("stages: %s; want %s", got, tc.stages)
			}
			took := time.Duration(e2etest.Scalar[int](&w, `SELECT (extract(epoch FROM max(a.at) - min(a.at)) * 1000)::int FROM attempts a `+of)) * time.Millisecond
			if took < tc.from {
				t.Errorf("the attempts began within %s, want no less than %s", took, tc.from)
			}
			// The real times depend on the machine. The pauses of the call are in its timers.
			var paused time.Duration
			for _, e := range w.History(inv.Identity().WorkflowID(), "").GetEvents() {
				paused += e.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration()
			}
			if paused < tc.from || paused > tc.to {
				t.Errorf("the pauses are %s, want between %s and %s", paused, tc.from, tc.to)
			}
		})
	}
}

// watching returns a hook that handles the stages of retries, so that these stages are in the plan.
func watching() hook.Hook {
	return hook.New("watching",
		hook.OnRetry.Do(func(context.Context, *hook.Attempt) error { return nil }),
		hook.OnGiveUp.Do(func(context.Context, *hook.Report) error { return nil }),
		hook.OnError.Do(func(context.Context, *hook.Report) error { return nil }))
}
