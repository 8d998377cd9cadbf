package client

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/toolspec"
)

// State asks a call for its state, once. It needs Temporal and a worker, and returns an error if
// they do not answer within ten seconds. An id that no call has is ErrNotFound.
func (c *Client) State(ctx context.Context, workflowID string) (toolspec.State, error) {
	var state toolspec.State
	_, err := c.describe(ctx, workflowID)
	var value converter.EncodedValue
	if err == nil {
		value, err = c.temporal.QueryWorkflow(ctx, workflowID, "", toolspec.StateName)
	}
	if err == nil {
		err = value.Get(&state)
	}
	if err != nil {
		return state, fmt.Errorf("client: state of %s: %w", workflowID, orNotFound(err))
	}
	return state, nil
}

// Progress returns the last progress that the tool of a running call reported. reported is false if
// the tool reported nothing, or does not run now. An id that no call has is ErrNotFound.
func (c *Client) Progress(ctx context.Context, workflowID string) (p toolspec.Progress, reported bool, err error) {
	described, err := c.describe(ctx, workflowID)
	if err != nil {
		return p, false, fmt.Errorf("client: progress of %s: %w", workflowID, err)
	}
	for _, running := range described.GetPendingActivities() {
		if details := running.GetHeartbeatDetails(); len(details.GetPayloads()) > 0 {
			err := c.data.FromPayloads(details, &p)
			return p, err == nil, err
		}
	}
	return p, false, nil
}

// Recheck lets the gate judge an open call again, for example after a change of policy, of a grant or of capacity.
// A settled call is ErrSettled, and an id that no call has is ErrNotFound.
func (c *Client) Recheck(ctx context.Context, workflowID string) error {
	err := c.checkOpen(ctx, workflowID)
	if err == nil {
		err = c.temporal.SignalWorkflow(ctx, workflowID, "", toolspec.RecheckName, nil)
	}
	if err != nil {
		return fmt.Errorf("client: recheck %s: %w", workflowID, orSettled(err))
	}
	return nil
}

// Cancel asks an open call to stop. The call still settles, and the effects of its tool stay. A
// settled call is ErrSettled, and an id that no call has is ErrNotFound. If the call settles while
// Cancel asks, Cancel returns nil.
func (c *Client) Cancel(ctx context.Context, workflowID string) error {
	// Temporal accepts the cancellation of a closed workflow.
	err := c.checkOpen(ctx, workflowID)
	if err == nil {
		err = c.temporal.CancelWorkflow(ctx, workflowID, "")
	}
	if err != nil {
		return fmt.Errorf("client: cancel %s: %w", workflowID, orSettled(err))
	}
	return nil
}

// checkOpen returns nil for an open call, ErrSettled for a settled call, and ErrNotFound for an id
// that no call has. After any other error it is not known whether the call is open.
func (c *Client) checkOpen(ctx context.Context, workflowID string) error {
	described, err := c.describe(ctx, workflowID)
	switch {
	case err != nil:
		return err
	case described.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return ErrSettled
	}
	return nil
}

// describe returns what Temporal knows of a call. It returns ErrNotFound if there is no workflow with
// the id, or if the workflow is no call.
func (c *Client) describe(ctx context.Context, workflowID string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	described, err := c.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return nil, orNotFound(err)
	}
	switch is, err := c.isCall(ctx, described); {
	case err != nil:
		return nil, err
	case !is:
		return nil, ErrNotFound
	}
	return described, nil
}

// orNotFound returns ErrNotFound if Temporal answered that it has no such workflow, and otherwise err.
func orNotFound(err error) error {
	if isGone(err) {
		return ErrNotFound
	}
	return err
}

// orSettled returns ErrSettled if Temporal answered that a call, which was open a moment before, is
// closed, and otherwise err.
func orSettled(err error) error {
	if isGone(err) {
		return ErrSettled
	}
	return err
}

func isGone(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}
