package approval

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
)

// Resolution is a person's decision about a call whose outcome is unknown.
type Resolution struct {
	// State is the decision, such as retried. It is empty if no person was asked, and open, expired or closed if a
	// person was asked and did not decide.
	State      contract.RequestState
	ApprovalID string
	// Next is the end of the call if the request or the wait ended it: a failure, or the
	// result that the record already has.
	Next envelope.Next
}

// Resolve asks a person whether a call took effect, if policy allows it. cause says why the
// outcome of the call is unknown.
func (a *Approvals) Resolve(ctx workflow.Context, cause string) Resolution {
	for {
		request, next := a.request(ctx, contract.RequestIn{Parked: cause})
		// An outcome other than Done means that policy does not allow the call to wait for a
		// person.
		if next.IsEnd() || request.Outcome != contract.Done {
			return Resolution{Next: next}
		}
		answer, next := a.wait(ctx, request)
		switch {
		case next.IsEnd():
			return Resolution{ApprovalID: request.View.ApprovalID, Next: next}
		case answer.State != contract.RequestLost:
			return Resolution{State: answer.State, ApprovalID: request.View.ApprovalID}
		}
		// The record has lost the request, because it was restored from a backup. The call opens another request,
		// which is about the claims that the record has now.
		a.parts.FenceAgain(ctx)
	}
}

// changeFenceAgain is the id for workflow.GetVersion of this change: if the epoch changes while a parked call waits for a
// person, the call reads its claims again. A call with an older history does not.
const changeFenceAgain = "fence-again"

// fenceAgain reads the claims of a parked call again with Parts.FenceAgain if the epoch of the call is no longer epoch: the
// record was restored, or another Temporal run has owned the call meanwhile. It returns the epoch that the call has now.
func (a *Approvals) fenceAgain(ctx workflow.Context, epoch int) int {
	if a.call.Epoch() != epoch && workflow.GetVersion(ctx, changeFenceAgain, workflow.DefaultVersion, 1) != workflow.DefaultVersion {
		a.parts.FenceAgain(ctx)
	}
	return a.call.Epoch()
}
