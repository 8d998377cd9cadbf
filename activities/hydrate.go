package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/workflows"
)

// kindMissingConnection refines `validation` (contradiction C-10).
const kindMissingConnection = "missing_connection"

// Hydrate parses arguments, validates them against the tool's schema and gives
// the view of them that people and records may see.
func (a *Activities) Hydrate(ctx context.Context, in workflows.HydrateIn) (workflows.HydrateOut, error) {
	started := time.Now()
	bound, ok := a.source.Get(in.ToolID)
	switch {
	case newer(in.PlanVersion):
		return workflows.HydrateOut{Outcome: workflows.NotHere, By: planName(in.PlanVersion)}, nil
	case !ok:
		return workflows.HydrateOut{Outcome: workflows.NotHere, By: "tool " + in.ToolID}, nil
	}
	out, err := a.hydrate(ctx, bound, in)
	if err != nil {
		return workflows.HydrateOut{}, err
	}
	out.DurationUs = time.Since(started).Microseconds()
	return out, nil
}

func (a *Activities) hydrate(ctx context.Context, bound *catalog.Bound, in workflows.HydrateIn) (workflows.HydrateOut, error) {
	target, err := a.target(bound)
	if err != nil {
		return workflows.HydrateOut{}, err
	}
	raw, inv := in.Args, toolspec.Invocation{}
	if in.Input != nil {
		var fault *hydrate.Fault
		if inv, fault = hydrate.Decode(in.Input); fault != nil {
			return refused(failureOf(fault)), nil
		}
		if f := checkConnection(bound, inv.Context); f != nil {
			return refused(f), nil
		}
		raw = inv.Args
	}
	result := target.Hydrate(raw)
	if in.Input != nil && !result.Success {
		if result, err = a.mended(ctx, target, inv, in, result); err != nil {
			return workflows.HydrateOut{}, err
		}
	}
	if inv.Provider != nil {
		result.Provenance.From(inv.Provider.NativeCall())
	}
	return a.hydrated(bound, in, result), nil
}

// mended tries once more with the repairer, where there is one and policy lets it
// mend. What a stage or a person changed is not mended: they look at it.
func (a *Activities) mended(ctx context.Context, target hydrate.Target, inv toolspec.Invocation, in workflows.HydrateIn, was hydrate.Result) (hydrate.Result, error) {
	if a.config.Repairer == nil {
		return was, nil
	}
	p, err := a.policies.Policy(ctx, in.PolicyDigest)
	switch {
	case errors.Is(err, ErrPolicyUnreadable):
		return was, nil
	case err != nil:
		return was, err
	case !p.Repairs(inv.Context.TenantID, in.ToolID):
		return was, nil
	}
	target.Repairer = a.config.Repairer
	result := target.Hydrate(inv.Args)
	if by := result.Provenance.Repairer; by != "" {
		a.log.WarnContext(ctx, "arguments needed repair", "invocationId", in.InvocationID, "toolId", in.ToolID, "tenantId", inv.Context.TenantID,
			"repairer", by, "repairs", result.Provenance.Repairs, "repaired", result.Provenance.Repaired)
	}
	return result, nil
}

// hydrated is what the workflow gets of a result.
func (a *Activities) hydrated(bound *catalog.Bound, in workflows.HydrateIn, result hydrate.Result) workflows.HydrateOut {
	provenance := &result.Provenance
	failed := func(code toolspec.Code, message string, details *toolspec.Details) workflows.HydrateOut {
		return workflows.HydrateOut{
			Outcome: workflows.Refused, Failure: &hook.Failure{Code: code, SafeMessage: message, Details: details}, Provenance: provenance,
		}
	}
	instance, ok := result.Instance()
	if !ok {
		f := failureOfResult(result)
		return failed(f.Code, f.SafeMessage, f.Details)
	}
	args, history := instance.Args(), []json.RawMessage(nil)
	given := args
	if in.SafeArgs != nil {
		given = in.SafeArgs // what was masked stays so, whatever the tool says now
	}
	safe, err := bound.SafeArgs(given)
	if err == nil {
		history, err = masked(bound, in.SafeHistory)
	}
	if err != nil {
		provenance.Outcome = toolspec.HydrationInstantiate
		return failed(toolspec.CodeRedactionFailed, "the arguments could not be redacted", nil)
	}
	def := bound.Definition()
	repeatable := def.Repeatable()
	provenance.ToolDigest = "" // stands beside it
	provenance.ToolID = ""
	return workflows.HydrateOut{
		Outcome: workflows.Done, Args: args, SafeArgs: safe, SafeHistory: history,
		ToolDigest: bound.Digest(), Effect: def.Effect, Risk: def.Risk, Repeatable: &repeatable,
		Repaired: provenance.Repaired, NoSchema: !bound.HasSchema(), Provenance: provenance,
	}
}

// failureOfResult is why a call cannot run.
func failureOfResult(r hydrate.Result) *hook.Failure {
	problems := r.Problems()
	message := problems[0].Message
	if r.Provenance.Outcome == toolspec.HydrationParse { // the sentence of a stage that knows the schema names the field
		message = (&hydrate.Fault{Problem: problems[0]}).Error()
	}
	return &hook.Failure{
		Code: r.Code(), SafeMessage: message,
		Details: &toolspec.Details{Path: problems[0].Path, Kind: problems[0].Kind, Problems: problems},
	}
}

// accepted hydrates arguments that a stage or a person made, and says what may be
// shown of them. They are never mended.
func (a *Activities) accepted(bound *catalog.Bound, raw json.RawMessage) (args, safe json.RawMessage, f *hook.Failure) {
	target, err := a.target(bound)
	if err != nil {
		a.log.Error("arguments cannot be checked", "toolId", bound.ID(), "reason", hook.Reason(err))
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

// masked masks views of arguments once more. It returns nil where that changes
// none of them.
func masked(bound *catalog.Bound, views []json.RawMessage) ([]json.RawMessage, error) {
	again, differ := make([]json.RawMessage, len(views)), false
	for i, view := range views {
		again[i] = view
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

func refused(f *hook.Failure) workflows.HydrateOut {
	return workflows.HydrateOut{Outcome: workflows.Refused, Failure: f}
}

// checkConnection stands before validation: a tool that needs a connection does
// not say anything about its arguments without one (CONNECTION_ID_VIA_CONTEXT).
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
	return nil // the gate has looked for a grant
}
