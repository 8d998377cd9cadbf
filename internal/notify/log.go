package notify

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/toolspec"
)

// Log writes notices into a log, without arguments.
type Log struct{ log *slog.Logger }

// NewLog returns a Log.
func NewLog(log *slog.Logger) Log { return Log{log} }

// Notify writes one line.
func (l Log) Notify(ctx context.Context, n toolspec.Notice) error {
	attrs := []slog.Attr{
		slog.String("kind", string(n.Kind)), slog.String("notice", n.ID), slog.Time("at", n.At), slog.String("tenantId", n.TenantID),
		slog.String("approvalId", n.Approval.ApprovalID), slog.String("workflowId", n.WorkflowID), slog.String("toolId", n.Approval.ToolID),
		slog.String("requestedBy", n.Approval.RequestedBy), slog.String("approvers", n.Approval.Approvers),
	}
	if n.EscalatedTo != "" {
		attrs = append(attrs, slog.String("escalatedTo", n.EscalatedTo))
	}
	if n.Decision != "" {
		attrs = append(attrs, slog.String("decision", string(n.Decision)), slog.String("decidedBy", n.DecidedBy))
	}
	l.log.LogAttrs(ctx, slog.LevelInfo, "approval request", attrs...)
	return nil
}
