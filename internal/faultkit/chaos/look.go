package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/pawl-run/pawl/internal/faultkit/ledger"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// maxConcurrentReads is the number of calls that are read at the same time.
const maxConcurrentReads = 6

// look reads the workflow and the record of each call, and the effects of the ledger.
func (s *servers) look(ctx context.Context, calls []*call, faults []oracle.Fault) (oracle.Snapshot, error) {
	seen := oracle.Snapshot{Calls: make([]oracle.Call, len(calls)), Effects: s.ledger.Effects(), Faults: faults}
	failures := make([]error, len(calls))
	turns := make(chan struct{}, maxConcurrentReads)
	var looking sync.WaitGroup
	for i, c := range calls {
		turns <- struct{}{}
		looking.Go(func() {
			defer func() { <-turns }()
			seen.Calls[i], failures[i] = s.lookAt(ctx, c)
		})
	}
	looking.Wait()
	return seen, errors.Join(failures...)
}

func (s *servers) lookAt(ctx context.Context, c *call) (oracle.Call, error) {
	id := c.invocation.Identity()
	digest, err := c.In.Digest()
	if err != nil {
		return oracle.Call{}, err
	}
	value, err := json.Marshal(ledger.AnswerOf(c.ToolID, c.In))
	if err != nil {
		return oracle.Call{}, err
	}
	c.mu.Lock()
	o := oracle.Call{
		ToolCallID: id.ToolCallID, InvocationID: id.InvocationID(), WorkflowID: id.WorkflowID(), ToolID: c.ToolID,
		Repeatable: ledger.Repeatable(c.ToolID), ArgsDigest: digest, Value: value, Accepted: c.isAccepted(),
		Undecided: c.asked() && len(c.Decisions) == 0,
		Decisions: c.decisions, Answers: c.answers, Rivals: c.conflicts,
	}
	c.mu.Unlock()
	if o.Workflow, err = s.workflow(ctx, id.WorkflowID()); err != nil {
		return o, fmt.Errorf("look at the workflow of %s: %w", id.ToolCallID, err)
	}
	record, err := s.store.Show(ctx, tenant, id.InvocationID())
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return o, nil
	case err != nil:
		return o, fmt.Errorf("look at the record of %s: %w", id.ToolCallID, err)
	}
	o.Record = &record
	if record.Result != nil && record.Result.OutputRef != "" {
		if o.Output, err = s.store.Output(ctx, tenant, record.Result.OutputRef); err != nil && !errors.Is(err, postgres.ErrNotFound) {
			return o, fmt.Errorf("look at the output of %s: %w", id.ToolCallID, err)
		}
	}
	if c.asked() {
		o.ApprovalDigest, err = hydrate.Approved{
			InvocationID: o.InvocationID, ToolID: c.ToolID, ToolDigest: record.Plan.ToolDigest, Args: c.invocation.Args,
			TenantID: tenant, ActorID: actor,
		}.Digest()
	}
	return o, err
}

func (s *servers) workflow(ctx context.Context, workflowID string) (w oracle.Workflow, err error) {
	described, err := s.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	var none *serviceerror.NotFound
	if errors.As(err, &none) {
		return w, nil
	}
	if err != nil {
		return w, err
	}
	info := described.GetWorkflowExecutionInfo()
	w.Status, w.Events, w.Started = info.GetStatus(), info.GetHistoryLength(), info.GetStartTime().AsTime()
	if info.GetCloseTime() != nil {
		w.Ended = info.GetCloseTime().AsTime()
	}
	if w.Status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
		return w, nil
	}
	var result toolspec.Result
	err = s.temporal.GetWorkflow(ctx, workflowID, "").Get(ctx, &result)
	w.Result = &result
	return w, err
}
