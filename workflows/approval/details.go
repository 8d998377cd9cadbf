package approval

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/envelope"
)

// details returns Markdown that describes the open request, and the number of dropped
// signals, if any. It needs an open request.
func (a *Approvals) details() string {
	text := askDetails(a.open)
	if a.open.Parked != "" {
		text = parkedDetails(a.open)
	}
	if n := a.inbox.dropped; n > 0 {
		text += fmt.Sprintf("\n**%d signals dropped**: decisions that cannot count, such as ones without a valid proof. Find out who sends them.\n", n)
	}
	return text
}

// requesters names the actor of the call and its subject, if it has one.
func requesters(v *toolspec.ApprovalView) string {
	text := envelope.PlainText(toolspec.Quoted(v.RequestedBy))
	if v.OnBehalfOf != "" {
		text += "` for `" + envelope.PlainText(toolspec.Quoted(v.OnBehalfOf))
	}
	return text
}

func askDetails(v *toolspec.ApprovalView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Waiting for approval** of `%s` (%s, %s risk)\n\n", v.ToolID, v.Effect, v.Risk)
	if v.Message != "" {
		fmt.Fprintf(&b, "- why: %s\n", envelope.PlainText(v.Message))
	}
	fmt.Fprintf(&b, "- requested by: `%s`\n- who may decide: %s\n- approval id: `%s`\n- digest: `%s`\n\n",
		requesters(v), envelope.PlainText(v.Approvers), v.ApprovalID, v.Digest)
	b.WriteString("`pawl approvals` shows the arguments, `pawl approve` and `pawl deny` decide.\n")
	return b.String()
}

func parkedDetails(v *toolspec.ApprovalView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**Outcome unknown** (%s): `%s` (%s) was called, and nobody knows whether it took effect\n\n", v.Parked, v.ToolID, v.Effect)
	fmt.Fprintf(&b, "- requested by: `%s`\n- who may decide: %s\n- approval id: `%s`\n\n",
		requesters(v), envelope.PlainText(v.Approvers), v.ApprovalID)
	b.WriteString("Find out whether it did, and `pawl resolve` the call: retry, settle_ok or settle_failed.\n")
	return b.String()
}
