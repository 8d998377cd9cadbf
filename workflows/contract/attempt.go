package contract

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Claim identifies a claim in the record by the number of the dispatch and by a random
// id that the execution generates right before it claims. The number alone is not
// unique: a reset run uses it again, and so does a task that the server delivers twice.
type Claim struct {
	Dispatch int    `json:"dispatch"`
	ID       string `json:"id"`
}

// ExecuteIn is the input of Execute, which makes one attempt.
type ExecuteIn struct {
	Facts hook.Facts `json:"facts"`
	Epoch int        `json:"epoch"`
	// PlanVersion is the version of the recorded plan. The worker must support it.
	PlanVersion int `json:"planVersion,omitempty"`
	// Dispatch is the number of this dispatch. It is 0 in the local lane, which has no dispatches and no claims.
	Dispatch int `json:"dispatch,omitempty"`
	// Answered lists the claims after which another attempt is safe. For each of them the tool did not
	// run, or reported that nothing happened, or answered and may be repeated, or a probe or a person
	// has said whether the call took effect.
	Answered []Claim `json:"answered,omitempty"`
	// Permit states what the last run of the gate allowed. An attempt with a claim needs a
	// permit, an attempt in the local lane does not.
	Permit json.RawMessage `json:"permit,omitempty"`
	// LeasedAtMs is the time when a call in the local lane last asked for slots at
	// semaphores, in milliseconds of the Unix epoch; 0 if it holds no slots. Slots
	// expire, and the local lane writes no claim, which would check them.
	LeasedAtMs int64 `json:"leasedAtMs,omitempty"`
	// Watched says that somebody watches the run of a call in the local lane. Its attempt writes
	// the start event before the tool runs. A claim writes that event anyway.
	Watched bool `json:"watched,omitempty"`
	hook.Terms
}

// ExecuteOut is the result of an attempt. Outcome is Done, Refused, Interrupted,
// Superseded, Claimed, Redelivered, Tombstoned, Undispatched, Unleased, Unpermitted,
// Changed or NotHere.
type ExecuteOut struct {
	Outcome Outcome `json:"outcome"`
	// ClaimID is the id of the claim that Execute tried to write; empty if Execute tried to write no claim.
	ClaimID string `json:"claimId,omitempty"`
	// Dispatch is the number of the claim with the id ClaimID. It is set in the claimed lane only. It
	// differs from the number in the input if this answer is the answer that the claim of an earlier execution
	// kept. The history does not hold the input of a local activity, so "pawl reconcile" reads the number here.
	Dispatch int `json:"dispatch,omitempty"`
	// LeftBehind says that the tool was still running when Execute gave up the attempt.
	LeftBehind bool `json:"leftBehind,omitempty"`
	// Value is the redacted value, or its short form. Workers of older releases leave it out if
	// OutputRef names the stored value. If OutputRef is set without Truncated, it names the stream of
	// the tool.
	Value json.RawMessage `json:"value,omitempty"`
	toolspec.OutputInfo
	// Responded says that the value is a response of a hook or of the tool, and not a result of the tool.
	Responded bool          `json:"responded,omitempty"`
	Challenge bool          `json:"challenge,omitempty"`
	Failure   *hook.Failure `json:"failure,omitempty"`
	// Retryable says that another attempt may succeed.
	Retryable bool `json:"retryable,omitempty"`
	// NothingHappened says that the tool reported that it had no effect. Another attempt is then safe, even if
	// the tool is not repeatable.
	NothingHappened bool          `json:"nothingHappened,omitempty"`
	Trace           []hook.Traced `json:"trace,omitempty"`
	By              string        `json:"by,omitempty"`
	DurationUs      int64         `json:"durationUs,omitempty"`
}

// CheckIn is the input of Check, which finds out whether a dispatch without an answer
// had begun. If the dispatch had not begun, Check writes a tombstone and raises the
// epoch, so that the dispatch never begins.
type CheckIn struct {
	InvocationID string `json:"invocationId"`
	Epoch        int    `json:"epoch"`
	Dispatch     int    `json:"dispatch"`
	// Over lists the claims of attempts that the call need not wait for: their tools do not
	// run any more, or had no effect and never will.
	Over []Claim `json:"over,omitempty"`
}

// CheckOut is the answer of Check. Outcome is Lost, Free or Superseded. With Free, Epoch
// is the raised epoch.
type CheckOut struct {
	Outcome Outcome `json:"outcome"`
	Epoch   int     `json:"epoch,omitempty"`
	// Claims are all claims of the call in the record.
	Claims []Claim `json:"claims,omitempty"`
	// OverInMs is the time until every attempt that is not in Over has used up its
	// runtime, in milliseconds from now; 0 if every attempt has.
	OverInMs   int64 `json:"overInMs,omitempty"`
	DurationUs int64 `json:"durationUs,omitempty"`
}

// ProbeIn is the input of Probe, which asks the probe of the tool whether attempts without an
// answer took effect.
type ProbeIn struct {
	Facts hook.Facts `json:"facts"`
	Epoch int        `json:"epoch"`
	// PlanVersion is the version of the recorded plan. The worker must support it.
	PlanVersion int `json:"planVersion,omitempty"`
	// Dispatch is the number of the last dispatch that may have had an effect. If the probe
	// returns a large value, Probe stores that value under this number.
	Dispatch int `json:"dispatch"`
	// Permit is the permit that the gate issued for the attempts.
	Permit json.RawMessage `json:"permit,omitempty"`
	hook.Terms
}

// ProbeOut is the answer of Probe. Outcome is one of:
//   - Done: the call took effect, with Value
//   - Refused: the call took effect, but its value breaks the contract of the tool
//   - Free: the call did not take effect and never will
//   - Lost: the probe cannot tell
//   - NotHere: this worker lacks the part that By names
type ProbeOut struct {
	Outcome Outcome         `json:"outcome"`
	Value   json.RawMessage `json:"value,omitempty"`
	toolspec.OutputInfo
	Failure *hook.Failure `json:"failure,omitempty"`
	// Fenced says that the tool declares [toolspec.Definition.Fences]. If Outcome is Free, the
	// answer counts also while an attempt may still run.
	Fenced bool `json:"fenced,omitempty"`
	// By names the missing part if Outcome is NotHere.
	By         string `json:"by,omitempty"`
	DurationUs int64  `json:"durationUs,omitempty"`
}

// The causes of an unknown outcome, besides the codes `timeout` and `cancelled`.
const (
	// CauseLost: an attempt was claimed, and nothing else is known about it.
	CauseLost toolspec.Code = "lost"
	// CauseStopped: the worker that ran the attempt was shut down.
	CauseStopped toolspec.Code = "worker_stopped"
	// CauseUnanswered: the tool ran, and says that it does not know whether it had its effect.
	CauseUnanswered toolspec.Code = "unanswered"
	// CauseUnsaved: the tool ran and answered. The answer is too large for a payload and
	// could not be stored.
	CauseUnsaved toolspec.Code = "result_not_saved"
)
