package hydrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/workflows/contract"
)

// kindMissingConnection is the kind of the failure `validation` of a call that names no connection although its
// tool needs one.
const kindMissingConnection = "missing_connection"

// Parts are the dependencies of a Hydrator. Tools, Policies and Log are required.
type Parts struct {
	Tools    judge.Source
	Policies judge.Policies
	// Repairer repairs arguments if policy allows it; nil repairs none.
	Repairer hydrate.Repairer
	// Validators makes the validator of a tool; nil means the built-in validator.
	Validators func(toolspec.Spec) (hydrate.Validator, error)
	Log        *slog.Logger
}

// Hydrator parses and validates arguments.
type Hydrator struct {
	parts Parts
	// validators caches the results of Validators by the digest of the tool.
	validators sync.Map
}

// New makes a hydrator.
func New(p Parts) *Hydrator { return &Hydrator{parts: p} }

// Hydrate parses arguments, validates them against the schema of the tool, and returns
// them with the view that people and records may see. The outcome is NotHere if this
// worker cannot follow the plan or lacks the tool: another worker may be able to.
func (a *Hydrator) Hydrate(ctx context.Context, in contract.HydrateIn) (contract.HydrateOut, error) {
	started := time.Now()
	bound, ok := a.parts.Tools.Find(in.ToolID, in.ToolDigest)
	switch {
	case judge.IsNewerPlan(in.PlanVersion):
		return contract.HydrateOut{Outcome: contract.NotHere, By: judge.PlanName(in.PlanVersion)}, nil
	case !ok:
		return contract.HydrateOut{Outcome: contract.NotHere, By: "tool " + in.ToolID}, nil
	}
	out, err := a.hydrate(ctx, bound, in)
	if err != nil {
		return contract.HydrateOut{}, err
	}
	out.DurationUs = time.Since(started).Microseconds()
	return out, nil
}

// hydrate hydrates the arguments of in for a tool of this worker. It takes the arguments
// from in.Input, the input of the workflow. If in.Input is nil, it takes in.Args.
func (a *Hydrator) hydrate(ctx context.Context, bound *catalog.Bound, in contract.HydrateIn) (contract.HydrateOut, error) {
	target, err := a.target(bound)
	if err != nil {
		return contract.HydrateOut{}, err
	}
	raw, inv := in.Args, toolspec.Invocation{}
	if in.Input != nil {
		// The input is the whole invocation. If it does not decode, there are no arguments
		// to hydrate, so the refusal has no provenance.
		var fault *hydrate.Fault
		if inv, fault = hydrate.Decode(in.Input); fault != nil {
			return refused(judge.FaultFailure(fault)), nil
		}
		// Check the connection before validation: the failures of validation would tell the
		// caller something about the arguments.
		if f := checkConnection(bound, inv.Context); f != nil {
			out := refused(f)
			out.Provenance = judge.Unhydrated(inv, f.Details.Kind, f.Details.Path)
			return out, nil
		}
		raw = inv.Args
	}
	result := target.Hydrate(raw)
	// Only the caller's own arguments may be repaired. Later arguments that the tool does not accept are refused: a hook or an approver has
	// changed them, or a deploy has changed the tool.
	if in.Input != nil && !result.Success {
		if result, err = a.repairArgs(ctx, target, inv, in, result); err != nil {
			return contract.HydrateOut{}, err
		}
	}
	// The names that the model provider gave to the call are evidence, so the record keeps
	// them for refused arguments too. Only the input of the workflow has these names.
	if inv.Provider != nil {
		result.Provenance.From(wire.NativeCall(*inv.Provider))
	}
	return a.hydrateOut(bound, in, result), nil
}

// repairArgs hydrates the arguments of inv once more, with the repairer, and returns the new
// result. If the worker has no repairer or policy allows no repairs for this tool, it
// returns was, the refused result. An error means that the policy could not be read now.
func (a *Hydrator) repairArgs(ctx context.Context, target hydrate.Target, inv toolspec.Invocation, in contract.HydrateIn, was hydrate.Result) (hydrate.Result, error) {
	if a.parts.Repairer == nil {
		return was, nil
	}
	p, err := a.parts.Policies.Policy(ctx, in.PolicyDigest)
	switch {
	case errors.Is(err, judge.ErrPolicyUnreadable):
		// A newer release wrote this policy, and this worker cannot read it. So the worker
		// does not know that policy allows a repair.
		return was, nil
	case err != nil:
		return was, err
	case !p.Repairs(inv.Context.TenantID, in.ToolID):
		return was, nil
	}
	target.Repairer = a.parts.Repairer
	result := target.Hydrate(inv.Args)
	// The provenance names the repairer if it was asked, even if it could not repair the
	// arguments. The log line holds no value of the arguments.
	if by := result.Provenance.Repairer; by != "" {
		a.parts.Log.WarnContext(ctx, "arguments needed repair", "invocationId", in.InvocationID, "toolId", in.ToolID, "tenantId", inv.Context.TenantID,
			"repairer", by, "repairs", result.Provenance.Repairs, "repaired", result.Provenance.Repaired)
	}
	return result, nil
}

// hydrateOut returns the output of the activity for a result: Done, or Refused with the reason. Both have the
// provenance for the record.
func (a *Hydrator) hydrateOut(bound *catalog.Bound, in contract.HydrateIn, result hydrate.Result) contract.HydrateOut {
	provenance := &result.Provenance
	failed := func(code toolspec.Code, message string, details *toolspec.Details) contract.HydrateOut {
		return contract.HydrateOut{
			Outcome: contract.Refused, Failure: &hook.Failure{Code: code, SafeMessage: message, Details: details}, Provenance: provenance,
		}
	}
	instance, ok := result.Instance()
	if !ok {
		f := failureOfResult(result)
		return failed(f.Code, f.SafeMessage, f.Details)
	}
	args, history := instance.Args(), []json.RawMessage(nil)
	// in.SafeArgs is the earlier masked view of these arguments. Mask that view again and
	// not the arguments: a value that is already masked must stay masked, even if the
	// current tool would show it.
	given := args
	if in.SafeArgs != nil {
		given = in.SafeArgs
	}
	safe, err := bound.SafeArgs(given)
	if err == nil {
		// The current tool may mask more than an earlier version of it did. So mask the older
		// views by the rules of the current tool too.
		history, err = maskAgain(bound, in.SafeHistory)
	}
	if err != nil {
		// Without a masked view nothing of the arguments may be shown, so the call fails.
		provenance.Outcome = toolspec.HydrationInstantiate
		return failed(toolspec.CodeRedactionFailed, "the arguments could not be redacted", nil)
	}
	def := bound.Definition()
	repeatable := def.Repeatable()
	// The output already has the digest in ToolDigest, and the workflow knows the tool ID.
	// The workflow adds both to the provenance for the record.
	provenance.ToolDigest = ""
	provenance.ToolID = ""
	return contract.HydrateOut{
		Outcome: contract.Done, Args: args, SafeArgs: safe, SafeHistory: history,
		ToolDigest: bound.Digest(), Effect: def.Effect, Risk: def.Risk, ScriptArg: def.ScriptArg, Discovered: bound.Discovered(), Repeatable: &repeatable,
		Repaired: provenance.Repaired, NoSchema: !bound.HasSchema(), Provenance: provenance,
	}
}

// failureOfResult returns the failure of a call whose hydration was refused. r must be a
// refused result.
func failureOfResult(r hydrate.Result) *hook.Failure {
	problems := r.Problems()
	message := problems[0].Message
	// A message of the parser does not name the field, so the path is added. Messages of the
	// validator name the field.
	if r.Provenance.Outcome == toolspec.HydrationParse {
		message = (&hydrate.Fault{Problem: problems[0]}).Error()
	}
	return &hook.Failure{
		Code: r.Code(), SafeMessage: message,
		Details: &toolspec.Details{Path: problems[0].Path, Kind: problems[0].Kind, Problems: problems},
	}
}

// CheckArgs hydrates arguments that a stage or a person made. safe is the view of the
// arguments that people may see. CheckArgs never repairs arguments.
func (a *Hydrator) CheckArgs(bound *catalog.Bound, raw json.RawMessage) (args, safe json.RawMessage, f *hook.Failure) {
	target, err := a.target(bound)
	if err != nil {
		a.parts.Log.Error("arguments cannot be checked", "toolId", bound.ID(), "reason", errs.Reason(err))
		return nil, nil, &hook.Failure{Code: toolspec.CodeInternal, SafeMessage: "this worker cannot check arguments of the tool"}
	}
	result := target.Hydrate(raw)
	instance, ok := result.Instance()
	if !ok {
		return nil, nil, failureOfResult(result)
	}
	if safe, err = bound.SafeArgs(instance.Args()); err != nil {
		return nil, nil, &hook.Failure{Code: toolspec.CodeRedactionFailed, SafeMessage: "the arguments could not be redacted"}
	}
	return instance.Args(), safe, nil
}

// maskAgain masks views of arguments again, by the rules of bound. It returns nil if no view changes.
func maskAgain(bound *catalog.Bound, views []json.RawMessage) ([]json.RawMessage, error) {
	again, differ := make([]json.RawMessage, len(views)), false
	for i, view := range views {
		again[i] = view
		// An empty view and null hold no value to mask.
		if len(view) == 0 || string(view) == "null" {
			continue
		}
		safe, err := bound.SafeArgs(view)
		if err != nil {
			return nil, err
		}
		again[i], differ = safe, differ || !bytes.Equal(safe, view)
	}
	if !differ {
		return nil, nil
	}
	return again, nil
}

// refused returns a refusal without provenance: no arguments were hydrated.
func refused(f *hook.Failure) contract.HydrateOut {
	return contract.HydrateOut{Outcome: contract.Refused, Failure: f}
}

// checkConnection refuses a call that names no connection if its tool needs a connection. It runs before
// validation, so that the failure of such a call says nothing about the arguments.
func checkConnection(bound *catalog.Bound, c toolspec.Context) *hook.Failure {
	if !bound.Definition().RequiresConnection {
		return nil
	}
	if c.ConnectionID == "" {
		return &hook.Failure{
			Code: toolspec.CodeValidation, SafeMessage: "the tool needs context.connectionId",
			Details: &toolspec.Details{Path: "/context/connectionId", Kind: kindMissingConnection},
		}
	}
	return nil // the gate has checked the grant of the connection
}
