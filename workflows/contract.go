package workflows

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Outcome is the answer of a step of Pawl's own; each names its few.
type Outcome string

// The outcomes.
const (
	// Done: the step did what it is for.
	Done Outcome = "done"
	// Refused: the call ends with the failure beside it.
	Refused Outcome = "refused"
	// AlreadySettled: the record has a result, which stands.
	AlreadySettled Outcome = "settled"
	// Superseded: the record's epoch is newer; admit again.
	Superseded Outcome = "superseded"
	// NotHere: this worker lacks the tool or understands no such plan.
	NotHere Outcome = "missing"
	// Changed: the tool is no longer the one in the plan.
	Changed Outcome = "changed"
	// Claimed: an earlier dispatch was claimed and never answered.
	Claimed Outcome = "claimed"
	// Tombstoned: this dispatch was declared dead before it began.
	Tombstoned Outcome = "tombstoned"
	// Undispatched: the claim's answer was lost; the tool did not run, and this
	// dispatch never will.
	Undispatched Outcome = "undispatched"
	// Interrupted: the attempt was stopped before the tool answered.
	Interrupted Outcome = "interrupted"
	// Unleased: a place that the call held has expired; the tool did not run.
	Unleased Outcome = "unleased"
	// Lost: the dispatch was claimed, so its effect may have happened.
	Lost Outcome = "lost"
	// Free: the dispatch never began and never will.
	Free Outcome = "free"
	// Killed: a kill switch is on; the tool did not run. The record's answer to a
	// claim, of which execute makes Refused.
	Killed Outcome = "killed"
)

// AdmitIn asks for the record of a call.
type AdmitIn struct {
	// Input is the workflow's input as it arrived.
	Input    []byte `json:"input"`
	Encoding string `json:"encoding,omitempty"`
	// WorkflowID must be the one that the identity derives.
	WorkflowID       string `json:"workflowId"`
	RunID            string `json:"runId"`
	Namespace        string `json:"namespace,omitempty"`
	NowMs            int64  `json:"nowMs"`
	SearchAttributes bool   `json:"searchAttributes,omitempty"`
}

// AdmitOut is the record of a call: Done, AlreadySettled, Refused or NotHere,
// where the recorded plan is of a newer version than this worker follows.
// Refused without Recorded completes the workflow with no record and no settle.
type AdmitOut struct {
	Outcome      Outcome          `json:"outcome"`
	Recorded     bool             `json:"recorded,omitempty"`
	Result       *toolspec.Result `json:"result,omitempty"`
	Failure      *hook.Failure    `json:"failure,omitempty"`
	InvocationID string           `json:"invocationId,omitempty"`
	InputDigest  string           `json:"inputDigest,omitempty"`
	ToolID       string           `json:"toolId,omitempty"`
	ToolCallID   string           `json:"toolCallId,omitempty"`
	Context      toolspec.Context `json:"context,omitzero"`
	Submitter    *hook.Submitter  `json:"submitter,omitempty"`
	Epoch        int              `json:"epoch,omitempty"`
	Rounds       Rounds           `json:"rounds,omitzero"`
	Plan         *hook.Plan       `json:"plan,omitempty"`
	PolicyDigest string           `json:"policyDigest,omitempty"`
	// Kills are the kill switches of the call, read in the same statement.
	Kills []hook.Kill `json:"kills,omitempty"`
	// Connection is how the call's connection stands, read in the same statement.
	Connection *hook.Connection `json:"connection,omitempty"`
	// ConnectionHash stands in search attributes for the connection.
	ConnectionHash string `json:"connectionHash,omitempty"`
	// By says what is missing.
	By         string `json:"by,omitempty"`
	DurationUs int64  `json:"durationUs,omitempty"`
}

// Rounds are the last numbers used; a run that takes over counts on from them.
type Rounds struct {
	// Gate counts runs of the gate stages.
	Gate int `json:"gate,omitempty"`
	// Dispatch counts claims and tombstones.
	Dispatch int `json:"dispatch,omitempty"`
	// Request counts approval requests.
	Request int `json:"request,omitempty"`
	// Capacity counts runs of the stages that may wait for capacity.
	Capacity int `json:"capacity,omitempty"`
}

// after returns the higher of each pair.
func (r Rounds) after(own Rounds) Rounds {
	return Rounds{
		Gate: max(r.Gate, own.Gate), Dispatch: max(r.Dispatch, own.Dispatch), Request: max(r.Request, own.Request),
		Capacity: max(r.Capacity, own.Capacity),
	}
}

// HydrateIn wants arguments parsed, validated and digested: the workflow's
// input, or Args where a stage or an approver changed them.
type HydrateIn struct {
	InvocationID string `json:"invocationId"`
	ToolID       string `json:"toolId"`
	// PlanVersion is that of the recorded plan, which the worker has to know.
	PlanVersion int             `json:"planVersion,omitempty"`
	Input       []byte          `json:"input,omitempty"`
	Args        json.RawMessage `json:"args,omitempty"`
	// PolicyDigest is the policy that says whether the input may be mended. Args
	// never are.
	PolicyDigest string `json:"policyDigest,omitempty"`
	// SafeArgs is what may be shown of Args so far, and SafeHistory of all the
	// arguments that there were. A tool that masks more than the one before it
	// masks it in them too.
	SafeArgs    json.RawMessage   `json:"safeArgs,omitempty"`
	SafeHistory []json.RawMessage `json:"safeHistory,omitempty"`
}

// HydrateOut has arguments that the tool accepts: Done, Refused or NotHere.
type HydrateOut struct {
	Outcome    Outcome         `json:"outcome"`
	Failure    *hook.Failure   `json:"failure,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	SafeArgs   json.RawMessage `json:"safeArgs,omitempty"`
	ToolDigest string          `json:"toolDigest,omitempty"`
	Effect     toolspec.Effect `json:"effect,omitempty"`
	Risk       toolspec.Risk   `json:"risk,omitempty"`
	// Repeatable says whether the tool may be repeated now; nil means as planned.
	Repeatable *bool `json:"repeatable,omitempty"`
	// Repaired says that the arguments were mended, NoSchema that nothing has
	// checked them. Either has to be shown to somebody before the tool runs.
	Repaired bool `json:"repaired,omitempty"`
	NoSchema bool `json:"noSchema,omitempty"`
	// Provenance is for the record, also of what was refused.
	Provenance *toolspec.Provenance `json:"provenance,omitempty"`
	// SafeHistory replaces the history; nil where nothing changed in it.
	SafeHistory []json.RawMessage `json:"safeHistory,omitempty"`
	// By says what is missing.
	By         string `json:"by,omitempty"`
	DurationUs int64  `json:"durationUs,omitempty"`
}

// RequestIn opens an approval request, or finds the one that a run before this
// opened for the same digest.
type RequestIn struct {
	Facts hook.Facts `json:"facts"`
	Epoch int        `json:"epoch"`
	// Last is the number of the last request of this call.
	Last int      `json:"last"`
	Ask  hook.Ask `json:"ask"`
	// Edits are numbers of requests for which the inbox holds an edit: after a
	// reset Temporal delivers again what was decided before it.
	Edits []int `json:"edits,omitempty"`
	// EditedBy is the approver whose edit made these arguments.
	EditedBy string `json:"editedBy,omitempty"`
	// Hydrations go to the record ahead of the wait, which may end in any way.
	Hydrations []Hydration `json:"hydrations,omitempty"`
	// Parked, where the outcome of the call is unknown, is why. The request is for
	// a decision on that, which policy may not allow: Refused without a failure.
	Parked string `json:"parked,omitempty"`
}

// RequestOut is the open request: Done, Refused or Superseded.
type RequestOut struct {
	Outcome Outcome                `json:"outcome"`
	Failure *hook.Failure          `json:"failure,omitempty"`
	Number  int                    `json:"number,omitempty"`
	View    *toolspec.ApprovalView `json:"view,omitempty"`
	// Granted is what the gate compares once the request is approved.
	Granted     *hook.GrantedApproval `json:"granted,omitempty"`
	RemainingMs int64                 `json:"remainingMs,omitempty"`
	// Approved says that a run before this got the approval and did not use it.
	Approved bool `json:"approved,omitempty"`
	// Edited says that the question was answered by an edit before, of which the
	// inbox may hold the arguments.
	Edited     bool  `json:"edited,omitempty"`
	DurationUs int64 `json:"durationUs,omitempty"`
}

// ReviewIn brings a decision to an open request or, without one, asks how the
// request stands. Either raises the gate's round.
type ReviewIn struct {
	InvocationID string             `json:"invocationId"`
	ToolID       string             `json:"toolId"`
	TenantID     string             `json:"tenantId"`
	ApprovalID   string             `json:"approvalId,omitempty"`
	Epoch        int                `json:"epoch"`
	Gate         int                `json:"gate"`
	Capacity     int                `json:"capacity,omitempty"`
	Decision     *toolspec.Decision `json:"decision,omitempty"`
	// Args and SessionID are what a decision that asks for it is remembered with.
	Args      json.RawMessage `json:"args,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	// Close, without a decision, closes the request: nobody needs to decide.
	Close bool `json:"close,omitempty"`
}

// RequestState is where an approval request stands.
type RequestState string

// The states of a request.
const (
	RequestOpen      RequestState = "open"
	RequestApproved  RequestState = "approved"
	RequestDenied    RequestState = "denied"
	RequestEdited    RequestState = "edited"
	RequestWithdrawn RequestState = "withdrawn"
	RequestExpired   RequestState = "expired"
	RequestClosed    RequestState = "closed"
	// How a parked call was decided on.
	RequestRetried       RequestState = "retried"
	RequestSettledOK     RequestState = "settled_ok"
	RequestSettledFailed RequestState = "settled_failed"
)

// Becomes is the state of an open request after a decision that counts; fits is
// false where such a request does not wait for the verb.
func Becomes(verb toolspec.Verb, parked bool) (state RequestState, fits bool) {
	if parked {
		switch verb {
		case toolspec.Retry:
			return RequestRetried, true
		case toolspec.SettleOK:
			return RequestSettledOK, true
		case toolspec.SettleFailed:
			return RequestSettledFailed, true
		default:
			return "", false
		}
	}
	switch verb {
	case toolspec.Approve:
		return RequestApproved, true
	case toolspec.Deny:
		return RequestDenied, true
	case toolspec.Edit:
		return RequestEdited, true
	case toolspec.Withdraw:
		return RequestWithdrawn, true
	default:
		return "", false
	}
}

// ReviewOut is how the request stands now: Done or Superseded.
type ReviewOut struct {
	Outcome Outcome         `json:"outcome"`
	Answer  toolspec.Answer `json:"answer,omitzero"`
	State   RequestState    `json:"state,omitempty"`
	// PolicyDigest is the active policy, read in the same statement.
	PolicyDigest string `json:"policyDigest,omitempty"`
	// Kills are the kill switches of the call, read no later.
	Kills []hook.Kill `json:"kills,omitempty"`
	// Connection is how the call's connection stands, read no later.
	Connection  *hook.Connection `json:"connection,omitempty"`
	RemainingMs int64            `json:"remainingMs,omitempty"`
	// Approver and EditedArgs come from the decision that counted.
	Approver   string          `json:"approver,omitempty"`
	EditedArgs json.RawMessage `json:"editedArgs,omitempty"`
	// SafeArgs is what may be shown of EditedArgs.
	SafeArgs   json.RawMessage `json:"safeArgs,omitempty"`
	DurationUs int64           `json:"durationUs,omitempty"`
}

// ExecuteIn is one attempt.
type ExecuteIn struct {
	Facts hook.Facts `json:"facts"`
	Epoch int        `json:"epoch"`
	// PlanVersion is that of the recorded plan, which the worker has to know.
	PlanVersion int `json:"planVersion,omitempty"`
	// Dispatch numbers the claim of the regular lane; 0 in the local lane, which
	// writes none.
	Dispatch int `json:"dispatch,omitempty"`
	// Answered lists earlier dispatches whose claims stand in nobody's way: the
	// tool said that nothing happened, or answered and may be repeated, or it did
	// not run.
	Answered []int `json:"answered,omitempty"`
	// Once says that this call is not repeated, even should the tool allow it: one
	// that became more permissive gains nothing for calls in flight.
	Once bool `json:"once,omitempty"`
	// LeasedAtMs is since when a call in the local lane, which claims nothing, holds
	// what may expire; 0 where it holds nothing.
	LeasedAtMs int64 `json:"leasedAtMs,omitempty"`
	// ApprovalID is consumed by the claim.
	ApprovalID     string   `json:"approvalId,omitempty"`
	Around         []string `json:"around,omitempty"`
	WillExecute    []string `json:"willExecute,omitempty"`
	DidExecute     []string `json:"didExecute,omitempty"`
	MaxRuntimeMs   int64    `json:"maxRuntimeMs"`
	MaxResultBytes int      `json:"maxResultBytes"`
}

// ExecuteOut is how the attempt ended: Done, Refused, Interrupted, Superseded,
// Claimed, Tombstoned, Undispatched, Unleased, Changed or NotHere.
type ExecuteOut struct {
	Outcome Outcome `json:"outcome"`
	// Value is redacted; where it is too large for a payload, OutputRef names it.
	Value     json.RawMessage `json:"value,omitempty"`
	OutputRef string          `json:"outputRef,omitempty"`
	// Responded says that a hook answered in the tool's place.
	Responded bool          `json:"responded,omitempty"`
	Challenge bool          `json:"challenge,omitempty"`
	Failure   *hook.Failure `json:"failure,omitempty"`
	// Retryable says that another attempt may help. NothingHappened is the tool's
	// word for it, which allows one for any effect.
	Retryable       bool          `json:"retryable,omitempty"`
	NothingHappened bool          `json:"nothingHappened,omitempty"`
	Trace           []hook.Traced `json:"trace,omitempty"`
	By              string        `json:"by,omitempty"`
	DurationUs      int64         `json:"durationUs,omitempty"`
}

// CheckIn asks whether a dispatch that never answered had begun.
type CheckIn struct {
	InvocationID string `json:"invocationId"`
	Epoch        int    `json:"epoch"`
	Dispatch     int    `json:"dispatch"`
}

// CheckOut is Lost, Free (with the raised epoch) or Superseded.
type CheckOut struct {
	Outcome    Outcome `json:"outcome"`
	Epoch      int     `json:"epoch,omitempty"`
	DurationUs int64   `json:"durationUs,omitempty"`
}

// ProbeIn asks the tool what became of attempts that gave no answer.
type ProbeIn struct {
	Facts hook.Facts `json:"facts"`
	Epoch int        `json:"epoch"`
	// PlanVersion is that of the recorded plan, which the worker has to know.
	PlanVersion int `json:"planVersion,omitempty"`
	// Dispatch is the last that may have had an effect: what it is found to have
	// answered is kept by its number.
	Dispatch       int   `json:"dispatch"`
	MaxRuntimeMs   int64 `json:"maxRuntimeMs"`
	MaxResultBytes int   `json:"maxResultBytes"`
}

// ProbeOut is Done (it took effect, with the value), Refused (it did, with a
// value that breaks the contract), Free (it did not and never will), Lost
// (nobody can tell) or NotHere.
type ProbeOut struct {
	Outcome   Outcome         `json:"outcome"`
	Value     json.RawMessage `json:"value,omitempty"`
	OutputRef string          `json:"outputRef,omitempty"`
	Failure   *hook.Failure   `json:"failure,omitempty"`
	// By says what is missing.
	By         string `json:"by,omitempty"`
	DurationUs int64  `json:"durationUs,omitempty"`
}
