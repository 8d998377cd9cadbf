package oracle

import (
	"fmt"

	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func approved(v *view, out *Verdict) {
	for _, e := range v.Effects {
		c := v.known[e.InvocationID]
		if c == nil || c.ApprovalDigest == "" {
			continue
		}
		out.Checked++
		grant := granted(c)
		switch {
		case grant == nil:
			out.blame(c.ToolCallID, "an effect without an approval")
		case grant.Digest != c.ApprovalDigest:
			out.blame(c.ToolCallID, "the approval is of something else: its digest is not that of the call")
		case grant.DecidedAt == nil || !grant.DecidedAt.Before(e.At):
			out.blame(c.ToolCallID, "the effect came before the approval")
		case !sent(c, toolspec.Approve, grant.Approver):
			out.blame(c.ToolCallID, fmt.Sprintf("approved by %s, who never approved it", grant.Approver))
		}
	}
}

// granted returns the approved request of a call, or nil.
func granted(c *Call) *reads.Approval {
	if c.Record == nil {
		return nil
	}
	for i := range c.Record.Approvals {
		if a := &c.Record.Approvals[i]; a.State == contract.RequestApproved {
			return a
		}
	}
	return nil
}

func sent(c *Call, verb toolspec.Verb, approver string) bool {
	for _, d := range c.Decisions {
		if d.Verb == verb && d.Approver == approver {
			return true
		}
	}
	return false
}

// stateAfter returns the state of a request after a decision that counted.
func stateAfter(verb toolspec.Verb) contract.RequestState {
	switch verb {
	case toolspec.Approve:
		return contract.RequestApproved
	case toolspec.Deny:
		return contract.RequestDenied
	default: // the runs send no other decisions
		return ""
	}
}

func decided(v *view, out *Verdict) {
	for i := range v.Calls {
		c := &v.Calls[i]
		if c.Record == nil || len(c.Record.Approvals) == 0 {
			continue
		}
		out.Checked++
		last := len(c.Record.Approvals) - 1
		state := c.Record.Approvals[last].State
		for _, a := range c.Record.Approvals[:last] {
			if a.State == contract.RequestDenied {
				out.blame(c.ToolCallID, fmt.Sprintf("%s was denied, and somebody was asked again", a.ApprovalID))
			}
		}
		counted := map[toolspec.Verb]bool{}
		for _, d := range c.Decisions {
			if d.Answer == nil || !d.Answer.Counted {
				continue
			}
			counted[d.Verb] = true
			if state != stateAfter(d.Verb) {
				out.blame(c.ToolCallID, fmt.Sprintf("%s was told that %s counted, and the request is %s", d.Approver, d.Verb, state))
			}
		}
		if len(counted) > 1 {
			out.blame(c.ToolCallID, "two decisions were told that they counted")
		}
		if state == contract.RequestDenied && c.Record.Result != nil && c.Record.Result.ErrorCode != toolspec.CodeApprovalDenied {
			out.blame(c.ToolCallID, fmt.Sprintf("it was denied, and ended with %q", c.Record.Outcome))
		}
		if state == contract.RequestDenied && len(v.effects[c.InvocationID]) > 0 {
			out.blame(c.ToolCallID, "it was denied, and had an effect")
		}
	}
}
