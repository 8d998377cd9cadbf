package historytest

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
)

// Replay runs today's workflow over a history, and returns an error where the
// two do not agree on what is scheduled or on the result of a call. It knows no hook, no
// tool and no policy: the plan in the history drives. It does not notice an
// activity that nobody registers.
func Replay(h *historypb.History) error {
	// How long a task takes says nothing about whether it agrees with the history: a busy machine may not run one for a second.
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
	if err != nil {
		return err
	}
	var got toolspec.Result
	replayer.RegisterWorkflowWithOptions(func(ctx workflow.Context, input converter.RawValue) (result toolspec.Result, err error) {
		result, err = workflows.InvokeTool(ctx, input)
		got = result
		return result, err
	}, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	replayer.RegisterWorkflowWithOptions(workflows.Sweep, workflow.RegisterOptions{Name: workflows.SweepType})
	replayer.RegisterWorkflowWithOptions(workflows.VerifyHistory, workflow.RegisterOptions{Name: workflows.VerifyType})
	if err := replayer.ReplayWorkflowHistoryWithOptions(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), h,
		worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: WorkflowID(h)}}); err != nil {
		return err
	}
	events := h.GetEvents()
	ended := events[len(events)-1].GetWorkflowExecutionCompletedEventAttributes()
	isCall := events[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName() == toolspec.WorkflowType
	if ended == nil || !isCall {
		return nil
	}
	if len(ended.GetResult().GetPayloads()) != 1 {
		return errors.New("the history ends without a result")
	}
	var want toolspec.Result
	if err := converter.GetDefaultDataConverter().FromPayloads(ended.GetResult(), &want); err != nil {
		return err
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("the result is %+v now, and was %+v", got, want)
	}
	return nil
}

// WorkflowID is the id of the call that a history is of.
func WorkflowID(h *historypb.History) string {
	if len(h.GetEvents()) == 0 {
		return ""
	}
	return h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
}
