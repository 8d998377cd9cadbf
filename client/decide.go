package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

const (
	// sendAgainAfter is the pause before the client sends a decision again that the server
	// dropped.
	sendAgainAfter = 200 * time.Millisecond
	// askAgainAfter is the first pause before the client sends a decision again because no worker
	// could verify its ID token. The pause doubles up to askAgainAfterMax.
	askAgainAfter    = time.Second
	askAgainAfterMax = 8 * time.Second
	// askAgainFor is how long the client sends such a decision again.
	askAgainFor = time.Minute
)

// Decide sends a decision as an update. The answer says whether the decision counted and, if not, why. The same
// decision sent twice counts once.
//
// ErrSettled says that the decision came too late, and ErrNotFound that no call has this id. ErrNotConfirmed says
// that neither Temporal nor a worker answered in time: the decision may still count. If a worker answers that it
// cannot verify the decision now, Decide sends it again for up to a minute; the answer has Again if that did not
// help.
//
// If the call accepts no more updates, Decide sends the decision as a signal and reads the answer with the state
// query. ErrSpent says that the call accepts no more signals either.
func (c *Client) Decide(ctx context.Context, workflowID string, d toolspec.Decision) (toolspec.Answer, error) {
	if err := d.Check(); err != nil {
		return toolspec.Answer{}, fmt.Errorf("client: decide: %w", err)
	}
	id, err := updateID(d)
	if err != nil {
		return toolspec.Answer{}, err
	}
	repeating, cancel := context.WithTimeout(ctx, askAgainFor)
	defer cancel()
	answer, err := c.decide(ctx, workflowID, id, d)
	for wait := askAgainAfter; err == nil && answer.Again && pause(repeating, wait) == nil; wait = min(2*wait, askAgainAfterMax) {
		// An update with the same id would get the same answer again.
		answer, err = c.decide(ctx, workflowID, id+"."+uuid.NewString(), d)
	}
	return answer, err
}

// decide sends a decision until the call answers it, the call is settled or does not exist, or ctx ends. All tries
// have the same update id, so that the decision counts once.
func (c *Client) decide(ctx context.Context, workflowID, id string, d toolspec.Decision) (answer toolspec.Answer, err error) {
	for {
		answer, err = c.update(ctx, workflowID, id, d)
		if acceptsNoUpdates(err) {
			answer, err = c.signal(ctx, workflowID, d)
		}
		// A worker that stops or loses its cache fails its task, and the server drops the updates
		// in the task. The call has not accepted them, so the client may send the same update
		// again.
		var dropped *serviceerror.WorkflowNotReady
		sendAgain := errors.As(err, &dropped)
		// A Temporal run that is reset or replaced loses the updates that it had not accepted. The call is not
		// over: its new run may still wait for the decision. A run that had accepted the update, and moved to
		// another task queue before it answered, loses it too.
		if isGone(err) || isUnanswered(err) {
			switch openErr := c.checkOpen(ctx, workflowID); {
			case openErr == nil:
				sendAgain = true
			case errors.Is(openErr, ErrSettled), errors.Is(openErr, ErrNotFound):
				err = openErr
			default:
				err = ErrNotConfirmed
			}
		}
		if sendAgain && pause(ctx, sendAgainAfter) == nil {
			continue
		}
		if err != nil {
			return answer, fmt.Errorf("client: decide on %s: %w", d.ApprovalID, decideError(ctx, err))
		}
		return answer, nil
	}
}

// update sends the decision and waits for its answer. If an answer is lost, the SDK sends the
// update again. The call may be settled by then; the server finds the answer of the earlier update
// by its id.
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

// unansweredUpdate is the type of the failure with which Temporal ends an accepted update whose run closes
// without an answer.
const unansweredUpdate = "AcceptedUpdateCompletedWorkflow"

func isUnanswered(err error) bool {
	var failure *sdk.ApplicationError
	return errors.As(err, &failure) && failure.Type() == unansweredUpdate
}

// updateID is the hash of the whole decision payload, over its RFC 8785 JSON, so
// that every SDK can give the same decision the same id.
func updateID(d toolspec.Decision) (string, error) {
	payload, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("client: decide: the edited arguments are not JSON: %w", err)
	}
	digest, err := strictjson.Digest(payload)
	if err != nil {
		return "", fmt.Errorf("client: decide: %w", err)
	}
	return digest, nil
}

// decideError returns ErrNotConfirmed in place of an error that says that nobody answered: the call may have
// accepted the decision all the same. It returns every other error unchanged.
func decideError(ctx context.Context, err error) error {
	if errors.Is(err, ErrSettled) || errors.Is(err, ErrNotFound) {
		return err
	}
	var timeout *temporal.WorkflowUpdateServiceTimeoutOrCanceledError
	if ctx.Err() != nil || isUnavailable(err) || errors.As(err, &timeout) {
		return ErrNotConfirmed
	}
	return err
}
