package stage

import (
	"context"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// SweptStage runs the hooks of a closing stage of a call that the sweeper has settled. Pawl's
// own step does not run, because the sweeper has done its work. The hooks get the providers of
// this worker. The outcome is hook.Missing if this worker lacks one of the hooks: a hook that
// releases something must not be skipped.
func (r *Runner) SweptStage(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	if judge.IsNewerPlan(in.PlanVersion) {
		return hook.Verdict{Outcome: hook.Missing, By: judge.PlanName(in.PlanVersion)}, nil
	}
	if name, lacks := r.Hooks.LacksAt(in.Stage, in.Hooks); lacks {
		return hook.Verdict{Outcome: hook.Missing, By: "hook " + name}, nil
	}
	defer r.Providers.Forget(in.Facts.InvocationID)
	provided, _ := r.Providers.Provide(ctx, in.Facts)
	return r.runHooks(provided, in, hook.Delta{})
}
