package client

import (
	"context"
	"errors"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/toolspec"
)

const (
	// lookAgainAfter is the first pause between two queries for the answer to a signal. The pause
	// doubles up to lookAgainAfterMax.
	lookAgainAfter    = 50 * time.Millisecond
	lookAgainAfterMax = 2 * time.Second
	// lookFor is how long the client queries for the answer to a signal.
	lookFor = time.Minute
)

// answerOf returns the answer of a call that refused an update; ok is false for every
// other error.
func answerOf(err error) (answer toolspec.Answer, ok bool) {
	var refusal *temporal.ApplicationError
	if !errors.As(err, &refusal) {
		return answer, false
	}
	switch refusal.Type() {
	case toolspec.DecideRefused:
		return toolspec.Answer{Reason: refusal.Message()}, true
	case toolspec.DecideAgain:
		return toolspec.Answer{Reason: refusal.Message(), Again: true}, true
	}
	return answer, false
}

// acceptsNoUpdates reports whether err says that the call accepts no more updates. The server refuses an update
// above its limit of updates in total or in flight, and the call refuses an update above its own limit.
func acceptsNoUpdates(err error) bool {
	var inTotal *serviceerror.FailedPrecondition
	var inFlight *serviceerror.ResourceExhausted
	var refusal *temporal.ApplicationError
	return errors.As(err, &inTotal) ||
		errors.As(err, &inFlight) && inFlight.Cause == enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT ||
		errors.As(err, &refusal) && refusal.Type() == toolspec.DecideBySignal
}

// signal sends a decision as a signal and finds its answer in the state of the call. If the call has answered this
// decision before and did not ask for it again, signal returns that answer and sends nothing.
func (c *Client) signal(ctx context.Context, workflowID string, d toolspec.Decision) (toolspec.Answer, error) {
	before := c.answersTo(ctx, workflowID, d)
	if n := len(before); n > 0 && !before[n-1].Again {
		return before[n-1].Answer(), nil
	}
	err := c.temporal.SignalWorkflow(ctx, workflowID, "", toolspec.DecideName, d)
	var tooManySignals *serviceerror.InvalidArgument
	switch {
	case errors.As(err, &tooManySignals):
		return toolspec.Answer{}, ErrSpent
	case err != nil:
		return toolspec.Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	for wait := lookAgainAfter; ; wait = min(2*wait, lookAgainAfterMax) {
		if answers := c.answersTo(ctx, workflowID, d); len(answers) > len(before) {
			return answers[len(answers)-1].Answer(), nil
		}
		if pause(ctx, wait) != nil {
			return toolspec.Answer{}, ErrNotConfirmed
		}
	}
}

// answersTo returns the last answers of the call to a decision, oldest first. It returns none if
// the state query fails.
func (c *Client) answersTo(ctx context.Context, workflowID string, d toolspec.Decision) []toolspec.SignalAnswer {
	state, err := c.State(ctx, workflowID)
	if err != nil {
		return nil
	}
	id := d.ID()
	return slices.DeleteFunc(state.Answers, func(a toolspec.SignalAnswer) bool { return a.ID != id })
}
