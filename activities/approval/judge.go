package approval

import (
	"context"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// decide says whether a decision of the voter counts. It applies the recorded rule of the
// request, with the escalations that are due after open.Waited, because the voter decides
// on the request as it was shown.
func decide(open OpenRequest, voter policy.Voter, d toolspec.Decision, call remembering) Judgement {
	open.Rule = open.Rule.At(open.Waited)
	// Final changes below only for an approval that needs further approvals.
	j := Judgement{Signed: voter.Signed, Final: true}
	switch {
	// The voter saw another question. Unsigned decisions may leave out the digest.
	case d.Digest != "" && d.Digest != open.Digest:
		j.Reason = "the decision is about another digest than the request's; look at the request again"
		return j
	case d.PreviewDigest != "" && d.PreviewDigest != open.Granted.PreviewDigest:
		j.Reason = "the decision is about another preview than the request's; look at the request again"
		return j
	// The requester may withdraw without being an approver, but must prove the identity
	// unless the rule accepts unsigned decisions.
	case d.Decision == toolspec.Withdraw && d.Approver == open.RequestedBy && (voter.Signed || open.Rule.AllowUnsigned):
		j.Counted = true
		return j
	}
	if d.Decision == toolspec.Approve {
		// An approval counts for one entry of the chain. A quorum or a later entry may need
		// more approvals: then the ruling is not final.
		ruling := open.Rule.Approve(voter, open.Votes, open.RequestedBy, open.OnBehalfOf)
		j.Answer = toolspec.Answer{Counted: ruling.Counted, Reason: ruling.Reason}
		j.Entry, j.HookEntries, j.Final = ruling.Entry, ruling.HookEntries, ruling.Final
	} else {
		// Every other verb ends the wait at once and needs only the right to decide.
		j.Counted, j.Reason = open.Rule.MayDecide(voter, open.RequestedBy, open.OnBehalfOf)
	}
	// An approver who edits the arguments becomes the requester of the edited call.
	if j.Counted && d.Approver == open.EditedBy && !open.Rule.AllowSelfApproval {
		j.Answer = toolspec.Answer{Reason: "policy does not let the editor of the arguments decide on them"}
	}
	// A vote that leaves the request open has not approved the call, so there is nothing
	// to remember yet. The reason tells the approver how long the approval is remembered.
	if j.Counted && j.Final && d.Remember {
		j.Grant, j.Reason = newGrant(open, call, d)
	}
	return j
}

// identity is the approver of a decision, or the refusal of the decision's proof.
type identity struct {
	voter policy.Voter
	// keyID is the ID of the key that verified the proof; empty if nothing was verified.
	keyID string
	// refusal says why the proof is refused, in a text that people may see. refusal is
	// empty if the proof is not refused.
	refusal string
}

// identifyApprover verifies the proof of a decision and returns the approver. It refuses an invalid proof even
// if the rule accepts unsigned decisions. An error means that the proof could not be checked: the proof may
// still be valid.
func (a *Approvals) identifyApprover(ctx context.Context, open OpenRequest, tenantID string, d toolspec.Decision) (who identity, err error) {
	who.voter.Identity = d.Approver
	switch {
	case d.Proof == "":
		// Nothing proves the identity. decide refuses the decision unless the rule accepts
		// unsigned decisions.
		return who, nil
	// A proof of Pawl names its key. A proof without a key ID may be an ID token.
	case proof.KeyID(d.Proof) == "" && a.parts.IDTokens != nil:
		who.keyID, who.refusal, err = a.verifyIDToken(ctx, open, tenantID, d)
	// The tenant has no key with the ID that the proof names, or the proof names no key
	// and this worker verifies no ID tokens.
	case open.Key == nil:
		who.refusal = proof.UnknownKey.Error()
		if proof.KeyID(d.Proof) == "" {
			who.refusal = proof.Malformed.Error()
		}
	default:
		who.keyID = proof.KeyID(d.Proof)
		if bad := proof.Verify(d, tenantID, *open.Key, open.Now); bad != nil {
			who.refusal = bad.Error()
		}
	}
	// The record must not name a key if the proof was not verified.
	who.voter.Signed = err == nil && who.refusal == ""
	if !who.voter.Signed {
		who.keyID = ""
	}
	return who, err
}
