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

	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
	agentflow "github.com/pawl-run/pawl/workflows/agent"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/upkeep"
)

// Replay replays a history with the current workflow code. It returns an error if the
// code schedules other commands than the history has, or returns another result of the
// call. Replay needs no hooks, tools or policies, because the history holds the plan and
// the answers of the activities. It does not notice an activity that no worker registers.
func Replay(h *historypb.History) error {
	// A slow workflow task is not a difference from the history. On a busy machine a task
	// may take longer than the deadlock timeout of one second.
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
	if err != nil {
		return err
	}
	var got toolspec.Result
	replayer.RegisterWorkflowWithOptions(func(ctx workflow.Context, input, moved converter.RawValue) (result toolspec.Result, err error) {
		result, err = workflows.InvokeTool(ctx, input, moved)
		got = result
		return result, err
	}, workflow.RegisterOptions{Name: toolspec.WorkflowType})
	replayer.RegisterWorkflowWithOptions(agentflow.Run, workflow.RegisterOptions{Name: pawlagent.WorkflowType})
	replayer.RegisterWorkflowWithOptions(agentflow.Fire, workflow.RegisterOptions{Name: contract.FireTriggerType})
	replayer.RegisterWorkflowWithOptions(upkeep.Sweep, workflow.RegisterOptions{Name: upkeep.SweepType})
	replayer.RegisterWorkflowWithOptions(upkeep.VerifyHistory, workflow.RegisterOptions{Name: upkeep.VerifyType})
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

// WorkflowID returns the id of the workflow that a history belongs to, or an empty string
// if the history has no events.
func WorkflowID(h *historypb.History) string {
	if len(h.GetEvents()) == 0 {
		return ""
	}
	return h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowId()
}
