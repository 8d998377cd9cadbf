package toolspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Names of the messages a running call understands, and of its query.
const (
	// DecideName is a signal and an update, with a Decision.
	DecideName = "decide"
	// RecheckName is a signal without payload: policy, grant or capacity
	// changed; look again.
	RecheckName = "recheck"
	// StateName is the query that answers a State.
	StateName = "state"
)

// Types of the application error by which a call refuses an update `decide`. Nothing
// of a refused update is recorded.
const (
	// DecideRefused: the decision cannot count.
	DecideRefused = "decide_refused"
	// DecideAgain: it may count later; the same decision may be sent again.
	DecideAgain = "decide_again"
	// DecideBySignal: the call takes no more such updates; it may take the decision as
	// a signal.
	DecideBySignal = "decide_by_signal"
)

// Verb is what an approver says.
type Verb string

// The verbs. The last three answer a parked outcome_unknown.
const (
	Approve      Verb = "approve"
	Deny         Verb = "deny"
	Edit         Verb = "edit"
	Withdraw     Verb = "withdraw"
	Retry        Verb = "retry"
	SettleOK     Verb = "settle_ok"
	SettleFailed Verb = "settle_failed"
)

// Bounds of a decision, in bytes.
const (
	MaxDecision = MaxInline
	maxReason   = 2000
)

// Decision is the payload of `decide`.
type Decision struct {
	ApprovalID string `json:"approvalId"`
	Decision   Verb   `json:"decision"`
	// Digest is that of the request as the approver saw it. Where it is given, and
	// it must be with a proof, the decision counts for no other.
	Digest string `json:"digest,omitempty"`
	// Approver is who decides. It counts for what its proof, or the policy for
	// unsigned decisions, makes of it.
	Approver string `json:"approver"`
	Reason   string `json:"reason,omitempty"`
	// EditedArgs replaces the arguments where the verb is edit.
	EditedArgs json.RawMessage `json:"editedArgs,omitempty"`
	// Remember asks that calls like this one, as Scope says, not be asked about again.
	Remember bool   `json:"remember,omitempty"`
	Scope    *Scope `json:"scope,omitempty"`
	// Proof is a signed token over the rest of the decision: see package proof. An ID
	// token of OpenID Connect, whose nonce is the hash of the rest, may stand here too.
	Proof string `json:"proof,omitempty"`
}

// ID is the hexadecimal SHA-256 of the decision as encoding/json writes it: what Go's
// Temporal client sends as the payload of a signal. It is empty where EditedArgs is no
// JSON.
func (d Decision) ID() string {
	raw, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Check refuses the malformed, oversized and unknown, and an approver whose name
// CheckIdentity refuses. Whether a well-formed decision counts is decided elsewhere.
func (d Decision) Check() error {
	if err := d.CheckForm(); err != nil {
		return err
	}
	return checkIdentity("approver", d.Approver)
}

// CheckForm is Check as versions before this one had it, which took more names.
// Workflows apply it to decisions that they may be replaying.
func (d Decision) CheckForm() error {
	if _, _, ok := SplitApprovalID(d.ApprovalID); !ok {
		return fmt.Errorf("approvalId is not of the form <invocationId>.<n>; take it from the state query")
	}
	switch d.Decision {
	case Approve, Deny, Withdraw, Edit, Retry, SettleOK, SettleFailed:
	default:
		return fmt.Errorf("decision must be approve, deny, edit, withdraw, retry, settle_ok or settle_failed")
	}
	if d.Digest != "" && !isDigest(d.Digest) {
		return fmt.Errorf("digest must be the 64 hexadecimal digits of the request's digest; take it from the state query")
	}
	if d.Scope != nil {
		if !d.Remember {
			return fmt.Errorf("scope goes with remember, and only with it")
		}
		if err := d.Scope.Check(); err != nil {
			return err
		}
	}
	if err := checkPrintable("approver", d.Approver, MaxIdentity); err != nil {
		return err
	}
	if len(d.Reason) > maxReason {
		return fmt.Errorf("reason is longer than %d bytes", maxReason)
	}
	if SecretValue(d.Reason) {
		return fmt.Errorf("reason holds something of the shape of a credential; it would be recorded")
	}
	// Many languages write null for what is absent.
	edited := len(d.EditedArgs) > 0 && string(d.EditedArgs) != "null"
	if (d.Decision == Edit) != edited {
		return fmt.Errorf("editedArgs go with the decision edit, and only with it")
	}
	if len(d.EditedArgs)+len(d.Proof) > MaxDecision {
		return fmt.Errorf("the decision is larger than %d bytes", MaxDecision)
	}
	return nil
}

func isDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// Answer is what the sender of a decision learns.
type Answer struct {
	// Counted says whether the decision changed anything.
	Counted bool `json:"counted"`
	// Reason says why it did not count; safe to show.
	Reason string `json:"reason,omitempty"`
	// Again says that nobody knows yet whether the decision counts, and nothing of it
	// was recorded: who issued its proof could not be asked. The same decision may be
	// sent again, under another update id.
	Again bool `json:"again,omitempty"`
}
