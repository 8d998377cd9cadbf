package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
	sdk "go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// moved is a server with a call that has moved to a pool. Its first run had accepted the first update, and Temporal has deleted it since then.
type moved struct {
	temporal.Client
	status enumspb.WorkflowExecutionStatus
	ids    []string
}

func (m *moved) UpdateWorkflow(_ context.Context, o temporal.UpdateWorkflowOptions) (temporal.WorkflowUpdateHandle, error) {
	if m.ids = append(m.ids, o.UpdateID); len(m.ids) == 1 {
		return abandoned{}, nil
	}
	return counted{}, nil
}

func (m *moved) DescribeWorkflowExecution(_ context.Context, id, run string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	if run == "first" {
		return nil, serviceerror.NewNotFound("deleted by retention")
	}
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "second"}, FirstRunId: "first", Type: &commonpb.WorkflowType{Name: toolspec.WorkflowType},
		TaskQueue: "pawl-media", Status: m.status, StartTime: timestamppb.Now(), // it moved just now
	}}, nil
}

type abandoned struct{ temporal.WorkflowUpdateHandle }

func (abandoned) Get(context.Context, any) error {
	return sdk.NewApplicationError("Workflow Update failed because the Workflow completed before the Update completed.", "AcceptedUpdateCompletedWorkflow")
}

// TestAnUnansweredDecisionIsSentAgain: a run that had accepted a decision moved before it answered. The call takes the decision in its next run,
// under the same id. If the call has ended, the decision came too late.
func TestAnUnansweredDecisionIsSentAgain(t *testing.T) {
	t.Parallel()
	decision := toolspec.Decision{
		ApprovalID: toolspec.ApprovalID(call("core__x", "call", "").Identity().InvocationID(), 1), Decision: toolspec.Approve, Approver: "user:ann",
	}
	synctest.Test(t, func(t *testing.T) {
		server := &moved{status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING}
		answer, err := client.New(server, client.Options{}).Decide(t.Context(), "tool:acme:run:call", decision)
		if err != nil || !answer.Counted || len(server.ids) != 2 || server.ids[0] != server.ids[1] {
			t.Errorf("sent as %q, the answer is %+v, %v", server.ids, answer, err)
		}
	})
	_, err := client.New(&moved{status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED}, client.Options{}).Decide(t.Context(), "tool:acme:run:call", decision)
	if !errors.Is(err, client.ErrSettled) {
		t.Errorf("the decision on a call that has ended: %v", err)
	}
}
