package attempt

import "go.temporal.io/sdk/workflow"

// changeDenied is the id for workflow.GetVersion of this change: if the gate denies a call while an attempt waits for a
// worker, the call ends with the denial. A call with an older history dispatches the attempt again.
const changeDenied = "denied-before-it-began"

// endsDenied reports whether the call ends with the denial in a.revoked after a dispatch that ran no tool. A cancelled
// call ends as cancelled instead.
func (a *Attempts) endsDenied(ctx workflow.Context) bool {
	return a.revoked != nil && ctx.Err() == nil && workflow.GetVersion(ctx, changeDenied, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// changeJudge is the id for workflow.GetVersion of this change: if a recheck is pending, the gate judges the call before
// each dispatch. In a call with an older history, the gate does not judge before a second dispatch of the same attempt,
// for example after a worker lacked the tool, and not after a recheck that came while the attempt ran.
const changeJudge = "judge-each-dispatch"

// judgesAgain reports whether the history of the call has changeJudge.
func judgesAgain(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, changeJudge, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// dispatchAgain prepares a second dispatch of the same attempt. If a recheck is pending, dispatchAgain first asks the
// gate. again is true if the caller may dispatch, and false if the gate ends the call; o then says how. The order of the
// conditions matters: RecheckPending calls workflow.GetVersion too, which a call with an older history did not do here.
func (a *Attempts) dispatchAgain(ctx workflow.Context) (o outcome, again bool) {
	if a.call.HasRecheck() && judgesAgain(ctx) && a.call.RecheckPending(ctx) {
		if next := a.judge(ctx); next.IsEnd() {
			return endWith(next), false
		}
	}
	return outcome{then: Dispatch}, true
}
