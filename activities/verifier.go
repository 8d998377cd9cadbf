package activities

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/workflows"
)

// Histories are what Temporal keeps.
type Histories interface {
	// Verify searches the workflows that closed within a time for every secret that
	// is alive, and reports in the log where one stands. It reads until ctx ends.
	Verify(ctx context.Context, in workflows.VerifyClosedIn) (workflows.VerifyClosedOut, error)
}

// Verifier searches histories for secrets. It may be killed at any time and may
// run twice at once.
type Verifier struct {
	histories Histories
	log       *slog.Logger
}

// NewVerifier makes a verifier.
func NewVerifier(histories Histories, log *slog.Logger) *Verifier {
	return &Verifier{histories: histories, log: log}
}

// Register binds the activity of the workflow VerifyHistory.
func (v *Verifier) Register(r workflows.Registry) {
	workflows.Bind(r, workflows.VerifyClosed, v.log, v.Closed)
}

// Closed searches, and says meanwhile that it lives.
func (v *Verifier) Closed(ctx context.Context, in workflows.VerifyClosedIn) (workflows.VerifyClosedOut, error) {
	stop := beating(ctx, new(reported))
	defer stop()
	out, err := v.histories.Verify(ctx, in)
	if err != nil {
		return out, err
	}
	v.log.InfoContext(ctx, "closed histories were searched for secrets", "workflows", out.Workflows, "events", out.Events,
		"secrets", out.Secrets, "findings", out.Findings, "unread", out.Unread)
	return out, nil
}
