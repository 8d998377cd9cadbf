package chaos

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/postgres"
)

const (
	// pauseTime is how long an activity stays paused. It is longer than two heartbeats.
	pauseTime = 6 * time.Second
	// unpauseTimeout bounds the requests to unpause an activity.
	unpauseTimeout = time.Minute
	// sweepTimeout is how long a call without a workflow may have no record. Then follow takes it
	// as never admitted.
	sweepTimeout = 5 * time.Second
)

// follow reads the result of a call that was the target of a fault, from its latest run. If no run
// is left, follow waits until the sweeper has settled the call and starts it again, as an operator
// does; the new run returns the recorded result. It returns false if ctx ends first.
func (c *call) follow(ctx context.Context, s *servers) (oracle.Answer, bool) {
	var gone time.Time
	for {
		over, left := s.isOver(ctx, c)
		switch {
		case over && !left:
			if gone.IsZero() {
				gone = time.Now()
			}
			settled, recorded := s.isSettled(ctx, c)
			if settled || !recorded && time.Since(gone) > sweepTimeout {
				_ = s.startAgain(ctx, c.invocation)
			}
		case left:
			attached, err := s.pawl.Attach(ctx, c.invocation)
			if err == nil {
				if answer, ok := await(ctx, s.pawl, attached); ok && answer.Err == "" {
					return answer, true
				}
			}
		}
		if !pause(ctx, tryAgain) {
			return oracle.Answer{}, false
		}
	}
}

// isOver reports whether no run of the call is running. left reports that a run is running or has a
// result. Both are false if Temporal does not answer.
func (s *servers) isOver(ctx context.Context, c *call) (over, left bool) {
	trying, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	described, err := s.temporal.DescribeWorkflowExecution(trying, c.invocation.Identity().WorkflowID(), "")
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return true, false
	}
	if err != nil {
		return false, false
	}
	switch described.GetWorkflowExecutionInfo().GetStatus() {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return false, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return true, true
	default:
		return true, false
	}
}

// isSettled reports whether the record has a result of the call, and whether it has a row at all.
// If the database does not answer, recorded is true.
func (s *servers) isSettled(ctx context.Context, c *call) (settled, recorded bool) {
	record, err := s.store.Show(ctx, tenant, c.invocation.Identity().InvocationID())
	if errors.Is(err, postgres.ErrNotFound) {
		return false, false
	}
	return err == nil && record.Result != nil, true
}
