package contract

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/pawl-run/pawl/toolspec"
)

// StepTimeout bounds one run of a step, which is one SQL statement or a few hooks.
const StepTimeout = 2 * time.Second

// RequestTimeout bounds one run of Request, which may make the preview of a tool first.
const RequestTimeout = StepTimeout + toolspec.PreviewTimeout

// Execution identifies the workflow run that an activity belongs to, as the Temporal
// server reports it. No field comes from the input of the activity.
type Execution struct {
	// RunID and WorkflowID identify the workflow run. Both are empty for an activity
	// outside of a workflow; such an activity cannot write to the record of a call.
	RunID, WorkflowID string
	// Local says that the activity is a local activity, which the workflow code of the same worker
	// called. The server has no task for it, so no other client of the server can have started it.
	Local bool
}

type executionKey struct{}

// WithExecution returns a context that carries e. Bind calls it for every activity; all
// other callers are tests.
func WithExecution(ctx context.Context, e Execution) context.Context {
	return context.WithValue(ctx, executionKey{}, e)
}

// Executing returns the execution that ctx carries. If ctx carries none, it returns the
// zero value, which owns no call.
func Executing(ctx context.Context) Execution {
	e, _ := ctx.Value(executionKey{}).(Execution)
	return e
}

func executionOf(ctx context.Context) Execution {
	info := activity.GetInfo(ctx)
	return Execution{RunID: info.WorkflowExecution.RunID, WorkflowID: info.WorkflowExecution.ID, Local: info.IsLocalActivity}
}
