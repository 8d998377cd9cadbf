package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/output"
	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Runner runs stages. All fields are needed.
type Runner struct {
	Own       Table
	Hooks     *hook.Registry
	Providers providers.Providers
	Tools     judge.Source
	Policies  judge.Policies
	Records   Records
	// Validate returns the masked arguments of a tool, or the failure of arguments that the
	// tool does not accept.
	Validate func(bound *catalog.Bound, args json.RawMessage) (_, safe json.RawMessage, failure *hook.Failure)
	// Outputs redacts and stores the values of hooks.
	Outputs *output.Deliverer
	Log     *slog.Logger
}

// Stage runs one stage: Pawl's own step, the hooks of users, and Pawl's step after them. The
// name of the stage alone selects Pawl's steps. At the end, Stage masks and redacts the
// changes of the hooks, so that no hook can show what the tool hides.
func (r *Runner) Stage(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	if judge.IsNewerPlan(in.PlanVersion) {
		return hook.Verdict{Outcome: hook.Missing, By: judge.PlanName(in.PlanVersion)}, nil
	}
	if !contract.Executing(ctx).Local {
		owned, planned, err := r.isPlanned(ctx, in)
		switch {
		case err != nil || !owned:
			return hook.Verdict{Outcome: hook.Superseded}, err
		case !planned:
			// After a restore, the record may have another plan than the workflow. The call waits: another admit would not help.
			return hook.Verdict{Outcome: hook.Missing, By: "the recorded plan of " + string(in.Stage)}, nil
		}
	}
	own, has := r.Own[in.Stage]
	switch {
	case in.Own != "" && !has:
		return hook.Verdict{Outcome: hook.Missing, By: "step " + in.Own}, nil
	case !isKilled(in) && r.cannotReadPolicy(ctx, in):
		return hook.Verdict{Outcome: hook.Missing, By: "policy " + in.Facts.PolicyDigest, Unread: true}, nil
	}
	began := time.Now()
	v, err := r.runStage(ctx, own, in)
	if err == nil {
		v.DurationUs = max(v.DurationUs, time.Since(began).Microseconds())
	}
	return v, err
}

// isKilled reports whether the gate is going to answer with a kill switch, for which it needs
// neither a policy nor factories.
func isKilled(in hook.StageInput) bool {
	return hook.Own(in.Stage) == hook.Own(hook.WillAuthorize.Stage()) && in.Facts.Killed() != nil
}

// runStage runs the part in.Part of a stage: PartBefore is Pawl's step alone, PartHooks the hooks and
// Pawl's step after them, PartApprovers the hooks alone; without a part it is all three. If this
// worker lacks a factory of the call, a closed stage waits for another worker (hook.Missing), and a logged
// stage runs without the factory. If Pawl's step decides, the hooks do not run.
func (r *Runner) runStage(ctx context.Context, own Own, in hook.StageInput) (hook.Verdict, error) {
	info, _ := hook.InfoOf(in.Stage)
	provided, lacks := r.Providers.Provide(ctx, in.Facts)
	if lacks != "" && info.Failure == hook.Closed && !isKilled(in) {
		return hook.Verdict{Outcome: hook.Missing, By: lacks}, nil
	}
	if in.Part == hook.PartApprovers {
		own = Own{} // this part runs hooks only; the gate has run before
	}
	in, err := r.loadWhole(ctx, in)
	if err != nil {
		return hook.Verdict{}, err
	}
	before, err := r.before(provided, own, in)
	if err != nil {
		return hook.Verdict{}, err
	}
	if before.Outcome != hook.Continue || in.Part == hook.PartBefore {
		return r.guard(ctx, in, before)
	}
	if more := before.Delta.Bindings; len(more) > 0 {
		in.Facts.Bindings = hook.Bind(in.Facts.Bindings, more...)
		if provided, lacks = r.Providers.Provide(ctx, in.Facts); lacks != "" {
			return hook.Verdict{Outcome: hook.Missing, By: lacks}, nil
		}
	}
	v, err := r.runHooks(provided, in, before.Delta)
	if err != nil {
		return v, err
	}
	v.Notes = append(before.Notes, v.Notes...)
	if factory, lacks := r.Providers.Lacks(v.Delta.Bindings); lacks {
		return unknownFactory(in, factory, v), nil
	}
	if v.Outcome == hook.Missing {
		v.By = "hook " + v.By
		return v, nil
	}
	if own.After != nil && v.Outcome == hook.Continue {
		if v, err = r.runOwn(ctx, in, v, func(v *hook.Verdict) error { return own.After(ctx, in, v) }); err != nil {
			return hook.Verdict{}, err
		}
	}
	return r.guard(ctx, in, v)
}

// unknownFactory returns the verdict after a hook has bound a factory that the worker of the hook does not
// have. The program of the worker has a fault, so the call does not wait for another worker.
func unknownFactory(in hook.StageInput, factory string, v hook.Verdict) hook.Verdict {
	return hook.Verdict{Outcome: hook.Failed, By: v.By, DurationUs: v.DurationUs, Failure: &hook.Failure{
		Code: toolspec.CodeInternal, SafeMessage: "a hook binds the factory " + factory + ", which this worker does not have: name it in worker.Providers",
		Details: &toolspec.Details{Stage: string(in.Stage)},
	}}
}

// before returns the verdict of Pawl's step before the hooks. In the part PartHooks it returns the verdict of
// the part PartBefore, unless the step runs again.
func (r *Runner) before(ctx context.Context, own Own, in hook.StageInput) (hook.Verdict, error) {
	switch {
	case in.Part == hook.PartHooks && !own.Again:
		if in.Before == nil {
			return hook.Verdict{}, nil
		}
		return *in.Before, nil
	case own.Before == nil:
		return hook.Verdict{}, nil
	}
	return r.runOwn(ctx, in, hook.Verdict{}, func(v *hook.Verdict) (err error) {
		*v, err = own.Before(ctx, in)
		return err
	})
}

// runOwn runs a step of Pawl's own, which may change the verdict. If the step fails, the call fails; at a
// logged stage, the verdict gets a note instead. The error is transient, or says that ctx is cancelled.
func (r *Runner) runOwn(ctx context.Context, in hook.StageInput, v hook.Verdict, step func(*hook.Verdict) error) (hook.Verdict, error) {
	name, unchanged := hook.Own(in.Stage), v
	err := func() (err error) {
		defer func() {
			if recovered := recover(); recovered != nil {
				err = &stepPanic{fmt.Sprintf("panic of type %T at %s", recovered, errs.Frames(debug.Stack()))}
			}
		}()
		return step(&v)
	}()
	switch {
	case err == nil:
		if v.Outcome != hook.Continue && v.By == "" {
			v.By = name
		}
		return v, nil
	case errs.IsTransient(err), ctx.Err() != nil:
		return hook.Verdict{}, err
	}
	r.Log.ErrorContext(ctx, "a step of Pawl's own failed", "step", name, "stage", string(in.Stage), "invocationId", in.Facts.InvocationID,
		"toolId", in.Facts.ToolID, "reason", errs.Reason(err))
	if info, _ := hook.InfoOf(in.Stage); info.Failure == hook.Logged {
		unchanged.Notes = append(unchanged.Notes, hook.Note{Hook: name, Reason: "failed"})
		return unchanged, nil
	}
	return hook.Verdict{Outcome: hook.Failed, By: name, Failure: &hook.Failure{
		Code: toolspec.CodeInternal, SafeMessage: fmt.Sprintf("Pawl's step %s failed at %s", name, in.Stage),
		Details: &toolspec.Details{Stage: string(in.Stage)},
	}}, nil
}

// stepPanic is a panic of a step. It names the place, and the type of the panic's value. It
// does not hold the value, which may be a secret.
type stepPanic struct{ at string }

// Error implements error.
func (p *stepPanic) Error() string { return p.at }

// LogReason implements errs.Reasoner.
func (p *stepPanic) LogReason() string { return p.at }

// isPlanned reports whether the call of a stage that runs as a regular activity belongs to this execution (owned),
// and whether the stage is in the recorded plan of the call. It is needed because any program with access to the
// namespace can schedule such an activity with any hooks and facts.
func (r *Runner) isPlanned(ctx context.Context, in hook.StageInput) (owned, planned bool, err error) {
	plan, owned, err := Owns(ctx, r.Records, in.Facts, in.Facts.Epoch)
	if err != nil || !owned {
		return false, false, err
	}
	step, ok := plan.Step(in.Stage)
	return true, ok && step.DurableMs > 0 && slices.Equal(step.Hooks, in.Hooks) && in.Part == hook.PartHooks, nil
}

// cannotReadPolicy reports whether the stage judges by a policy version that this worker cannot read. Another
// worker may be able to read the version.
func (r *Runner) cannotReadPolicy(ctx context.Context, in hook.StageInput) bool {
	if in.Facts.PolicyDigest == "" { // the policy that denies everything
		return false
	}
	switch info, _ := hook.InfoOf(in.Stage); info.Phase {
	case hook.PhaseGate, hook.PhaseConsent, hook.PhaseCapacity:
		_, err := r.Policies.Policy(ctx, in.Facts.PolicyDigest)
		return errors.Is(err, judge.ErrPolicyUnreadable)
	default:
		return false
	}
}
