package attempt

import "go.temporal.io/sdk/workflow"

// changeDenied is the id for workflow.GetVersion of this change: a call that the gate denied while its attempt
// waited for a worker ends with the denial. A call with an older history dispatches the attempt again.
const changeDenied = "denied-before-it-began"

// endsDenied reports whether a call ends with a.revoked after a dispatch that ran no tool. A cancelled call ends as
// cancelled instead.
func (a *Attempts) endsDenied(ctx workflow.Context) bool {
	return a.revoked != nil && ctx.Err() == nil && workflow.GetVersion(ctx, changeDenied, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// changeJudge is the id for workflow.GetVersion of this change: the gate judges a call with a pending recheck before
// each dispatch. In a call with an older history, it does not judge before an attempt that is dispatched again because
// its worker lacked a part, and not after a recheck that came while the attempt ran.
const changeJudge = "judge-each-dispatch"

// judgesAgain reports whether the history of the call has changeJudge.
func judgesAgain(ctx workflow.Context) bool {
	return workflow.GetVersion(ctx, changeJudge, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// dispatchAgain lets the caller of interpret dispatch the same attempt once more after a wait. If a recheck is pending,
// it first asks the gate, which may end the call. The order of the conditions matters: RecheckPending asks for a
// version too, which a call with an older history did not do here.
func (a *Attempts) dispatchAgain(ctx workflow.Context) (o outcome, again bool) {
	if a.call.HasRecheck() && judgesAgain(ctx) && a.call.RecheckPending(ctx) {
		if next := a.judge(ctx); next.IsEnd() {
			return endWith(next), false
		}
	}
	return outcome{then: Dispatch}, true
}
