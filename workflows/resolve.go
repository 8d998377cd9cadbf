package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/attempt"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/gate"
)

// changeRetryAsks is the id for workflow.GetVersion of this change: if a person decides `retry` for a parked call, and
// the gate requires an approval that the call does not have, the call ends. A call with an older history makes the attempt.
const changeRetryAsks = "retry-without-approval"

// askForResolution asks a person whether the call took effect, and returns the next step after the decision.
func (i *invocation) askForResolution(ctx workflow.Context, cause string) attempt.Found {
	resolution := i.approvals.Resolve(ctx, cause)
	// A result in the record is final. If the request or the wait failed, State is empty, and AfterResolve ends the call
	// with an unknown outcome.
	if resolution.Next.RecordedResult() != nil {
		return attempt.Found{Next: resolution.Next}
	}
	return i.attempts.AfterResolve(ctx, resolution.State, resolution.ApprovalID, i.allowAgain)
}

// allowAgain prepares another attempt after a person decided `retry`: it asks the gate, and then acquires capacity. If the
// gate requires an approval, it issues no permit, so the call ends.
func (i *invocation) allowAgain(ctx workflow.Context) envelope.Next {
	verdict := i.regate(ctx, gate.Authorize, gate.Consent)
	next := verdict.Next
	if verdict.Ask != nil && !next.IsEnd() && workflow.GetVersion(ctx, changeRetryAsks, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		next = verdict.WithoutAsking(i.Call)
	}
	if next.IsEnd() {
		return next
	}
	return i.capacity.Acquire(ctx)
}
