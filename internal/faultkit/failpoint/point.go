package failpoint

// Point is one side of a step that makes something durable.
type Point string

// The points, in the order in which a call comes to them. Before: nothing of the
// step has left the process. After: the step is durable, and the process has not
// yet heard of it, or has done nothing about it.
const (
	// Admit is the commit that finds or makes the record.
	AdmitBefore Point = "admit.before"
	AdmitAfter  Point = "admit.after"
	// Task is the answer to the first workflow task of a call.
	TaskBefore Point = "task.before"
	TaskAfter  Point = "task.after"
	// Wait is the commit of an approval request.
	WaitBefore Point = "wait.before"
	WaitAfter  Point = "wait.after"
	// Decide is the commit of a person's decision.
	DecideBefore Point = "decide.before"
	DecideAfter  Point = "decide.after"
	// Claim is the commit that lets the tool run.
	ClaimBefore Point = "claim.before"
	ClaimAfter  Point = "claim.after"
	// Effect is what the tool does outside.
	EffectBefore Point = "effect.before"
	EffectAfter  Point = "effect.after"
	// Answer is the answer of the execute activity.
	AnswerBefore Point = "answer.before"
	AnswerAfter  Point = "answer.after"
	// Settle is the commit of the result.
	SettleBefore Point = "settle.before"
	SettleAfter  Point = "settle.after"
	// Close is the answer to the workflow task that ends the workflow.
	CloseBefore Point = "close.before"
	CloseAfter  Point = "close.after"
)

// All returns the points in their order.
func All() []Point {
	return []Point{
		AdmitBefore, AdmitAfter, TaskBefore, TaskAfter, WaitBefore, WaitAfter, DecideBefore, DecideAfter, ClaimBefore, ClaimAfter,
		EffectBefore, EffectAfter, AnswerBefore, AnswerAfter, SettleBefore, SettleAfter, CloseBefore, CloseAfter,
	}
}
