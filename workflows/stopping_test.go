package workflows_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/envtest"
)

// TestWorkerStops: a worker that stops cancels its local activities. This must not end a call during admit or settle. Instead the workflow task
// fails, which the test environment shows as a failed workflow.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"admit", "settle"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigOptions{})
			envtest.Set(r.env, worker.Options{WorkflowPanicPolicy: worker.FailWorkflow})
			r.env.OnActivity(step, mock.Anything, mock.Anything).Return(converter.RawValue{}, temporal.NewCanceledError())
			inv := call("core__read", `{"text":"hello"}`)
			r.env.SetStartWorkflowOptions(startOptions(inv.Identity().WorkflowID()))
			r.env.ExecuteWorkflow(toolspec.WorkflowType, inv)
			if err := r.env.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "the worker stopped during "+step) {
				t.Errorf("the workflow ended with %v", err)
			}
		})
	}
}
