package upkeep

import (
	"context"
	"log/slog"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/workflows/contract"
)

// Histories gives access to the histories that Temporal keeps.
type Histories interface {
	// Verify searches the workflows that closed within a period for every live secret. It
	// logs the place of each secret that it finds. It stops when ctx ends.
	Verify(ctx context.Context, in contract.VerifyClosedIn) (contract.VerifyClosedOut, error)
}

// Verifier searches histories for secrets. It may be killed at any time, and two runs may overlap.
type Verifier struct {
	histories Histories
	log       *slog.Logger
}

// NewVerifier makes a verifier.
func NewVerifier(histories Histories, log *slog.Logger) *Verifier {
	return &Verifier{histories: histories, log: log}
}

// Register binds the activity of the workflow VerifyHistory.
func (v *Verifier) Register(r contract.Registry) {
	contract.Bind(r, contract.VerifyClosed, v.log, v.Closed)
}

// Closed searches for secrets in the histories of workflows. It reads the workflows that closed in
// the period that in names. During the search it sends heartbeats. It logs the counts; neither the
// log nor the output holds a secret.
func (v *Verifier) Closed(ctx context.Context, in contract.VerifyClosedIn) (contract.VerifyClosedOut, error) {
	stop := heartbeat.Send[struct{}](ctx, nil)
	defer stop()
	out, err := v.histories.Verify(ctx, in)
	if err != nil {
		return out, err
	}
	v.log.InfoContext(ctx, "closed histories were searched for secrets", "workflows", out.Workflows, "events", out.Events,
		"secrets", out.Secrets, "findings", out.Findings, "unread", out.Unread)
	return out, nil
}
