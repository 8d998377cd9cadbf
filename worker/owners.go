package worker

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// owners asks the worker's own namespace for the runs that calls belong to.
type owners struct{ temporal client.Client }

var _ activities.Owners = owners{}

// unanswered is why Temporal did not say how a run stands, as a gRPC code.
type unanswered string

// Error is safe for logs.
func (u unanswered) Error() string { return "Temporal answers " + string(u) }

// LogReason is the same.
func (u unanswered) LogReason() string { return u.Error() }

// Owner describes a run, the latest one without a run id. Only the answer that
// there is no such workflow means that it is gone; a namespace that is missing
// and whatever else goes wrong mean nothing.
func (o owners) Owner(ctx context.Context, workflowID, runID string) (activities.Owner, error) {
	described, err := o.temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	var missing *serviceerror.NotFound
	var bad *serviceerror.InvalidArgument
	switch {
	case errors.As(err, &missing):
		return activities.Owner{Status: activities.OwnerDeleted, RunID: runID}, nil
	case errors.As(err, &bad):
		return activities.Owner{}, unanswered("InvalidArgument")
	case err != nil:
		return activities.Owner{}, notNow(unanswered(serviceerror.ToStatus(err).Code().String()), serviceerror.ToStatus(err).Code())
	}
	info := described.GetWorkflowExecutionInfo()
	status, known := ownerStatus(info.GetStatus())
	if !known {
		return activities.Owner{}, unanswered("an unknown status")
	}
	return activities.Owner{Status: status, RunID: info.GetExecution().GetRunId()}, nil
}

// notNow tells an error that is about the one workflow from those that any other
// question would meet.
func notNow(err unanswered, code codes.Code) error {
	switch code {
	case codes.Internal, codes.DataLoss, codes.Unknown:
		return err
	default:
		return hook.Transient(err)
	}
}

// ownerStatus names what Temporal says of a run. A status that this program does
// not know is no reason to sweep.
func ownerStatus(s enumspb.WorkflowExecutionStatus) (status activities.OwnerStatus, known bool) {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return activities.OwnerRunning, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return activities.OwnerCompleted, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return activities.OwnerFailed, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return activities.OwnerCancelled, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return activities.OwnerTerminated, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return activities.OwnerTimedOut, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
	}
	return "", false
}
