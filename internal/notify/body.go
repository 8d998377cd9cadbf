package notify

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Bounds of a body. Receivers want to show a request, not to store it; a receiver that needs more
// reads the call.
const (
	// maxArgs and maxPreview are in bytes.
	maxArgs    = 16 << 10
	maxPreview = 16 << 10
	// maxApprovers bounds a text such as the approvers of a request, in characters.
	maxApprovers = 2000
)

// body is what a webhook receives: the envelope of Standard Webhooks around a notice. Each delivery of a notice has the same
// body.
type body struct {
	// Type is approval. and the kind of the notice.
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      data      `json:"data"`
}

type data struct {
	TenantID     string                `json:"tenantId"`
	InvocationID string                `json:"invocationId"`
	WorkflowID   string                `json:"workflowId"`
	Approval     toolspec.ApprovalView `json:"approval"`
	// ArgsOmitted says that the redacted arguments are too many to be sent.
	ArgsOmitted bool          `json:"argsOmitted,omitempty"`
	EscalatedTo string        `json:"escalatedTo,omitempty"`
	DecidedBy   string        `json:"decidedBy,omitempty"`
	Decision    toolspec.Verb `json:"decision,omitempty"`
	Reason      string        `json:"reason,omitempty"`
	Remark      string        `json:"remark,omitempty"`
}

func encode(n toolspec.Notice) ([]byte, error) {
	d := data{
		TenantID: n.TenantID, InvocationID: n.InvocationID, WorkflowID: n.WorkflowID, Approval: n.Approval, EscalatedTo: cut(n.EscalatedTo),
		DecidedBy: n.DecidedBy, Decision: n.Decision, Reason: n.Reason, Remark: cut(n.Remark),
	}
	if len(n.Approval.Args) > maxArgs {
		d.Approval.Args, d.ArgsOmitted = nil, true
	}
	if p := n.Approval.Preview; p != nil && len(p.Text) > maxPreview {
		short := *p
		short.Text, short.Truncated = strings.ToValidUTF8(p.Text[:maxPreview], ""), true
		d.Approval.Preview = &short
	}
	d.Approval.Approvers = cut(n.Approval.Approvers)
	d.Approval.Escalations = slices.Clone(n.Approval.Escalations)
	for i := range d.Approval.Escalations {
		d.Approval.Escalations[i].Approvers = cut(d.Approval.Escalations[i].Approvers)
	}
	return json.Marshal(body{Type: "approval." + string(n.Kind), Timestamp: n.At.UTC(), Data: d})
}

// cut keeps a text to its bound.
func cut(s string) string {
	if runes := []rune(s); len(runes) > maxApprovers {
		return string(runes[:maxApprovers-1]) + "…"
	}
	return s
}
