package client

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/pawl-run/pawl/toolspec"
)

// atOnce bounds the decisions of a batch that are sent at the same time.
const atOnce = 8

// Addressed is a decision with the call that it is for.
type Addressed struct {
	WorkflowID string
	Decision   toolspec.Decision
}

// Verdict is the result of one decision of a batch. Err is the error of Decide.
type Verdict struct {
	ApprovalID string
	Answer     toolspec.Answer
	Err        error
}

// DecideEach sends many decisions, some at the same time, and returns a verdict for each, in the
// same order. If one decision fails or does not count, the others are still sent.
func (c *Client) DecideEach(ctx context.Context, batch ...Addressed) []Verdict {
	verdicts := make([]Verdict, len(batch))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, item := range batch {
		verdicts[i].ApprovalID = item.Decision.ApprovalID
		group.Go(func() error {
			verdicts[i].Answer, verdicts[i].Err = c.Decide(ctx, item.WorkflowID, item.Decision)
			return nil
		})
	}
	_ = group.Wait() // each error is in its verdict
	return verdicts
}
