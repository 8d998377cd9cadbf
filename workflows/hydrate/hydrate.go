package hydrate

import (
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/steps"
)

// Input parses and validates the arguments in the input of the workflow.
func Input(ctx workflow.Context, c *envelope.Call) envelope.Next {
	return run(ctx, c, func(in *contract.HydrateIn) {
		in.Input, _ = c.Input()
		in.PolicyDigest, in.ToolDigest = c.PolicyDigest(), c.ToolDigest()
	}, func(out contract.HydrateOut) { c.SetArgs(out.Args, nil) })
}

// Again validates the current arguments, after a hook or an approver changed them.
func Again(ctx workflow.Context, c *envelope.Call) envelope.Next {
	return validateArgs(ctx, c, c.ToolDigest())
}

// Anew validates the current arguments with the definition that a worker has now, after a deploy replaced
// the tool.
func Anew(ctx workflow.Context, c *envelope.Call) envelope.Next { return validateArgs(ctx, c, "") }

// validateArgs validates the current arguments with the definition that has the digest. An empty digest
// means the definition that the worker has now.
func validateArgs(ctx workflow.Context, c *envelope.Call, digest string) envelope.Next {
	return run(ctx, c, func(in *contract.HydrateIn) {
		in.ToolDigest = digest
		in.Args, in.SafeArgs, in.SafeHistory = c.Args(), c.SafeArgs(), c.SafeHistory()
	}, func(contract.HydrateOut) {})
}

// run calls the activity Hydrate until a worker has the tool, and writes the answer to the call. It returns how the call
// ends, or the zero Next if the arguments are valid. addArgs adds the arguments to the input of the activity. run
// calls accept with a successful answer before it stores the validated arguments in the call: Input uses accept
// to add the arguments to the history.
func run(ctx workflow.Context, c *envelope.Call, addArgs func(*contract.HydrateIn), accept func(contract.HydrateOut)) envelope.Next {
	name := contract.Hydrate.Name()
	c.SetStage(name)
	delay := steps.MissingDelay
	for {
		at := workflow.Now(ctx)
		in := contract.HydrateIn{InvocationID: c.Admitted().InvocationID, ToolID: c.Admitted().ToolID, PlanVersion: c.Plan().V}
		addArgs(&in)
		out, err := steps.Local(ctx, contract.Hydrate, in, steps.Options("parse and validate the arguments", c.Remaining(ctx)))
		if err != nil {
			f := c.Classify(ctx, err)
			c.RecordStep(name, string(f.Code), at, 0)
			return envelope.Fail(f)
		}
		if out.Outcome == contract.NotHere {
			if out.Failure = c.WaitForPart(ctx, &delay, out.By); out.Failure == nil {
				continue
			}
		}
		record(c, out, at)
		if out.Failure != nil {
			c.RecordStep(name, string(out.Failure.Code), at, out.DurationUs)
			return envelope.Fail(out.Failure)
		}
		c.RecordStep(name, "ok", at, out.DurationUs)
		accept(out)
		c.SetValidatedArgs(out.Args, out.SafeArgs, out.SafeHistory, out.Repaired, out.NoSchema)
		c.SetTool(out.ToolDigest, out.Effect, out.Risk, out.ScriptArg, out.Discovered)
		if isLessSafe(c.Plan(), out) {
			c.RestrictPlan()
		}
		return envelope.Next{}
	}
}

// record adds the provenance of the arguments to the call. The activity Request or Settle
// writes it to the record later. record does nothing if the answer has no provenance, because no arguments were
// hydrated.
func record(c *envelope.Call, out contract.HydrateOut, at time.Time) {
	if out.Provenance == nil {
		return
	}
	h := contract.Hydration{AtMs: at.UnixMilli(), Provenance: *out.Provenance}
	h.Provenance.ToolID, h.Provenance.DurationUs = c.Admitted().ToolID, out.DurationUs
	if h.Provenance.ToolDigest == "" {
		h.Provenance.ToolDigest = out.ToolDigest
	}
	c.RecordHydration(h)
}

// isLessSafe reports whether the tool is more harmful than the plan says, or may no
// longer be repeated, because a deploy has replaced it. The lane of the plan was chosen for the earlier version of
// the tool, and is then not safe any more. A tool that became less harmful changes nothing for running calls.
func isLessSafe(plan hook.Plan, out contract.HydrateOut) bool {
	lostRepeatable := plan.Repeatable && out.Repeatable != nil && !*out.Repeatable
	return lostRepeatable || harm(out.Effect) > harm(plan.Effect)
}

// harm returns the rank of an effect; a higher rank is more harmful. An effect that this
// version does not know has the highest rank, because it may do anything.
func harm(e toolspec.Effect) int {
	known := []toolspec.Effect{toolspec.ReadOnly, toolspec.StateChange, toolspec.ExternalSideEffect}
	if i := slices.Index(known, e); i >= 0 {
		return i
	}
	return len(known)
}
