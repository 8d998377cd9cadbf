package toolspec

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// Names of the signals, the update and the query of a running call.
const (
	// DecideName is a signal and an update, with a Decision.
	DecideName = "decide"
	// RecheckName is a signal without payload: policy, a grant or the capacity has changed, and the
	// gate must judge the call again.
	RecheckName = "recheck"
	// StateName is the query that answers a State.
	StateName = "state"
)

// Types of the application error by which a call refuses an update `decide`. Nothing
// of a refused update is recorded.
const (
	// DecideRefused: the decision cannot count.
	DecideRefused = "decide_refused"
	// DecideAgain: the decision may count later. Send the same decision again.
	DecideAgain = "decide_again"
	// DecideBySignal: the call takes no more updates `decide`. It may take the decision as a signal.
	DecideBySignal = "decide_by_signal"
)

// Verb is what an approver says.
type Verb string

// The verbs. The last three are for a parked call.
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
	// MaxDecision bounds editedArgs and proof together.
	MaxDecision = MaxInline
	maxReason   = 2000
)

// Decision is the payload of `decide`.
type Decision struct {
	// ApprovalID is the id of the request, as the query state returns it: the invocationId, a dot
	// and a number.
	ApprovalID string `json:"approvalId"`
	// Decision is the verb. approve lets the call run. deny and withdraw end it with
	// approval_denied. edit replaces the arguments and opens a new request. retry, settle_ok and
	// settle_failed count only if the outcome is unknown. retry makes another attempt, settle_ok ends
	// the call with ok and without a value, and settle_failed ends it with execution.
	Decision Verb `json:"decision"`
	// Digest is the digest of the request as the approver saw it, 64 hexadecimal digits. It is
	// required with a proof. If it is present, the decision counts only for a request with this
	// digest.
	Digest string `json:"digest,omitempty"`
	// PreviewDigest is the previewDigest of the request as the approver saw it, 64 hexadecimal digits. If
	// it is present, the decision counts only for a request with this previewDigest.
	PreviewDigest string `json:"previewDigest,omitempty"`
	// Approver is the name of the person who decides, of 1 to 200 characters: see the section Names
	// of the contract. The proof of the decision must be of this person. A decision without a proof
	// counts only if policy accepts unsigned decisions.
	Approver string `json:"approver"`
	// Reason is the reason of the approver, at most 2000 bytes. Pawl stores it, so do not put a
	// secret into it.
	Reason string `json:"reason,omitempty"`
	// EditedArgs are the new arguments. They are required with edit and refused with every other
	// decision. The two fields editedArgs and proof together have at most 65536 bytes.
	EditedArgs json.RawMessage `json:"editedArgs,omitempty"`
	// Remember asks Pawl to remember the approval. Pawl then asks nobody about later calls of the
	// same tool that scope covers. It has an effect only if policy allows remembered approvals.
	Remember bool `json:"remember,omitempty"`
	// Scope says for which later calls Pawl remembers the approval. It is allowed only with remember.
	Scope *Scope `json:"scope,omitempty"`
	// Proof is a token that signs the other fields of the decision, or an ID token of OpenID
	// Connect whose nonce is the hash of the other fields: see the section Proof of the contract. A
	// decision with an invalid proof does not count, even if policy accepts unsigned decisions.
	Proof string `json:"proof,omitempty"`
}

// ID is the hexadecimal SHA-256 of the decision as encoding/json writes it. The Temporal client for
// Go sends the same bytes as the payload of a signal. It is empty if EditedArgs is no JSON.
func (d Decision) ID() string {
	raw, err := json.Marshal(d)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Check returns an error for a decision that is malformed, too large or of an unknown kind, and for
// an approver whose name CheckIdentity refuses. It does not say whether the decision counts.
func (d Decision) Check() error {
	if err := d.CheckForm(); err != nil {
		return err
	}
	if d.PreviewDigest != "" && !isDigest(d.PreviewDigest) {
		return fmt.Errorf("previewDigest must be the 64 hexadecimal digits of the request's previewDigest; take it from the state query")
	}
	return checkIdentity("approver", d.Approver)
}

// CheckForm is Check as it was in older releases, which accepted more names of approvers. Workflows
// apply it to decisions that they may be replaying.
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

// ReasonUnsigned is the Reason of an Answer to a decision without a proof, if policy requires one.
const ReasonUnsigned = "policy counts only signed decisions"

// Answer is what the sender of a decision learns.
type Answer struct {
	// Counted says whether the decision changed anything.
	Counted bool `json:"counted"`
	// Reason says why the decision did not count, or is a remark. It is safe to show. The texts
	// are not part of the contract.
	Reason string `json:"reason,omitempty"`
	// Again says that Pawl does not know yet whether the decision counts, and has recorded nothing.
	// Send the same decision again, under another update id. There are four cases: (1) the issuer
	// of the ID token did not answer; (2) the call does not know the key of the signature, and makes a
	// pause in which it accepts no decision with such a key: see the section A key that the call does
	// not know of the contract; (3) the decision came as a signal, and too
	// many signed signals came at once; (4) the worker cannot check the edited arguments, for example
	// because it does not have the tool.
	Again bool `json:"again,omitempty"`
}
