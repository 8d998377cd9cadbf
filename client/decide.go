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

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/strictjson"
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
// not. The same decision sent twice counts once.
//
// ErrSettled says that the decision came too late, and ErrNotFound that no call has this
// id. ErrNotConfirmed says that no worker answered before ctx ended or, if Temporal or a
// worker may have taken the decision, within a minute. If a worker asks for the decision
// again, Decide sends it again, until ctx ends or for a minute; the answer then has Again.
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
		// A reset or replaced run loses the updates that it had not accepted. The call is not
		// over: its new run may still wait for them.
		if isGone(err) {
			switch err = c.checkOpen(ctx, workflowID); {
			case err == nil && pause(ctx, sendAgainAfter) == nil:
				continue
			case !errors.Is(err, ErrSettled) && !errors.Is(err, ErrNotFound):
				err = ErrNotConfirmed
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

// decideError says no more than is known: a decision without an answer may have
// been taken, also where Temporal was away.
func decideError(ctx context.Context, err error) error {
	if errors.Is(err, ErrSettled) || errors.Is(err, ErrNotFound) {
		return err
	}
	var timeout *temporal.WorkflowUpdateServiceTimeoutOrCanceledError
	if ctx.Err() != nil || away(err) || errors.As(err, &timeout) {
		return ErrNotConfirmed
	}
	return err
}
