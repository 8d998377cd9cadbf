package hook_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

func TestDurableIsChecked(t *testing.T) {
	input := hook.WillNormalizeInput.Do(func(context.Context, *hook.Input) error { return nil })
	for _, tc := range []struct {
		name    string
		options []hook.Option
		want    string
	}{
		{"an input stage", []hook.Option{input, hook.Durable(time.Minute)}, ""},
		{"the shortest", []hook.Option{input, hook.Durable(time.Millisecond)}, ""},
		{"the longest", []hook.Option{input, hook.Durable(hook.MaxDurable)}, ""},
		{"no time", []hook.Option{input, hook.Durable(0)}, "at least a millisecond and at most 24h0m0s"},
		{"negative", []hook.Option{input, hook.Durable(-time.Second)}, "at least a millisecond"},
		{"too long", []hook.Option{input, hook.Durable(hook.MaxDurable + 1)}, "at most 24h0m0s"},
		{"around the tool", []hook.Option{hook.Durable(time.Second), hook.AroundExecute.Do(func(context.Context, *hook.Around) error { return nil })},
			"stands at aroundExecute, which is part of the execute activity"},
		{"before the tool", []hook.Option{input, hook.Durable(time.Second), hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { return nil })},
			"stands at willExecute"},
		{"after the tool", []hook.Option{hook.Durable(time.Second), hook.DidExecute.Do(func(context.Context, *hook.Executed) error { return nil })},
			"stands at didExecute"},
		{"before another attempt", []hook.Option{hook.Durable(time.Second), hook.OnRetry.Do(func(context.Context, *hook.Attempt) error { return nil })}, ""},
		{"after the last one", []hook.Option{hook.Durable(time.Second), hook.OnGiveUp.Do(func(context.Context, *hook.Report) error { return nil })}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := hook.NewRegistry(slog.New(slog.DiscardHandler), []hook.Hook{hook.New("lasting", tc.options...)}, nil)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestDurableSteps: DurableMs of a step is the sum over its durable hooks, and 0 without a durable
// hook.
func TestDurableSteps(t *testing.T) {
	none := func(hook.Stage) {}
	r, _ := registry(t,
		hook.New("quick", on(hook.WillAuthorize, none), on(hook.WillAudit, none)),
		hook.New("slow", hook.Durable(time.Minute), on(hook.WillAuthorize, none), on(hook.DidAudit, none)),
		hook.New("slower", hook.Durable(1500*time.Millisecond), on(hook.WillAuthorize, none)))
	for stage, want := range map[hook.Stage]int64{
		hook.WillAuthorize.Stage(): 61_500, hook.WillAudit.Stage(): 0, hook.DidAudit.Stage(): 60_000,
	} {
		p := hook.Plan{Pre: r.Steps(hook.Pre(), "core__a", noOwn), Post: r.Steps(hook.Post(), "core__a", noOwn)}
		if step, ok := p.Step(stage); !ok || step.DurableMs != want {
			t.Errorf("%s has %d ms, want %d", stage, step.DurableMs, want)
		}
	}
}

// TestDurableTakesTooLong: a hook that exceeds its longest run fails with `timeout` and does not
// stop other hooks. If the hook returns a Transient error, the stage is tried again.
func TestDurableTakesTooLong(t *testing.T) {
	tooLong := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	slow := hook.New("slow", hook.Durable(time.Millisecond),
		hook.WillAuthorize.Do(func(ctx context.Context, _ *hook.Gate) error { return tooLong(ctx) }),
		hook.DidAudit.Do(func(ctx context.Context, _ *hook.Report) error { return tooLong(ctx) }))
	v := run(t, hook.WillAuthorize.Stage(), facts(), slow)
	if v.Outcome != hook.Failed || v.By != "slow" || v.Failure.Code != toolspec.CodeTimeout || v.Failure.SafeMessage != "hook slow did not end within 1ms at willAuthorize" {
		t.Errorf("got %+v, %+v", v, v.Failure)
	}
	ran := false
	next := at("next", hook.DidAudit, func(*hook.Report) error { ran = true; return nil })
	v = run(t, hook.DidAudit.Stage(), facts(), slow, next)
	if v.Outcome != hook.Continue || len(v.Notes) != 1 || v.Notes[0].Hook != "slow" || !ran {
		t.Errorf("at a logged stage: %+v, the next one ran: %v", v, ran)
	}

	passing := hook.New("passing", hook.Durable(time.Millisecond),
		hook.WillAuthorize.Do(func(ctx context.Context, _ *hook.Gate) error { return errs.Transient(tooLong(ctx)) }))
	r, _ := registry(t, passing)
	if _, err := r.Run(t.Context(), hook.StageInput{Stage: hook.WillAuthorize.Stage(), Hooks: []string{"passing"}}, hook.Delta{}); !errs.IsTransient(err) {
		t.Errorf("got %v, want it to be tried again", err)
	}
}

// TestCancelledStage: a hook that returns an error because its context was cancelled does not fail
// the call, and its stage has no verdict.
func TestCancelledStage(t *testing.T) {
	for _, stage := range []hook.Stage{hook.WillAuthorize.Stage(), hook.DidAudit.Stage()} {
		ctx, cancel := context.WithCancel(t.Context())
		stop := func() error { cancel(); return errors.New("stopped") }
		r, _ := registry(t, hook.New("h", hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return stop() }),
			hook.DidAudit.Do(func(context.Context, *hook.Report) error { return stop() })))
		if v, err := r.Run(ctx, hook.StageInput{Stage: stage, Hooks: []string{"h"}}, hook.Delta{}); !errors.Is(err, context.Canceled) || v.Outcome != hook.Continue {
			t.Errorf("%s: got %+v, %v", stage, v, err)
		}
	}
}
