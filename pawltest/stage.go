package pawltest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/activities/output"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// At runs a hook at one of its stages, as a worker does, for example At(t, hook.WillAuthorize,
// limit). The hook sees what the stage shows of the call: arguments only after hydration, and
// Output, redacted, after the tool. The verdict says how the stage ends and what the hook changed,
// masked and redacted. With the outcome "" the call continues. A misuse is the failure internal,
// as in production, and the test's log names it.
//
// At returns an error only if a retry can correct it: Pawl would run the stage again. A hook
// without a handler at the stage ends the test. So does a stage inside the attempt, aroundExecute,
// willExecute or didExecute: set Hooks and use Run.
func (c Call) At(t testing.TB, point interface{ Stage() hook.Stage }, h hook.Hook) (hook.Verdict, error) {
	t.Helper()
	b, at := newCallWorker(t, c, []hook.Hook{h}), point.Stage()
	info, ok := hook.InfoOf(at)
	switch inside := []hook.Stage{hook.AroundExecute.Stage(), hook.WillExecute.Stage(), hook.DidExecute.Stage()}; {
	case !ok:
		t.Fatalf("pawltest: there is no stage %q", at)
	case slices.Contains(inside, at):
		t.Fatalf("pawltest: %s is part of an attempt: set Call.Hooks and use Call.Run", at)
	}
	planned := b.hooks.Steps([]hook.Info{info}, b.inv.ToolID, func(hook.Stage) bool { return false })
	if len(planned) == 0 {
		t.Fatalf("pawltest: hook %q does nothing at %s", h.Name(), at)
	}
	runner := stage.Runner{
		Hooks: b.hooks, Providers: b.providers, Tools: b.tools, Policies: noPolicy{}, Records: b.record, Validate: b.hydrator.CheckArgs,
		Outputs: &output.Deliverer{Store: b.record, Secrets: b.live}, Log: b.log,
	}
	ctx, budget := b.context(), planned[0].DurableMs
	if budget == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, contract.StepTimeout)
		defer cancel()
	}
	return runner.Stage(ctx, hook.StageInput{
		Stage: at, Hooks: planned[0].Hooks, PlanVersion: hook.PlanVersion, BudgetMs: budget, Facts: b.stageFacts(info),
	})
}

// stageFacts returns the facts of the call at a stage. It ends the test if the call of the test
// cannot reach the stage.
func (b *callWorker) stageFacts(info hook.Info) hook.Facts {
	b.t.Helper()
	facts := b.facts()
	// Every stage has the valid arguments, except the stages before hydrate.
	at, hydrate := indexOf(hook.Pre(), info.Stage), indexOf(hook.Pre(), hook.Hydrate)
	if beforeHydrate := at >= 0 && at < hydrate; !beforeHydrate {
		var refused *hook.Failure
		if facts, refused = b.hydrate(); refused != nil {
			b.t.Fatalf("pawltest: the call does not get to %s: %s: %s", info.Stage, refused.Code, refused.SafeMessage)
		}
	}
	if raw := encoded(b.t, "Output", b.call.Output); raw != nil {
		if indexOf(hook.Post(), info.Stage) < 0 {
			b.t.Fatalf("pawltest: there is no output at %s: leave Call.Output out", info.Stage)
		}
		if problems := b.bound.ValidateOutput(raw); len(problems) > 0 {
			b.t.Fatalf("pawltest: Output breaks the output schema of %s: %s: %s", b.inv.ToolID, problems[0].Path, problems[0].Message)
		}
		redacted, err := b.bound.Redact(raw)
		if err != nil {
			b.t.Fatalf("pawltest: Output: %v", err)
		}
		facts.Output, facts.OutputHistory, facts.Source = redacted, []json.RawMessage{redacted}, toolspec.SourceExecuted
	}
	if b.call.Facts != nil {
		b.call.Facts(&facts)
	}
	return facts
}

func indexOf(list []hook.Info, s hook.Stage) int {
	return slices.IndexFunc(list, func(i hook.Info) bool { return i.Stage == s })
}
