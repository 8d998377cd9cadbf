package activities

import (
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// judge says whether a decision counts, by the rule of the request as it is after the
// time that this has waited: who decides is who has signed, and the decision is about
// what that person has seen.
func judge(open OpenRequest, tenantID string, d toolspec.Decision, roles []string, f remembering) Judgement {
	open.Rule = open.Rule.At(open.Waited)
	voter, refusal := identified(open, tenantID, d)
	voter.Roles = roles
	j := Judgement{Signed: voter.Signed, Final: true}
	switch {
	case refusal != "":
		j.Reason = refusal
		return j
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

// identified says who decides. A proof that does not hold is refused also where none
// is asked for.
func identified(open OpenRequest, tenantID string, d toolspec.Decision) (v policy.Voter, refusal string) {
	v.Identity = d.Approver
	if d.Proof == "" {
		return v, ""
	}
	if open.Key == nil {
		if proof.KeyID(d.Proof) == "" {
			return v, proof.Malformed.Error()
		}
		return v, proof.UnknownKey.Error()
	}
	if err := proof.Verify(d, tenantID, *open.Key, open.Now); err != nil {
		return v, err.Error()
	}
	v.Signed = true
	return v, ""
}
