package chaos

import (
	"context"
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

// lookers is how many calls are looked at at once.
const lookers = 6

// look collects what everybody says of the calls.
func (r *run) look(ctx context.Context) (oracle.Snapshot, error) {
	s := oracle.Snapshot{Calls: make([]oracle.Call, len(r.calls)), Effects: r.servers.ledger.Effects()}
	r.mu.Lock()
	s.Faults = append(s.Faults, r.faults...)
	r.mu.Unlock()
	failures := make([]error, len(r.calls))
	turns := make(chan struct{}, lookers)
	var looking sync.WaitGroup
	for i, c := range r.calls {
		turns <- struct{}{}
		looking.Go(func() {
			defer func() { <-turns }()
			s.Calls[i], failures[i] = r.lookAt(ctx, c)
		})
	}
	looking.Wait()
	return s, errors.Join(failures...)
}

func (r *run) lookAt(ctx context.Context, c *call) (oracle.Call, error) {
	id := c.invocation.Identity()
	digest, err := c.In.Digest()
	if err != nil {
		return oracle.Call{}, err
	}
	c.mu.Lock()
	o := oracle.Call{
		ToolCallID: id.ToolCallID, InvocationID: id.InvocationID(), WorkflowID: id.WorkflowID(), ToolID: c.ToolID,
		Repeatable: ledger.Repeatable(c.ToolID), ArgsDigest: digest, Accepted: c.isAccepted(),
		Undecided: c.asked() && len(c.Decisions) == 0,
		Decisions: c.decisions, Answers: c.answers, Rivals: c.rivals,
	}
	c.mu.Unlock()
	if o.Workflow, err = r.workflow(ctx, id.WorkflowID()); err != nil {
		return o, fmt.Errorf("look at the workflow of %s: %w", id.ToolCallID, err)
	}
	record, err := r.servers.store.Show(ctx, tenant, id.InvocationID())
	switch {
	case errors.Is(err, postgres.ErrNotFound):
		return o, nil
	case err != nil:
		return o, fmt.Errorf("look at the record of %s: %w", id.ToolCallID, err)
	}
	o.Record = &record
	if c.asked() {
		o.ApprovalDigest, err = hydrate.Approved{
			InvocationID: o.InvocationID, ToolID: c.ToolID, ToolDigest: record.Plan.ToolDigest, Args: c.invocation.Args,
			TenantID: tenant, ActorID: actor,
		}.Digest()
	}
	return o, err
}

func (r *run) workflow(ctx context.Context, workflowID string) (w oracle.Workflow, err error) {
	described, err := r.servers.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
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
	err = r.servers.temporal.GetWorkflow(ctx, workflowID, "").Get(ctx, &result)
	w.Result = &result
	return w, err
}
