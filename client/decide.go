package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/schema"
)

const (
	// sendAgainAfter is the pause before a decision that the server dropped is sent
	// again.
	sendAgainAfter = 200 * time.Millisecond
	// askAgainAfter is the first pause before a decision is sent again whose ID token
	// could not be verified; it doubles up to askAgainAfterMax.
	askAgainAfter    = time.Second
	askAgainAfterMax = 8 * time.Second
	// askAgainFor bounds how long that goes on.
	askAgainFor = time.Minute
)

// Decide sends a decision as an update and returns whether it counted, and why
// not. The same decision sent twice counts once. ErrSettled says that it came
// too late, ErrNotConfirmed that nobody answered: before ctx ended, or, for a
// decision that Temporal or a worker may have taken, within a minute. A decision that
// is to be sent again is sent again, until ctx ends or for a minute; the answer says
// so (Again) where that did not help.
//
// Where the call takes no more updates, the decision goes as a signal, and the answer
// comes from the state query. ErrSpent says that the call takes no signals either.
func (c *Client) Decide(ctx context.Context, workflowID string, d toolspec.Decision) (toolspec.Answer, error) {
	if err := d.Check(); err != nil {
		return toolspec.Answer{}, fmt.Errorf("client: decide: %w", err)
	}
	id, err := updateID(d)
	if err != nil {
		return toolspec.Answer{}, err
	}
	again, cancel := context.WithTimeout(ctx, askAgainFor)
	defer cancel()
	answer, err := c.decide(ctx, workflowID, id, d)
	for wait := askAgainAfter; err == nil && answer.Again && pause(again, wait) == nil; wait = min(2*wait, askAgainAfterMax) {
		// Under the same id it would be the same update, with the same answer.
		answer, err = c.decide(ctx, workflowID, id+"."+uuid.NewString(), d)
	}
	return answer, err
}

// decide sends a decision under one update id, until it is taken.
func (c *Client) decide(ctx context.Context, workflowID, id string, d toolspec.Decision) (answer toolspec.Answer, err error) {
	for {
		answer, err = c.update(ctx, workflowID, id, d)
		if spent(err) {
			answer, err = c.signal(ctx, workflowID, d)
		}
		// A worker that stops or loses its cache fails its task, and the server
		// drops the updates in it. They were not taken: the same one may be sent
		// again.
		var dropped *serviceerror.WorkflowNotReady
		if errors.As(err, &dropped) && pause(ctx, sendAgainAfter) == nil {
			continue
		}
		// A run that is reset or replaced takes the updates with it that it had not
		// taken in. The call is not over: its new run may still wait for them.
		var gone *serviceerror.NotFound
		if errors.As(err, &gone) {
			switch open, known := c.open(ctx, workflowID); {
			case !known, open && pause(ctx, sendAgainAfter) != nil:
				err = ErrNotConfirmed
			case open:
				continue
			}
		}
		if err != nil {
			return answer, fmt.Errorf("client: decide on %s: %w", d.ApprovalID, decideError(ctx, err))
		}
		return answer, nil
	}
}

// update sends the decision and waits for its answer. The SDK may send it more
// than once, with one answer lost and the call settled since: by the id the
// server finds the answer of an update that a closed call has taken.
func (c *Client) update(ctx context.Context, workflowID, id string, d toolspec.Decision) (answer toolspec.Answer, err error) {
	handle, err := c.temporal.UpdateWorkflow(ctx, temporal.UpdateWorkflowOptions{
		UpdateID: id, WorkflowID: workflowID, UpdateName: toolspec.DecideName, Args: []any{d},
		WaitForStage: temporal.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, &answer)
	}
	if refusal, ok := answerOf(err); ok {
		return refusal, nil
	}
	return answer, err
}

// open reports whether the call has a run that is open; known is false where
// Temporal does not say.
func (c *Client) open(ctx context.Context, workflowID string) (open, known bool) {
	d, err := c.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	var gone *serviceerror.NotFound
	return d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, err == nil || errors.As(err, &gone)
}

// updateID is the hash of the whole decision payload, over its RFC 8785 JSON, so
// that every SDK can give the same decision the same id.
func updateID(d toolspec.Decision) (string, error) {
	payload, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("client: decide: the edited arguments are not JSON: %w", err)
	}
	digest, err := schema.Digest(payload)
	if err != nil {
		return "", fmt.Errorf("client: decide: %w", err)
	}
	return digest, nil
}

// decideError says no more than is known: a decision without an answer may have
// been taken, also where Temporal was away.
func decideError(ctx context.Context, err error) error {
	// The SDK wraps every error of a poll, an answer too, as a timeout.
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return ErrSettled
	}
	var timeout *temporal.WorkflowUpdateServiceTimeoutOrCanceledError
	if ctx.Err() != nil || away(err) || errors.As(err, &timeout) {
		return ErrNotConfirmed
	}
	return err
}
