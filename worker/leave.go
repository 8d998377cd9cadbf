package worker

import (
	"context"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

const (
	// leaveDelay is how long the resetter waits after an activity has answered that this worker lacks a part
	// of the call. The workflow task with this answer binds the workflow to the worker again, so the request
	// must come after this task. It must come before the next try of the activity, which begins at least
	// steps.MissingDelay (1 s) after the answer.
	leaveDelay = 500 * time.Millisecond
	// leaveTime bounds one request to Temporal.
	leaveTime = time.Second
	// maxStickyResets bounds the requests that wait to be sent. If there are more, leave drops the request: the
	// workflow asks again after its next try.
	maxStickyResets = 1000
)

// stickyResetter makes Temporal give the next task of a workflow to any worker. Without it the tasks stay
// with the worker that has the workflow in memory.
type stickyResetter struct {
	due   chan stickyReset
	reset func(ctx context.Context, workflowID, runID string) error
}

type stickyReset struct {
	workflowID, runID string
	at                time.Time
}

func newStickyResetter(c Config, temporal client.Client) *stickyResetter {
	return &stickyResetter{due: make(chan stickyReset, maxStickyResets), reset: func(ctx context.Context, workflowID, runID string) error {
		_, err := temporal.WorkflowService().ResetStickyTaskQueue(ctx, &workflowservice.ResetStickyTaskQueueRequest{
			Namespace: namespaceOf(c), Execution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
		})
		return err
	}}
}

// leave queues the request that lets another worker continue the workflow after its current task. It does not block.
func (l *stickyResetter) leave(workflowID, runID string) {
	select {
	case l.due <- stickyReset{workflowID, runID, time.Now().Add(leaveDelay)}:
	default:
	}
}

// run sends the requests until ctx ends. It ignores errors: the workflow asks again after its next
// try.
func (l *stickyResetter) run(ctx context.Context) {
	for {
		var w stickyReset
		select {
		case <-ctx.Done():
			return
		case w = <-l.due:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(w.at)):
		}
		bounded, cancel := context.WithTimeout(ctx, leaveTime)
		_ = l.reset(bounded, w.workflowID, w.runID)
		cancel()
	}
}
