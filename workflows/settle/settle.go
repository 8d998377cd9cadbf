package settle

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

// endingTime is the deadline of all closing stages together, so that they do not delay
// the result for long.
const endingTime = time.Minute

// Ending says how a call ends, and holds the data for settle that the envelope does not hold.
type Ending struct {
	Next envelope.Next
	// Kept is the value for the result cache; nil if the cache keeps nothing.
	Kept *contract.Kept
	// Claims are the claims whose outcome this run knows: their attempts answered, or a probe or a person said whether
	// they took effect. If the record has another claim, and its tool must not be repeated, the outcome of the call is unknown.
	Claims []contract.Claim
}

// Settle runs the closing stages of a call, writes the result to the record and returns
// the result. It uses a disconnected context, so that a cancel does not stop it. If the
// record already has a result, Settle returns that result and runs no stage.
func Settle(ctx workflow.Context, c *envelope.Call, end Ending) (toolspec.Result, error) {
	ctx = steps.Disconnected(ctx)
	if r := end.Next.RecordedResult(); r != nil {
		c.MarkSettled(*r)
		return *r, nil
	}
	for {
		// A call that failed has other closing stages than a call that succeeded.
		stages := c.Plan().Post
		if f := end.Next.Failure(); f != nil {
			c.SetFailure(f)
			stages = c.Plan().Error
		}
		// The closing stages have their own deadline, because the call may have used up
		// its deadline. Durable hooks add their time.
		c.RestartDeadlineWith(ctx, endingTime+envelope.DurableTime(stages...))
		for _, step := range stages {
			// The output stages ran before Settle: see package output.
			if step.Phase != hook.PhaseOutput && !c.IsIdle(step) {
				c.RunStage(ctx, step, 1)
			}
		}
		result, lost, err := write(ctx, c, end)
		if len(lost) == 0 || err != nil {
			return result, err
		}
		// The record has lost claims, so write wrote nothing. Run the closing stages again, for an unknown outcome.
		end = recordLostClaims(ctx, c, end, lost)
	}
}

// recordLostClaims returns a new ending for a call whose record has lost claims: an earlier
// run began attempts from which this run has no answer. Their effect may have happened,
// so the outcome becomes unknown. The closing stages then run again with this outcome.
func recordLostClaims(ctx workflow.Context, c *envelope.Call, end Ending, lost []contract.Claim) Ending {
	cause := &hook.Failure{Code: contract.CauseLost}
	if f := end.Next.Failure(); f != nil {
		cause.Code = f.Code
	}
	// Count each lost claim as a lost attempt, after the attempts of this run.
	attempt := c.DispatchedAttempts()
	for _, claim := range lost {
		attempt++
		c.SetAttempt(attempt)
		c.RecordAttempt(contract.AttemptEvent{
			Dispatch: claim.Dispatch, Lane: hook.RegularLane, Outcome: "lost", AtMs: workflow.Now(ctx).UnixMilli(),
		})
	}
	c.ClearAudit() // the hooks that wrote the entries run again
	c.HideAllOutputs()
	return Ending{Next: envelope.OutcomeUnknown(ctx, cause), Claims: end.Claims}
}

// Result returns the result of a call that ends with next: the failure of next, or the
// output of the call. It does not use a result from the record.
func Result(ctx workflow.Context, c *envelope.Call, next envelope.Next) toolspec.Result {
	var r toolspec.Result
	if f := next.Failure(); f != nil {
		r = f.Result()
	} else {
		r = toolspec.Result{OK: true, Source: c.Source()}.WithOutput(c.Output(), c.OutputInfo())
		if by := next.ApprovalID(); by != "" {
			r.Details = &toolspec.Details{ApprovalID: by}
		}
	}
	admitted := c.Admitted()
	r.ToolCallID, r.InvocationID, r.InputDigest = admitted.ToolCallID, admitted.InvocationID, admitted.InputDigest
	r.Attempts = c.DispatchedAttempts()
	r.StartedAtMs, r.EndedAtMs = c.StartedAt().UnixMilli(), workflow.Now(ctx).UnixMilli()
	return r
}

// write writes the result to the record in one round trip, and tries again until the database confirms it. If a signal
// arrives while the workflow completes, the server discards the workflow task and runs it again; write then finds the
// result in the record and returns that. If the record has claims that the ending does not account for, write returns
// them as lost and writes nothing.
func write(ctx workflow.Context, c *envelope.Call, end Ending) (result toolspec.Result, lost []contract.Claim, err error) {
	c.SetStage(contract.Settle.Name())
	result = Result(ctx, c, end.Next)
	for {
		out, err := steps.Local(ctx, contract.Settle, contract.SettleIn{
			InvocationID: c.Admitted().InvocationID, TenantID: c.Admitted().Context.TenantID, Epoch: c.Epoch(),
			Result: result, ToolID: c.Admitted().ToolID, Effect: c.Effect(), Holds: len(c.Needs()) > 0 || c.Epoch() > 1, SafeArgs: c.SafeArgs(), PolicyDigest: c.PolicyDigest(),
			InputHistory: c.SafeHistory(), OutputHistory: c.VisibleOutputs(),
			Stages: c.StageEvents(), Attempts: c.AttemptEvents(), Audit: c.Audit(), Unaudited: unaudited(ctx, c), Hydrations: c.Hydrations(),
			Kept: end.Kept, Claims: end.Claims,
		}, steps.Options("write the result", steps.Forever))
		if err != nil {
			return toolspec.Result{}, nil, err
		}
		switch {
		case out.Outcome == contract.Unaccounted:
			return toolspec.Result{}, out.Unaccounted, nil
		case out.Outcome == contract.Superseded:
			next, err := c.Readmit(ctx)
			if err != nil {
				return toolspec.Result{}, nil, err
			}
			if !next.IsEnd() {
				continue
			}
			if r := next.RecordedResult(); r != nil {
				result = *r
			} else {
				// The record belongs to another call now and holds nothing of this call.
				result = Result(ctx, c, next)
			}
		case out.Result != nil:
			result = *out.Result
		}
		c.MarkSettled(result)
		c.UpsertOutcome(ctx, result)
		return result, nil, nil
	}
}

// unaudited returns what the audit line of the call says, or nil if the call has the line.
func unaudited(ctx workflow.Context, c *envelope.Call) *hook.Facts {
	if slices.ContainsFunc(c.Audit(), func(e hook.AuditEntry) bool { return e.Kind == contract.CallAudit }) {
		return nil
	}
	f := c.Facts(ctx, 1)
	return &hook.Facts{
		ToolID: f.ToolID, ToolDigest: f.ToolDigest, Effect: f.Effect, Risk: f.Risk, Context: f.Context, PolicyDigest: f.PolicyDigest,
		Failure: f.Failure, Approval: f.Approval, Attempts: f.Attempts,
	}
}
