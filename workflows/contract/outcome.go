package contract

// Outcome is the result of one of Pawl's own steps. The comment of each output type
// lists the outcomes of its step.
type Outcome string

// The outcomes.
const (
	// Done: the step succeeded.
	Done Outcome = "done"
	// Refused: the step failed, and the failure is in the same answer.
	Refused Outcome = "refused"
	// AlreadySettled: the record already has a result, and that result is final.
	AlreadySettled Outcome = "settled"
	// Superseded: the epoch of the record is newer. The workflow calls admit again.
	Superseded Outcome = "superseded"
	// NotHere: this worker lacks a part that the call needs, such as the tool, a hook or
	// support for the version of the plan.
	NotHere Outcome = "missing"
	// Changed: the tool is not the version that last validated the arguments of the call.
	Changed Outcome = "changed"
	// Claimed: an earlier attempt was claimed and never answered, and its tool must not be
	// repeated.
	Claimed Outcome = "claimed"
	// Redelivered: an earlier execution of the same task claimed this dispatch. The
	// tool may be repeated with the next dispatch number.
	Redelivered Outcome = "redelivered"
	// Unpermitted: the gate of this run has not allowed this attempt. The workflow calls
	// admit and asks the gate.
	Unpermitted Outcome = "unpermitted"
	// Unaccounted: the record has the claim of an attempt that must not be repeated, and
	// the result does not account for it.
	Unaccounted Outcome = "unaccounted"
	// Tombstoned: this dispatch was declared dead before it began, so it must not begin.
	Tombstoned Outcome = "tombstoned"
	// Undispatched: the tool did not run, and this execution of the dispatch will never
	// run it. If the answer has a claim id, the record may still have that claim.
	Undispatched Outcome = "undispatched"
	// Interrupted: the attempt was stopped before the tool answered, or the answer was
	// large and could not be stored.
	Interrupted Outcome = "interrupted"
	// Unleased: a slot that the call held has expired; the tool did not run.
	Unleased Outcome = "unleased"
	// Lost: the dispatch was claimed, so its effect may have happened.
	Lost Outcome = "lost"
	// Free: the dispatch never began and never will.
	Free Outcome = "free"
	// Killed: a kill switch is on, so the record accepts no claim and the tool did not run. Only the store that
	// writes claims returns Killed. Execute returns Refused instead.
	Killed Outcome = "killed"
)
