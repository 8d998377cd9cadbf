package point

// Name names one side of a step that makes something durable.
type Name string

// The points, in the order in which a call comes to them. Before: nothing of the
// step has left the process. After: the step is durable, and the process has not
// yet heard of it, or has done nothing about it.
const (
	// Admit is the commit that finds or makes the record.
	AdmitBefore Name = "admit.before"
	AdmitAfter  Name = "admit.after"
	// Task is the answer to the first workflow task of a call.
	TaskBefore Name = "task.before"
	TaskAfter  Name = "task.after"
	// Wait is the commit of an approval request.
	WaitBefore Name = "wait.before"
	WaitAfter  Name = "wait.after"
	// Decide is the commit of a person's decision.
	DecideBefore Name = "decide.before"
	DecideAfter  Name = "decide.after"
	// Claim is the commit that lets the tool run.
	ClaimBefore Name = "claim.before"
	ClaimAfter  Name = "claim.after"
	// Effect is what the tool does outside.
	EffectBefore Name = "effect.before"
	EffectAfter  Name = "effect.after"
	// Answer is the answer of the execute activity.
	AnswerBefore Name = "answer.before"
	AnswerAfter  Name = "answer.after"
	// Settle is the commit of the result.
	SettleBefore Name = "settle.before"
	SettleAfter  Name = "settle.after"
	// Close is the answer to the workflow task that ends the workflow.
	CloseBefore Name = "close.before"
	CloseAfter  Name = "close.after"
)

// The points of steps that only some calls take.
const (
	// Save is the commit of a value that is too large for a payload.
	SaveBefore Name = "save.before"
	SaveAfter  Name = "save.after"
	// Check is the commit that says whether a lost attempt had begun.
	CheckBefore Name = "check.before"
	CheckAfter  Name = "check.after"
)

// All returns the points that every call may pass, in their order.
func All() []Name {
	return []Name{
		AdmitBefore, AdmitAfter, TaskBefore, TaskAfter, WaitBefore, WaitAfter, DecideBefore, DecideAfter, ClaimBefore, ClaimAfter,
		EffectBefore, EffectAfter, AnswerBefore, AnswerAfter, SettleBefore, SettleAfter, CloseBefore, CloseAfter,
	}
}

// Rare returns the points that only some calls pass.
func Rare() []Name { return []Name{SaveBefore, SaveAfter, CheckBefore, CheckAfter} }
