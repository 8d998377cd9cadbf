package outbox

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/internal/postgres/db"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// noticeRow is a row of the statement TakeNotices.
type noticeRow struct {
	NoticeID, DecidedBy, Reason, Remark, ApprovalID, TenantID, InvocationID, WorkflowID, ToolID, Digest, Message, RequestedBy, OnBehalfOf, ApproversText, PreviewDigest, Parked string

	Kind      toolspec.NoticeKind
	Nth       int
	At        time.Time
	Decision  toolspec.Verb
	Attempts  int
	Effect    toolspec.Effect
	Risk      toolspec.Risk
	SafeArgs  json.RawMessage
	Rule      json.RawMessage
	Preview   json.RawMessage
	ExpiresAt time.Time
	CreatedAt time.Time
}

// lookedRow is a row of the statements HappenNotices and SpreadNotices.
type lookedRow struct {
	Looked int64
}

// givenUpRow is a row of the statement MarkNoticeFailed.
type givenUpRow struct {
	GivenUp bool
}

// notice returns the notice that a notifier receives.
func (r noticeRow) notice() (toolspec.Notice, error) {
	rule, err := db.Decoded[policy.ApprovalRule](r.Rule)
	if err != nil {
		return toolspec.Notice{}, err
	}
	preview, err := db.Optional[toolspec.PreviewView](r.Preview)
	if err != nil {
		return toolspec.Notice{}, err
	}
	n := toolspec.Notice{
		ID: r.NoticeID, Kind: r.Kind, At: r.At, TenantID: r.TenantID, InvocationID: r.InvocationID, WorkflowID: r.WorkflowID,
		Approval: toolspec.ApprovalView{
			ApprovalID: r.ApprovalID, ToolID: r.ToolID, Effect: r.Effect, Risk: r.Risk, Args: r.SafeArgs, Digest: r.Digest, Message: r.Message,
			RequestedBy: r.RequestedBy, OnBehalfOf: r.OnBehalfOf, Approvers: r.ApproversText, ExpiresAtMs: r.ExpiresAt.UnixMilli(), Parked: r.Parked,
			Escalations: rule.Escalations(r.CreatedAt, r.ExpiresAt), Preview: preview, PreviewDigest: r.PreviewDigest,
		},
		DecidedBy: r.DecidedBy, Decision: r.Decision, Reason: r.Reason, Remark: r.Remark, Attempts: r.Attempts,
	}
	if r.Kind == toolspec.NoticeEscalated && r.Nth <= len(rule.Escalate) {
		n.EscalatedTo = rule.Escalate[r.Nth-1].Describe()
	}
	return n, nil
}
