package activities_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

func durableHook(f func(ctx context.Context, v *hook.Input) error) hook.Hook {
	return hook.New("h", hook.Durable(time.Hour), hook.WillNormalizeInput.Do(f))
}

// TestDurableBudget: all hooks of a durable stage share one budget, whether or not a hook stops when its
// context ends.
func TestDurableBudget(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, f := range map[string]func(context.Context, *hook.Input) error{
		"listens": func(ctx context.Context, _ *hook.Input) error { <-ctx.Done(); return ctx.Err() },
		"deaf":    func(context.Context, *hook.Input) error { <-release; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setup{hooks: []hook.Hook{durableHook(f)}})
			v, err := w.Stage(t.Context(), hook.StageInput{Stage: hook.WillNormalizeInput.Stage(), Hooks: []string{"h"}, BudgetMs: 20, Facts: w.facts()})
			if err != nil || v.Outcome != hook.Failed || v.Failure.Code != toolspec.CodeTimeout || v.Failure.SafeMessage != "the hooks at willNormalizeInput did not end in time" {
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
}

// TestDurableCancelled: the cancel of a call reaches the hook, and does not count as a failure of the hook. If
// the hook still answers, its answer counts.
func TestDurableCancelled(t *testing.T) {
	for name, answer := range map[string]error{"stopped": context.Canceled, "failed": errors.New("broken off"), "answered": nil} {
		t.Run(name, func(t *testing.T) {
			// The hook has one second to answer. This test takes no real time.
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				w := newWorld(t, setup{hooks: []hook.Hook{durableHook(func(ctx context.Context, v *hook.Input) error {
					cancel()
					<-ctx.Done()
					return answer
				})}})
				v, err := w.Stage(ctx, hook.StageInput{Stage: hook.WillNormalizeInput.Stage(), Hooks: []string{"h"}, BudgetMs: 60_000, Facts: w.facts()})
				if answer == nil && (err != nil || v.Outcome != hook.Continue) || answer != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("got %+v, %v", v, err)
				}
			})
		})
	}
}

// TestDurableLeaves: if the worker stops, the hook has a moment to end. Then the worker leaves the stage to
// another worker.
func TestDurableLeaves(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	stop := make(chan struct{})
	env.SetWorkerStopChannel(stop)
	w := newWorld(t, setup{hooks: []hook.Hook{durableHook(func(ctx context.Context, _ *hook.Input) error {
		close(stop)
		<-ctx.Done()
		return ctx.Err()
	})}})
	w.records.record.Plan = hook.Plan{V: hook.PlanVersion, Pre: []hook.Step{{Stage: hook.WillNormalizeInput.Stage(), Hooks: []string{"h"}, DurableMs: 60_000}}}
	w.Register(env)
	_, err := env.ExecuteActivity(contract.Stage(hook.WillNormalizeInput.Stage()).Name(), hook.StageInput{
		Stage: hook.WillNormalizeInput.Stage(), Hooks: []string{"h"}, Part: hook.PartHooks, BudgetMs: 60_000, Facts: w.facts(),
	})
	var left *temporal.ApplicationError
	if !errors.As(err, &left) || left.Type() != string(toolspec.CodeUnavailable) || left.NonRetryable() {
		t.Errorf("got %v, want another try", err)
	}
}

// TestDurablePlan: a durable hook makes the deadline later by its longest time, once for each of its stages. The stage onRetry counts once for
// each attempt except the first. The closing stages, such as didAudit, do not count.
func TestDurablePlan(t *testing.T) {
	deadline := func(hooks ...hook.Hook) int64 {
		w := newWorld(t, setup{hooks: hooks, def: func(d *toolspec.Definition) { d.Idempotent, d.MaxAttempts = true, 3 }})
		got, err := w.Admit(t.Context(), admitIn())
		if err != nil {
			t.Fatal(err)
		}
		return got.Plan.Budgets.DeadlineMs
	}
	bare := deadline()
	got := deadline(hook.New("lasting", hook.Durable(time.Minute),
		hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return nil }),
		hook.OnRetry.Do(func(context.Context, *hook.Attempt) error { return nil }),
		hook.WillTransformOutput.Do(func(context.Context, *hook.Output) error { return nil }),
		hook.DidAudit.Do(func(context.Context, *hook.Report) error { return nil })))
	if want := bare + (1+2+1)*60_000; got != want {
		t.Errorf("the deadline is %d ms, want %d", got, want)
	}
}
