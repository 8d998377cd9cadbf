package steps

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// errForged is the error that replaces an answer that no worker gave.
var errForged = temporal.NewNonRetryableApplicationError("the answer carries no receipt of a worker", string(toolspec.CodeInternal), nil)

// Owner identifies the call that an answered activity belongs to.
type Owner struct{ InvocationID, TenantID string }

// Answer waits for the answer of a regular activity of a call and checks its receipt,
// because everybody with access to the namespace can complete an activity with any
// value. It returns an error if no worker gave the answer.
func Answer[In, Out any](ctx workflow.Context, of Owner, a contract.Activity[In, Out], b Begun) (out Out, err error) {
	var raw converter.RawValue
	if err := b.Get(ctx, &raw); err != nil {
		return out, err
	}
	payload := raw.Payload()
	workflowID := workflow.GetInfo(ctx).WorkflowExecution.ID
	accepted, err := Local(Disconnected(ctx), contract.Accept, contract.AcceptIn{
		InvocationID: of.InvocationID, TenantID: of.TenantID, Activity: a.Name(),
		Answer: contract.AnswerDigest(a.Name(), workflowID, b.input, payload.GetData()), Receipt: contract.ReceiptOf(payload),
	}, Options("is it a worker's answer?", Forever))
	switch {
	case err != nil:
		return out, err
	case !accepted.Genuine:
		return out, errForged
	}
	return out, converter.GetDefaultDataConverter().FromPayload(payload, &out)
}

// Ask runs a regular activity of a call and returns its answer.
func Ask[In, Out any](ctx workflow.Context, of Owner, a contract.Activity[In, Out], in In, options workflow.ActivityOptions) (out Out, err error) {
	b, err := Begin(ctx, a, in, options)
	if err != nil {
		return out, err
	}
	return Answer(ctx, of, a, b)
}
