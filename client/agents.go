package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	sdktemporal "go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/toolspec"
)

// AgentRun is a started run of an agent.
type AgentRun struct {
	TenantID, RunID string
	run             temporal.WorkflowRun
	// isAttached says that AttachAgent made the handle: the client has not checked yet whether the workflow with
	// this id is a run of an agent.
	isAttached bool
}

// WorkflowID returns the id of the workflow of the run.
func (r *AgentRun) WorkflowID() string { return agent.WorkflowID(r.TenantID, r.RunID) }

// StartAgent starts a run of an agent, or attaches to it if it was started before. An invalid input never reaches
// Temporal. The error is ErrOtherRun if the id of the run belongs to a run with another input, not counting
// SubmitterProof, or to a workflow that is no run of an agent. While Temporal does not answer, StartAgent tries
// again until ctx ends, and then returns ErrNoAnswer.
func (c *Client) StartAgent(ctx context.Context, in agent.Input) (*AgentRun, error) {
	if err := in.Check(); err != nil {
		return nil, fmt.Errorf("client: start agent: %w", err)
	}
	r := &AgentRun{TenantID: in.Context.TenantID, RunID: in.Context.RunID}
	if err := persist(ctx, func() (err error) {
		r.run, err = c.temporal.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{
			ID:                                       r.WorkflowID(),
			TaskQueue:                                toolspec.TaskQueue,
			WorkflowTaskTimeout:                      agent.TaskTimeout,
			WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
			WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			WorkflowExecutionErrorWhenAlreadyStarted: true,
			StaticSummary:                            "agent " + in.Agent + " for " + r.TenantID,
			Priority:                                 sdktemporal.Priority{FairnessKey: r.TenantID},
		}, agent.WorkflowType, in)
		var there *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &there) {
			if err = c.compareRun(ctx, r.WorkflowID(), there.RunId, in); err == nil {
				r.run = c.temporal.GetWorkflow(ctx, r.WorkflowID(), "")
			}
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("client: start agent %s: %w", r.WorkflowID(), err)
	}
	return r, nil
}

// compareRun returns ErrOtherRun unless the workflow is a run of an agent that was started with the input in. It
// reads that input from the first event of the history. Every program in the namespace can start a workflow under
// any id, so the id alone proves nothing.
func (c *Client) compareRun(ctx context.Context, workflowID, runID string, in agent.Input) error {
	started, err := c.startOf(ctx, workflowID, runID)
	if err != nil {
		return err
	}
	var there agent.Input
	if err := c.data.FromPayloads(started.GetInput(), &there); err != nil {
		return fmt.Errorf("the run exists, and its input cannot be read: set Options.DataConverter to that of the Temporal client: %w", ErrOtherRun)
	}
	there.SubmitterProof, in.SubmitterProof = "", ""
	digest, err := in.Digest()
	if err != nil {
		return err
	}
	if other, err := there.Digest(); err != nil || other != digest {
		return ErrOtherRun
	}
	return nil
}

// startOf returns the first event of a workflow, or ErrOtherRun if the workflow is no run of an agent.
func (c *Client) startOf(ctx context.Context, workflowID, runID string) (*historypb.WorkflowExecutionStartedEventAttributes, error) {
	first, err := c.temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Next()
	if err != nil {
		return nil, err
	}
	started := first.GetWorkflowExecutionStartedEventAttributes()
	if started.GetWorkflowType().GetName() != agent.WorkflowType || started.GetTaskQueue().GetName() != toolspec.TaskQueue {
		return nil, ErrOtherRun
	}
	return started, nil
}

// AttachAgent returns the handle of a run that was started before. It sends no request to Temporal: AgentResult
// checks that the workflow with the id is a run of an agent.
func (c *Client) AttachAgent(ctx context.Context, tenantID, runID string) *AgentRun {
	return &AgentRun{TenantID: tenantID, RunID: runID, run: c.temporal.GetWorkflow(ctx, agent.WorkflowID(tenantID, runID), ""), isAttached: true}
}

// AgentResult waits for the result of a run until ctx ends. A run that does not exist is ErrNotFound. A run whose workflow was terminated
// has the outcome failed. If another workflow has the id of the run, the error is ErrOtherRun: every program in the namespace can start a
// workflow under any id.
func (c *Client) AgentResult(ctx context.Context, r *AgentRun) (result agent.Result, err error) {
	err = persist(ctx, func() error {
		if r.isAttached {
			if _, err := c.startOf(ctx, r.WorkflowID(), ""); err != nil {
				return err
			}
		}
		return r.run.Get(ctx, &result)
	})
	var closed *sdktemporal.WorkflowExecutionError
	switch {
	case errors.As(err, &closed):
		return agent.Result{Outcome: agent.Failed, Reason: "the workflow of the run closed without a result"}, nil
	case err != nil:
		return agent.Result{}, fmt.Errorf("client: result of %s: %w", r.WorkflowID(), orNotFound(err))
	}
	return result, nil
}

// RunAgent starts a run and waits for its result.
func (c *Client) RunAgent(ctx context.Context, in agent.Input) (agent.Result, error) {
	r, err := c.StartAgent(ctx, in)
	if err != nil {
		return agent.Result{}, err
	}
	return c.AgentResult(ctx, r)
}

// SayToAgent adds a message of a person to a run, and returns when the message is stored. The same message sent again
// adds nothing. A run that has ended is ErrSettled.
func (c *Client) SayToAgent(ctx context.Context, tenantID, runID string, m agent.Message) error {
	id := agent.WorkflowID(tenantID, runID)
	if err := m.Check(); err != nil {
		return fmt.Errorf("client: message to %s: %w", id, err)
	}
	// Each try has an update id of its own: with one id for all, Temporal would answer every later try with the
	// refusal of the first. A message that is sent twice is still added once, because the record knows it by m.ID.
	handle, err := c.temporal.UpdateWorkflow(ctx, temporal.UpdateWorkflowOptions{
		UpdateID: "message-" + m.ID + "-" + uuid.NewString(), WorkflowID: id, UpdateName: agent.MessageName, Args: []any{m}, WaitForStage: temporal.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	var refused *sdktemporal.ApplicationError
	if errors.As(err, &refused) && refused.Type() == string(toolspec.CodeConflict) {
		err = ErrSettled
	}
	if err != nil {
		return fmt.Errorf("client: message to %s: %w", id, orSettled(err))
	}
	return nil
}

// InterruptAgent stops a run after its current call. For a run that stays, it ends only the current turn, and the
// run then waits for the next message; if the run waits for a message already, it ends. The error is ErrSettled
// for a run that has ended.
func (c *Client) InterruptAgent(ctx context.Context, tenantID, runID string) error {
	return c.interrupt(ctx, tenantID, runID, agent.InterruptName)
}

// InterruptAgentTurn is InterruptAgent, but it does nothing to a run that waits for a message.
func (c *Client) InterruptAgentTurn(ctx context.Context, tenantID, runID string) error {
	return c.interrupt(ctx, tenantID, runID, agent.InterruptTurnName)
}

func (c *Client) interrupt(ctx context.Context, tenantID, runID, signal string) error {
	id := agent.WorkflowID(tenantID, runID)
	if err := c.temporal.SignalWorkflow(ctx, id, "", signal, nil); err != nil {
		return fmt.Errorf("client: interrupt %s: %w", id, orSettled(err))
	}
	return nil
}

// CancelAgent stops a run at once: it also cancels the open calls. A run that has ended is ErrSettled.
func (c *Client) CancelAgent(ctx context.Context, tenantID, runID string) error {
	id := agent.WorkflowID(tenantID, runID)
	if err := c.temporal.CancelWorkflow(ctx, id, ""); err != nil {
		return fmt.Errorf("client: cancel %s: %w", id, orSettled(err))
	}
	return nil
}

// AgentState queries what a run does now. It needs a worker that answers the query, and does not repeat it. A run
// that does not exist is ErrNotFound.
func (c *Client) AgentState(ctx context.Context, tenantID, runID string) (state agent.State, err error) {
	id := agent.WorkflowID(tenantID, runID)
	value, err := c.temporal.QueryWorkflow(ctx, id, "", agent.StateName)
	if err == nil {
		err = value.Get(&state)
	}
	if err != nil {
		return state, fmt.Errorf("client: state of %s: %w", id, orNotFound(err))
	}
	return state, nil
}
