package agentruns

import (
	"context"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/cli/approvals"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// showNextRequest takes the next approval request from c.unasked, and shows it if it is open. It sets c.asked, so that
// the next line is the decision. A request that the chat has no decision for goes to c.postponed, so that the end of the
// input ends the chat: the request of a parked call, and a request that cannot be read.
func (c *chat) showNextRequest(ctx context.Context) {
	id := c.unasked[0]
	c.unasked = c.unasked[1:]
	request, err := approvals.Find(ctx, c.s, c.a.Tenant, id)
	if err != nil {
		c.line("the approval request %s cannot be shown: %s", app.OneLine(id, 80), app.OneLine(err.Error(), 400))
		c.postponed = append(c.postponed, id)
		return
	}
	if request.State != contract.RequestOpen {
		return
	}
	c.endLine()
	approvals.Print(c.a, request)
	if request.Parked != "" {
		c.postponed = append(c.postponed, id)
		return
	}
	if t, ok := c.console.(*terminal); ok {
		t.dropTyped()
	} else {
		c.line("a = approve, d REASON = deny, an empty line = later")
	}
	c.asked = question{id, request.Digest}
}

// decide handles the line of the person after a request was shown: it sends the decision, or postpones the request if
// the line is empty.
func (c *chat) decide(ctx context.Context, line string) {
	asked := c.asked
	verb, reason, _ := strings.Cut(line, " ")
	decision := toolspec.Decision{ApprovalID: asked.approvalID, Approver: c.by, Reason: strings.TrimSpace(reason)}
	switch verb {
	case "a", "approve":
		decision.Decision = toolspec.Approve
	case "d", "deny":
		decision.Decision = toolspec.Deny
	case "":
		c.leaveOpen(asked.approvalID)
		c.line("`pawl approve %s` or `pawl deny %s` decides later; the turn waits", asked.approvalID, asked.approvalID)
		return
	default:
		c.line("%q is no decision", app.OneLine(verb, 40))
		return
	}
	answer, err := approvals.Decide(ctx, c.s, c.a.Tenant, c.key, asked.digest, decision)
	if err == nil {
		err = approvals.Refusal(answer)
	}
	if err != nil {
		c.leaveOpen(asked.approvalID)
		c.line("%s", app.OneLine(err.Error(), 400))
		c.line("`pawl approve %s` or `pawl deny %s` decides; the turn waits", asked.approvalID, asked.approvalID)
		return
	}
	c.asked = question{}
	c.line("%s", approvals.Counted(decision.Decision, answer))
}

// leaveOpen ends the question about a request without a decision. The turn continues to wait for the request.
func (c *chat) leaveOpen(approvalID string) {
	c.asked, c.postponed = question{}, append(c.postponed, approvalID)
}

// forget removes the question about a request that a person has decided.
func (c *chat) forget(approvalID string) {
	isDecided := func(id string) bool { return id == approvalID }
	c.unasked, c.postponed = slices.DeleteFunc(c.unasked, isDecided), slices.DeleteFunc(c.postponed, isDecided)
	if c.asked.approvalID == approvalID {
		c.asked = question{}
		c.cancelPrompt()
	}
}
