package settle

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// invocationAudit is the audit line of a call. It has ids and codes only.
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

// Audit is Pawl's step at willAudit. It adds one line per call, however the call ended;
// Settle stores the line. If the stage fails because of the hooks of users, Settle makes the line.
func Audit(_ context.Context, in hook.StageInput) (v hook.Verdict, err error) {
	f := in.Facts
	line := invocationAudit{
		ToolID: f.ToolID, ToolDigest: f.ToolDigest, Effect: f.Effect, Risk: f.Risk, Context: f.Context,
		PolicyDigest: f.PolicyDigest, OK: f.Failure == nil, Attempts: f.Attempts,
	}
	if f.Failure != nil {
		line.ErrorCode = f.Failure.Code
	}
	if f.Approval != nil {
		line.ApprovalID, line.ApprovedBy, line.Digest = f.Approval.ApprovalID, f.Approval.Approver, f.Approval.Digest
	}
	detail, err := json.Marshal(line)
	if err == nil && toolspec.SecretJSON(detail) {
		err = errors.New("the audit line has the shape of a secret")
	}
	if err != nil {
		return v, err
	}
	v.Delta.Audit = []hook.AuditEntry{{Kind: contract.CallAudit, Detail: detail}}
	return v, nil
}
