package worker

import (
	"context"
	"testing"
	"time"
)

// TestLeaver: the request for a workflow is sent after the delay. A full list does not block. The end of the
// context ends the run.
func TestLeaver(t *testing.T) {
	t.Parallel()
	asked := make(chan time.Time, 3)
	l := &stickyResetter{due: make(chan stickyReset, 1), reset: func(ctx context.Context, workflowID, runID string) error {
		if _, bounded := ctx.Deadline(); !bounded || workflowID != "w" || runID != "r" {
			t.Errorf("asked for %s of %s, bounded %t", runID, workflowID, bounded)
		}
		asked <- time.Now()
		return context.Canceled
	}}
	ctx, cancel := context.WithCancel(t.Context())
	started := time.Now()
	l.leave("w", "r")
	l.leave("w", "r") // the list is full
	done := make(chan struct{})
	go func() { l.run(ctx); close(done) }()
	if at := <-asked; at.Sub(started) < leaveDelay {
		t.Errorf("asked after %s", at.Sub(started))
	}
	l.leave("w", "r")
	cancel()
	<-done
}
