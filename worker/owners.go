package worker

import (
	"context"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"

	"github.com/pawl-run/pawl/activities/upkeep"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// owners describes the workflow runs of calls, in the namespace of the worker.
type owners struct{ temporal client.Client }

var _ upkeep.Owners = owners{}

// unanswered is the error of a request that Temporal did not answer with a result. Its text is a gRPC code or
// a constant.
type unanswered string

// Error returns a text that is safe for logs.
func (u unanswered) Error() string { return "Temporal answers " + string(u) }

// LogReason returns the text of Error, which is safe for logs.
func (u unanswered) LogReason() string { return u.Error() }

// Owner returns the status and the id of a run, or of the latest run of the workflow if runID is empty. The status is
// OwnerDeleted only if Temporal says that there is no such workflow or run. Each other answer, such as a missing namespace
// or an unknown status, is an error, because it does not tell whether the workflow exists. The error is transient if the
// same request for another workflow may fail too.
func (o owners) Owner(ctx context.Context, workflowID, runID string) (upkeep.Owner, error) {
	described, err := o.temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	var missing *serviceerror.NotFound
	var bad *serviceerror.InvalidArgument
	switch {
	case errors.As(err, &missing):
		return upkeep.Owner{Status: upkeep.OwnerDeleted, RunID: runID}, nil
	case errors.As(err, &bad):
		return upkeep.Owner{}, unanswered("InvalidArgument")
	case err != nil:
		return upkeep.Owner{}, markTransient(unanswered(serviceerror.ToStatus(err).Code().String()), serviceerror.ToStatus(err).Code())
	}
	info := described.GetWorkflowExecutionInfo()
	status, known := ownerStatus(info.GetStatus())
	if !known {
		return upkeep.Owner{}, unanswered("an unknown status")
	}
	return upkeep.Owner{Status: status, RunID: info.GetExecution().GetRunId()}, nil
}

// markTransient marks an error as transient, unless the error concerns only this workflow. A transient
// error says that the same request for another workflow may fail too.
func markTransient(err unanswered, code codes.Code) error {
	switch code {
	case codes.Internal, codes.DataLoss, codes.Unknown:
		return err
	default:
		return errs.Transient(err)
	}
}

// ownerStatus converts the status of a run. known is false for a status that this program does not
// know; the sweeper does not settle the call then.
func ownerStatus(s enumspb.WorkflowExecutionStatus) (status upkeep.OwnerStatus, known bool) {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return upkeep.OwnerRunning, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return upkeep.OwnerCompleted, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return upkeep.OwnerFailed, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return upkeep.OwnerCancelled, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return upkeep.OwnerTerminated, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return upkeep.OwnerTimedOut, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return upkeep.OwnerMoved, true
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
	}
	return "", false
}
