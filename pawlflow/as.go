package pawlflow

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
)

// ErrLarge says that the value of a call is too large for a result. Result.OutputRef names the stored output: read
// it in an activity, with Client.Output or Client.OpenOutput of package client.
var ErrLarge = errors.New("the value is larger than a result: read the output that outputRef names in an activity")

// InvokeAs works as Invoke, and decodes the value of the call into an Out. A call that ends without a value is
// not an error: check OK and ErrorCode of the result. If the result has only a part of the value, the error is
// ErrLarge. The result is complete even if the value does not decode.
func InvokeAs[Out any](ctx workflow.Context, inv toolspec.Invocation) (out Out, result toolspec.Result, err error) {
	result, err = Invoke(ctx, inv)
	switch {
	case err != nil || !result.OK:
		return out, result, err
	case result.Truncated || len(result.Value) == 0 && result.OutputRef != "":
		return out, result, fmt.Errorf("pawlflow: call %s: %w", inv.Identity().WorkflowID(), ErrLarge)
	}
	err = json.Unmarshal(result.Value, &out) //workflowcheck:ignore
	if err != nil {
		var none Out
		return none, result, fmt.Errorf("pawlflow: the value of call %s is no %T: %w", inv.Identity().WorkflowID(), none, err)
	}
	return out, result, nil
}
