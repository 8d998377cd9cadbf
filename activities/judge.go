package activities

import (
	"context"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// judge says whether a decision of the voter counts, by the rule of the request as it
// is after the time that this has waited: the decision is about what that person has
// seen.
func judge(open OpenRequest, voter policy.Voter, d toolspec.Decision, f remembering) Judgement {
	open.Rule = open.Rule.At(open.Waited)
	j := Judgement{Signed: voter.Signed, Final: true}
	switch {
	case d.Digest != "" && d.Digest != open.Digest:
		j.Reason = "the decision is about another digest than the request's; look at the request again"
		return j
	case d.Decision == toolspec.Withdraw && d.Approver == open.RequestedBy && (voter.Signed || open.Rule.AllowUnsigned):
		j.Counted = true
		return j
	}
	if d.Decision == toolspec.Approve {
		ruling := open.Rule.Approve(voter, open.Votes, open.RequestedBy, open.OnBehalfOf)
		j.Answer = toolspec.Answer{Counted: ruling.Counted, Reason: ruling.Reason}
		j.Seat, j.Final = ruling.Seat, ruling.Final
	} else {
		j.Counted, j.Reason = open.Rule.MayDecide(voter, open.RequestedBy, open.OnBehalfOf)
	}
	// Who edited the arguments has asked for them.
	if j.Counted && d.Approver == open.EditedBy && !open.Rule.AllowSelfApproval {
		j.Answer = toolspec.Answer{Reason: "policy does not let the editor of the arguments decide on them"}
	}
	if j.Counted && j.Final && d.Remember {
		j.Grant, j.Reason = remembered(open, f, d)
	}
	return j
}

// identity is who decides, or why that is not known.
type identity struct {
	voter policy.Voter
	// keyID is the key that the proof was verified with.
	keyID   string
	refusal string
}

// identified says who decides. A proof that does not hold is refused also where none
// is asked for. An error is no answer.
func (a *Activities) identified(ctx context.Context, open OpenRequest, tenantID string, d toolspec.Decision) (who identity, err error) {
	who.voter.Identity = d.Approver
	switch {
	case d.Proof == "":
		return who, nil
	case proof.KeyID(d.Proof) == "" && a.config.IDTokens != nil:
		who.keyID, who.refusal, err = a.signedIn(ctx, open, tenantID, d)
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
	if who.voter.Signed = err == nil && who.refusal == ""; !who.voter.Signed {
		who.keyID = ""
	}
	return who, err
}
