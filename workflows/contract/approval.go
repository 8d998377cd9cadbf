package contract

import (
	"encoding/json"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// RequestIn is the input of Request, which opens an approval request, or finds the
// request that an earlier run opened for the same digest.
type RequestIn struct {
	Facts hook.Facts `json:"facts"`
	Epoch int        `json:"epoch"`
	// Last is the number of the last request of this call.
	Last int      `json:"last"`
	Ask  hook.Ask `json:"ask"`
	// Asks are the questions of the hooks about these arguments. The request has the approvers
	// that the hooks name, in addition to the approvers of policy.
	Asks []hook.Ask `json:"asks,omitempty"`
	// Edits are the numbers of the requests for which the call has received an edit that it has not used. After a
	// reset, Temporal delivers such an edit again. Request then returns the request that this edit answered, and
	// opens no new one.
	Edits []int `json:"edits,omitempty"`
	// EditedBy is the approver who edited the arguments; empty if no approver edited them.
	EditedBy string `json:"editedBy,omitempty"`
	// Hydrations are written to the record before the call waits, because the wait may
	// end without a settle of the call.
	Hydrations []Hydration `json:"hydrations,omitempty"`
	// Parked says why the outcome of the call is unknown; it is empty in a request for an
	// approval. If it is set, the request asks a person whether the call took effect. If policy
	// does not allow that question, the answer is Refused without a Failure.
	Parked string `json:"parked,omitempty"`
	// GivesBack says that the call gives its capacity back, and acquires it again after the
	// decision. A parked call always gives it back.
	GivesBack bool `json:"givesBack,omitempty"`
	// Capacity is the last round of the stages that acquire capacity. Request gives back only the capacity of
	// rounds up to this one: a late retry of Request must not take the capacity that the call acquires after the
	// decision.
	Capacity int `json:"capacity,omitempty"`
}

// RequestOut is the answer of Request. Outcome is Done, Refused or Superseded; the
// fields about the request are set with Done only.
type RequestOut struct {
	Outcome Outcome                `json:"outcome"`
	Failure *hook.Failure          `json:"failure,omitempty"`
	Number  int                    `json:"number,omitempty"`
	View    *toolspec.ApprovalView `json:"view,omitempty"`
	// Granted is the scope of the approval. Once the request is approved, the gate
	// compares the call with Granted.
	Granted     *hook.GrantedApproval `json:"granted,omitempty"`
	RemainingMs int64                 `json:"remainingMs,omitempty"`
	// Approved says that the request is already approved: an earlier run got the
	// approval and did not use it, or a remembered approval covers the call.
	Approved bool `json:"approved,omitempty"`
	// Edited says that an approver already answered this request with an edit. The record does not hold the
	// edited arguments. The call has them if Temporal has delivered the edit again.
	Edited bool `json:"edited,omitempty"`
	// Accepts says which decisions can count while the request is open.
	Accepts    *Acceptance `json:"accepts,omitempty"`
	DurationUs int64       `json:"durationUs,omitempty"`
}

// ReviewIn is the input of Review, which applies Decision to an open request. If
// Decision is nil, Review reads the state of the request. In both cases it raises the
// recorded round of the gate to Gate.
type ReviewIn struct {
	InvocationID string             `json:"invocationId"`
	ToolID       string             `json:"toolId"`
	TenantID     string             `json:"tenantId"`
	ApprovalID   string             `json:"approvalId,omitempty"`
	Epoch        int                `json:"epoch"`
	Gate         int                `json:"gate"`
	Capacity     int                `json:"capacity,omitempty"`
	Decision     *toolspec.Decision `json:"decision,omitempty"`
	// ToolDigest is the definition with which a worker validates edited arguments, if the worker has it.
	ToolDigest string `json:"toolDigest,omitempty"`
	// Args and SessionID limit the calls that a remembered approval covers. They are set
	// only if the decision asks to be remembered.
	Args      json.RawMessage `json:"args,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	// Close asks Review to close the request, because the call needs no decision any more.
	// It has an effect only if Decision is nil.
	Close bool `json:"close,omitempty"`
	// Refresh asks Review to return Accepts of the open request.
	Refresh bool `json:"refresh,omitempty"`
}

// RequestState is the state of an approval request.
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
	// RequestLost: the record does not have the request, because it was restored from a backup. Another request follows.
	RequestLost RequestState = "lost"
	// The states after a decision on a parked call.
	RequestRetried       RequestState = "retried"
	RequestSettledOK     RequestState = "settled_ok"
	RequestSettledFailed RequestState = "settled_failed"
)

// Becomes returns the state of an open request after a final decision with the verb.
// parked says that the request asks about an unknown outcome. fits is false if the verb
// is not valid for the request.
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

// Unfit returns the message for a decision whose verb is not valid for the request. The
// message names the valid verbs.
func Unfit(parked bool) string {
	if parked {
		return "the call's outcome is unknown; the request waits for retry, settle_ok or settle_failed"
	}
	return "the request waits for approve, deny, edit or withdraw"
}

// ReviewOut is the state of the request after Review. Outcome is Done or Superseded.
type ReviewOut struct {
	Outcome Outcome         `json:"outcome"`
	Answer  toolspec.Answer `json:"answer,omitzero"`
	State   RequestState    `json:"state,omitempty"`
	// PolicyDigest is the active policy, read in the same statement as State.
	PolicyDigest string `json:"policyDigest,omitempty"`
	// Kills are the kill switches that apply to the call. The SQL statement that reads them is the one that
	// reads PolicyDigest, or an earlier one.
	Kills []hook.Kill `json:"kills,omitempty"`
	// Connection is the state of the call's connection, read together with Kills.
	Connection  *hook.Connection `json:"connection,omitempty"`
	RemainingMs int64            `json:"remainingMs,omitempty"`
	// Approver and EditedArgs come from the decision that counted.
	Approver   string          `json:"approver,omitempty"`
	EditedArgs json.RawMessage `json:"editedArgs,omitempty"`
	// SafeArgs is the masked form of EditedArgs, which people and records may see.
	SafeArgs json.RawMessage `json:"safeArgs,omitempty"`
	// Accepts says which decisions can count on the request from now on. It is set only if
	// ReviewIn.Refresh asked for it.
	Accepts    *Acceptance `json:"accepts,omitempty"`
	DurationUs int64       `json:"durationUs,omitempty"`
}

// MaxAcceptedKeys bounds the keys in an Acceptance, because the history of every call that
// waits holds them.
const MaxAcceptedKeys = 100

// Acceptance says which decisions can count on an open request, so that the workflow drops other decisions
// without an activity. If the history of a call has no Acceptance, the workflow passes every decision to Review.
type Acceptance struct {
	// Unsigned says that decisions without a proof can count.
	Unsigned bool `json:"unsigned,omitempty"`
	// IDTokens says that the worker verifies ID tokens.
	IDTokens bool `json:"idTokens,omitempty"`
	// Keys are valid keys of the people who may decide, at most MaxAcceptedKeys.
	Keys []AcceptedKey `json:"keys,omitempty"`
	// MoreKeys says that there may be valid keys that Keys does not have, because the activity reads a limited
	// number of keys.
	MoreKeys bool `json:"moreKeys,omitempty"`
}

// AcceptedKey is the public part of an approver's Ed25519 key.
type AcceptedKey struct {
	ID       string `json:"id"`
	Public   []byte `json:"public"`
	Identity string `json:"identity"`
}
