package point

// Name names one side of a step that makes something durable.
type Name string

// The points, in the order in which a call reaches them. Before: no part of the step has left the
// process. After: the step is durable, and the process does not know it yet or has not acted on it.
const (
	// Admit is the commit that finds or creates the record.
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
	// Effect is the change that the tool makes outside of Pawl.
	EffectBefore Name = "effect.before"
	EffectAfter  Name = "effect.after"
	// Keep is the commit of an answer in the claimed lane.
	KeepBefore Name = "keep.before"
	KeepAfter  Name = "keep.after"
	// Answer is the completion of the activity execute.
	AnswerBefore Name = "answer.before"
	AnswerAfter  Name = "answer.after"
	// Settle is the commit of the result.
	SettleBefore Name = "settle.before"
	SettleAfter  Name = "settle.after"
	// Close is the answer to the workflow task that ends the workflow.
	CloseBefore Name = "close.before"
	CloseAfter  Name = "close.after"
)

// The points that only some calls reach.
const (
	// Save is the commit of a value that is too large for a payload.
	SaveBefore Name = "save.before"
	SaveAfter  Name = "save.after"
	// Check is the commit that decides whether a lost attempt had started.
	CheckBefore Name = "check.before"
	CheckAfter  Name = "check.after"
)

// All returns the points that every call can reach, in their order.
func All() []Name {
	return []Name{
		AdmitBefore, AdmitAfter, TaskBefore, TaskAfter, WaitBefore, WaitAfter, DecideBefore, DecideAfter, ClaimBefore, ClaimAfter,
		EffectBefore, EffectAfter, KeepBefore, KeepAfter, AnswerBefore, AnswerAfter, SettleBefore, SettleAfter, CloseBefore, CloseAfter,
	}
}

// Rare returns the points that only some calls reach.
func Rare() []Name { return []Name{SaveBefore, SaveAfter, CheckBefore, CheckAfter} }
