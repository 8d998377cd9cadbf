package verify

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
)

const (
	// page is how many workflows, or schedules, are listed at once.
	page = 200
	// atOnce is how many histories are read at once.
	atOnce = 4
)

// Histories reads every run that a query of visibility finds. An empty query finds all
// runs of the namespace. Histories reads each event of the history, and what else the
// server says about the run, such as memo, search attributes and pending activities.
func (v *Verifier) Histories(ctx context.Context, temporal workflowservice.WorkflowServiceClient, namespace, query string) error {
	var token []byte
	for {
		listed, err := temporal.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: namespace, PageSize: page, Query: query, NextPageToken: token,
		})
		if err != nil {
			return fmt.Errorf("list workflows: %w", err)
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(atOnce)
		for _, info := range listed.GetExecutions() {
			group.Go(func() error { return v.run(ctx, temporal, namespace, info) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if token = listed.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

func (v *Verifier) run(ctx context.Context, temporal workflowservice.WorkflowServiceClient, namespace string, info *workflow.WorkflowExecutionInfo) error {
	run := info.GetExecution()
	at := Place{WorkflowID: run.GetWorkflowId(), RunID: run.GetRunId(), Event: "description"}
	v.count(func(r *Report) { r.Workflows++ })
	v.walk(at, info)
	if info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		described, err := temporal.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: namespace, Execution: run})
		if gone, err := v.missing(at, err); gone || err != nil {
			return err
		}
		v.walk(at, described)
	}
	return v.events(ctx, temporal, namespace, run)
}

func (v *Verifier) events(ctx context.Context, temporal workflowservice.WorkflowServiceClient, namespace string, run *common.WorkflowExecution) error {
	at := Place{WorkflowID: run.GetWorkflowId(), RunID: run.GetRunId()}
	var token []byte
	for {
		read, err := temporal.GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
			Namespace: namespace, Execution: run, NextPageToken: token,
		})
		if gone, err := v.missing(at, err); gone || err != nil {
			return err
		}
		for _, e := range read.GetHistory().GetEvents() {
			at.EventID, at.Event = e.GetEventId(), e.GetEventType().String()
			v.count(func(r *Report) { r.Events++ })
			v.walk(at, e)
		}
		if token = read.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

// missing takes a workflow that was deleted meanwhile as unread.
func (v *Verifier) missing(at Place, err error) (bool, error) {
	var gone *serviceerror.NotFound
	switch {
	case errors.As(err, &gone):
		v.unread(placed(at, "the workflow is gone"))
		return true, nil
	case err != nil:
		return false, fmt.Errorf("read a history: %w", err)
	}
	return false, nil
}

// Schedules reads the schedules of a namespace: the workflows that they start, with input and memo.
func (v *Verifier) Schedules(ctx context.Context, temporal workflowservice.WorkflowServiceClient, namespace string) error {
	var token []byte
	for {
		listed, err := temporal.ListSchedules(ctx, &workflowservice.ListSchedulesRequest{Namespace: namespace, MaximumPageSize: page, NextPageToken: token})
		if err != nil {
			return fmt.Errorf("list schedules: %w", err)
		}
		for _, entry := range listed.GetSchedules() {
			if err := v.schedule(ctx, temporal, namespace, entry); err != nil {
				return err
			}
		}
		if token = listed.GetNextPageToken(); len(token) == 0 {
			return nil
		}
	}
}

func (v *Verifier) schedule(ctx context.Context, temporal workflowservice.WorkflowServiceClient, namespace string, entry *schedule.ScheduleListEntry) error {
	at := Place{WorkflowID: entry.GetScheduleId(), Event: "schedule"}
	described, err := temporal.DescribeSchedule(ctx, &workflowservice.DescribeScheduleRequest{Namespace: namespace, ScheduleId: entry.GetScheduleId()})
	if gone, err := v.missing(at, err); gone || err != nil {
		return err
	}
	for _, m := range []proto.Message{entry, described} {
		v.walk(at, m)
	}
	return nil
}
