package chaos

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// identity is the identity that Temporal records for the sender of a fault.
const identity = "pawl-chaos"

// errNothingToHit reports that the call has no target for the fault, such as a running activity.
var errNothingToHit = errors.New("the call has nothing that this fault hits")

// injectFault aims a fault at a call. Anyone with access to the namespace could do the same. pick
// selects one of several targets.
func (s *servers) injectFault(ctx context.Context, kind oracle.FaultKind, c *call, pick uint64) error {
	workflowID := c.invocation.Identity().WorkflowID()
	if ofActivity(kind) {
		return s.injectActivityFault(ctx, kind, workflowID)
	}
	switch kind {
	case oracle.ResetFirst, oracle.ResetLast, oracle.ResetAny:
		return s.reset(ctx, kind, workflowID, pick)
	case oracle.Restart:
		if err := s.temporal.TerminateWorkflow(ctx, workflowID, "", "chaos"); err != nil {
			return err
		}
		return s.startAgain(ctx, c.invocation)
	case oracle.Terminate:
		return s.temporal.TerminateWorkflow(ctx, workflowID, "", "chaos")
	case oracle.Delete:
		_, err := s.temporal.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: s.stack.Namespace(), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID},
		})
		return err
	case oracle.Cancel:
		return s.temporal.CancelWorkflow(ctx, workflowID, "")
	case oracle.Garbage:
		return s.sendGarbage(ctx, workflowID)
	default:
		return fmt.Errorf("%s is not aimed at a call", kind)
	}
}

// reset resets the workflow to a completed workflow task.
func (s *servers) reset(ctx context.Context, kind oracle.FaultKind, workflowID string, pick uint64) error {
	described, err := s.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return err
	}
	runID := described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	var tasks []int64
	events := s.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return err
		}
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks = append(tasks, event.GetEventId())
		}
	}
	if len(tasks) == 0 {
		return errNothingToHit
	}
	task := tasks[pick%uint64(len(tasks))]
	switch kind {
	case oracle.ResetFirst:
		task = tasks[0]
	case oracle.ResetLast:
		task = tasks[len(tasks)-1]
	default: // ResetAny
	}
	_, err = s.temporal.ResetWorkflowExecution(ctx, &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: s.stack.Namespace(), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID, RunId: runID},
		Reason: "chaos", WorkflowTaskFinishEventId: task, RequestId: rand.Text(),
	})
	return err
}

// startAgain starts another run of a call whose workflow is closed, as an operator does who allows
// duplicate ids.
func (s *servers) startAgain(ctx context.Context, inv toolspec.Invocation) error {
	_, err := s.temporal.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, WorkflowTaskTimeout: toolspec.TaskTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}, toolspec.WorkflowType, inv)
	return err
}

func (s *servers) sendGarbage(ctx context.Context, workflowID string) error {
	service := s.temporal.WorkflowService()
	for _, name := range []string{toolspec.DecideName, toolspec.RecheckName, "nothing-of-ours"} {
		_, err := service.SignalWorkflowExecution(ctx, &workflowservice.SignalWorkflowExecutionRequest{
			Namespace: s.stack.Namespace(), WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: workflowID},
			SignalName: name, RequestId: rand.Text(), Identity: identity,
			Input: &commonpb.Payloads{Payloads: []*commonpb.Payload{{
				Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingJSON)}, Data: []byte("{\"decision\":[\x00"),
			}}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// injectActivityFault aims a fault at the running attempt of a call.
func (s *servers) injectActivityFault(ctx context.Context, kind oracle.FaultKind, workflowID string) error {
	described, err := s.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return err
	}
	var activityID string
	for _, a := range described.GetPendingActivities() {
		if a.GetActivityType().GetName() == contract.Execute.Name() {
			activityID = a.GetActivityId()
		}
	}
	if activityID == "" {
		return errNothingToHit
	}

	run, service, namespace := described.GetWorkflowExecutionInfo().GetExecution(), s.temporal.WorkflowService(), s.stack.Namespace()
	switch kind {
	case oracle.Pause:
		if _, err = service.PauseActivity(ctx, &workflowservice.PauseActivityRequest{
			Namespace: namespace, Execution: run, Identity: identity, Reason: "chaos", Activity: &workflowservice.PauseActivityRequest_Id{Id: activityID},
		}); err != nil {
			return err
		}
		pause(ctx, pauseTime)
		return s.unpause(context.WithoutCancel(ctx), run, activityID)
	case oracle.ActivityReset:
		_, err = service.ResetActivity(ctx, &workflowservice.ResetActivityRequest{
			Namespace: namespace, Execution: run, Identity: identity, ResetHeartbeat: true, Activity: &workflowservice.ResetActivityRequest_Id{Id: activityID},
		})
	case oracle.MadeUpFailure:
		_, err = service.RespondActivityTaskFailedById(ctx, &workflowservice.RespondActivityTaskFailedByIdRequest{
			Namespace: namespace, WorkflowId: workflowID, RunId: run.GetRunId(), ActivityId: activityID, Identity: identity,
			Failure: &failurepb.Failure{Message: oracle.MadeUp, FailureInfo: &failurepb.Failure_ApplicationFailureInfo{
				ApplicationFailureInfo: &failurepb.ApplicationFailureInfo{Type: string(toolspec.CodeInternal)},
			}},
		})
	default:
		var answer *commonpb.Payloads
		if answer, err = madeUp(kind); err != nil {
			return err
		}
		_, err = service.RespondActivityTaskCompletedById(ctx, &workflowservice.RespondActivityTaskCompletedByIdRequest{
			Namespace: namespace, WorkflowId: workflowID, RunId: run.GetRunId(), ActivityId: activityID, Identity: identity, Result: answer,
		})
	}
	return err
}

// unpause unpauses an activity, and repeats the request while Temporal does not answer, because the
// call would wait forever otherwise. It gives up after unpauseTimeout.
func (s *servers) unpause(ctx context.Context, run *commonpb.WorkflowExecution, activityID string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, unpauseTimeout)
	defer cancel()
	for {
		trying, stop := context.WithTimeout(ctx, startTimeout)
		_, err = s.temporal.WorkflowService().UnpauseActivity(trying, &workflowservice.UnpauseActivityRequest{
			Namespace: s.stack.Namespace(), Execution: run, Identity: identity, Activity: &workflowservice.UnpauseActivityRequest_Id{Id: activityID},
		})
		stop()
		var over *serviceerror.NotFound
		if err == nil || errors.As(err, &over) || !pause(ctx, tryAgain) {
			return err
		}
	}
}

// madeUp returns a forged answer of the activity execute.
func madeUp(kind oracle.FaultKind) (*commonpb.Payloads, error) {
	failure := &hook.Failure{Code: toolspec.CodeRateLimited, SafeMessage: oracle.MadeUp}
	out := contract.ExecuteOut{Outcome: contract.Undispatched}
	switch kind {
	case oracle.MadeUpOK:
		out = contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"` + oracle.MadeUp + `"}`)}
	case oracle.MadeUpNothing:
		out = contract.ExecuteOut{Outcome: contract.Refused, Failure: failure, Retryable: true, NothingHappened: true}
	default: // MadeUpUndispatched
	}
	return converter.GetDefaultDataConverter().ToPayloads(out)
}
