package hooks

import (
	"context"
	"errors"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

var errNoTool = errors.New("this worker does not have the tool")

// invocationAudit is the audit line of a call. It holds ids and codes only.
type invocationAudit struct {
	ToolID       string           `json:"toolId"`
	ToolDigest   string           `json:"toolDigest,omitempty"`
	Effect       toolspec.Effect  `json:"effect,omitempty"`
	Risk         toolspec.Risk    `json:"risk,omitempty"`
	Context      toolspec.Context `json:"context"`
	PolicyDigest string           `json:"policyDigest,omitempty"`
	OK           bool             `json:"ok"`
	ErrorCode    toolspec.Code    `json:"errorCode,omitempty"`
	Attempts     int              `json:"attempts"`
	ApprovalID   string           `json:"approvalId,omitempty"`
	ApprovedBy   string           `json:"approvedBy,omitempty"`
	Digest       string           `json:"digest,omitempty"`
}

// Audit writes one line per call, whichever way it ended. Settle stores it.
func Audit() hook.Hook {
	return hook.New("audit", hook.Builtin(), hook.WillAudit.Do(func(_ context.Context, v *hook.Audit) error {
		line := invocationAudit{
			ToolID: v.ToolID(), ToolDigest: v.ToolDigest(), Effect: v.Effect(), Risk: v.Risk(), Context: v.Context(),
			PolicyDigest: v.PolicyDigest(), OK: v.OK(), ErrorCode: v.ErrorCode(), Attempts: v.Attempts(),
		}
		if a := v.Approval(); a != nil {
			line.ApprovalID, line.ApprovedBy, line.Digest = a.ApprovalID, a.Approver, a.Digest
		}
		v.Record("invocation", line)
		return nil
	}))
}
