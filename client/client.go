package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktemporal "go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hydrate"
	"github.com/pawl-run/pawl/toolspec/output"
)

// Client starts calls and sends updates, signals and queries to them through Temporal.
type Client struct {
	temporal temporal.Client
	outputs  Outputs
	reader   output.Reader
	catalogs Catalogs
	records  Records
	runs     Runs
	agents   AgentRecords
	data     converter.DataConverter
	eager    bool
}

// Catalogs reads the tools that workers have published and that a caller may see.
type Catalogs interface {
	Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error)
}

// Options of a client. Without Catalogs, Outputs, OutputReader, Records, Runs and AgentRecords, the client uses
// only Temporal. Package client/postgres has all of them for a program that may read the database.
type Options struct {
	// Catalogs reads the tools for Catalog, PickTools and Offer.
	Catalogs Catalogs
	// Outputs reads values for Output. Package turn reads with it the images and documents of a value that is too
	// large for the result. Without it, a model gets the short form and the reference of such a value.
	Outputs Outputs
	// OutputReader reads stored outputs of any size for OutputInfo and OpenOutput.
	OutputReader output.Reader
	// Records reads the record for Calls, Call and Approvals.
	Records Records
	// Runs follows the events of runs for Watch, and serves Append and Run.
	Runs Runs
	// AgentRecords reads the record of runs of agents for AgentRuns and AgentRun.
	AgentRecords AgentRecords
	// DataConverter is the data converter of the Temporal client, if that client has its own. Progress
	// needs it. StartAgent needs it if the run exists already.
	DataConverter converter.DataConverter
	// EagerStart asks Temporal to give the first workflow task of a call to a worker in this process that uses the
	// same Temporal client.
	EagerStart bool
}

// New returns a client.
func New(t temporal.Client, o Options) *Client {
	if o.DataConverter == nil {
		o.DataConverter = converter.GetDefaultDataConverter()
	}
	return &Client{temporal: t, outputs: o.Outputs, reader: o.OutputReader, catalogs: o.Catalogs, records: o.Records, runs: o.Runs, agents: o.AgentRecords, data: o.DataConverter, eager: o.EagerStart}
}

// Call is a started call.
type Call struct {
	WorkflowID   string
	InvocationID string
	toolCallID   string
	inputDigest  string
	run          temporal.WorkflowRun
	// attached says that Attach made the handle: the client has not checked yet whether the workflow with this id
	// is a call.
	attached bool
}

// Start starts a call, or attaches to it if it was started before. An invalid invocation never
// reaches Temporal. If another workflow has the call's id, the error is a *CallError with the code
// conflict. While Temporal does not answer, Start tries again until ctx ends, and then returns
// ErrNoAnswer; without a deadline it waits.
func (c *Client) Start(ctx context.Context, inv toolspec.Invocation) (*Call, error) {
	if err := check(inv); err != nil {
		return nil, err
	}
	digest, err := hydrate.InputDigest(inv)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	id := inv.Identity()
	var run temporal.WorkflowRun
	if err := persist(ctx, func() (err error) {
		run, err = c.temporal.ExecuteWorkflow(ctx, temporal.StartWorkflowOptions{
			ID:                       id.WorkflowID(),
			TaskQueue:                toolspec.TaskQueue,
			WorkflowTaskTimeout:      toolspec.TaskTimeout,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
			WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			EnableEagerStart:         c.eager,
			StaticSummary:            inv.ToolID + " for " + inv.Context.TenantID,
			Priority:                 sdktemporal.Priority{FairnessKey: inv.Context.TenantID},
			// Without it the SDK would attach to the workflow that has the id, which may be no call.
			WorkflowExecutionErrorWhenAlreadyStarted: true,
		}, toolspec.WorkflowType, inv)
		var there *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &there) {
			run, err = c.existing(ctx, inv, there.RunId)
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("client: start %s: %w", id.WorkflowID(), err)
	}
	return &Call{WorkflowID: id.WorkflowID(), InvocationID: id.InvocationID(), toolCallID: inv.ToolCallID, inputDigest: digest, run: run}, nil
}

// existing returns the workflow that already has the id of a call, or a *CallError with the code conflict if that
// workflow is no call of Pawl: every program in the namespace can start a workflow under any id.
func (c *Client) existing(ctx context.Context, inv toolspec.Invocation, runID string) (temporal.WorkflowRun, error) {
	workflowID := inv.Identity().WorkflowID()
	described, err := c.temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	if err != nil {
		return nil, err
	}
	is, err := c.isCall(ctx, described)
	switch {
	case err != nil:
		return nil, err
	case !is:
		return nil, refused(inv, toolspec.Failure(toolspec.CodeConflict, "a workflow that is no call has the id of this one", nil))
	}
	return c.temporal.GetWorkflow(ctx, workflowID, runID), nil
}

// check refuses an invocation that admit would refuse, so that an invalid invocation is never written into a
// history.
func check(inv toolspec.Invocation) error {
	data, err := json.Marshal(inv)
	if err != nil {
		return invalid(inv, &hydrate.Fault{Code: toolspec.CodeInvalidJSON, Problem: toolspec.Problem{
			Path: "/args", Kind: hydrate.KindUndecodable, Message: toolspec.InfoOf(toolspec.CodeInvalidJSON).Message,
		}})
	}
	if _, fault := hydrate.Decode(data); fault != nil {
		return invalid(inv, fault)
	}
	return nil
}

// invalid is the error of a call whose invocation no worker would accept.
func invalid(inv toolspec.Invocation, f *hydrate.Fault) error {
	return refused(inv, toolspec.Failure(f.Code, f.Error(), &toolspec.Details{
		Path: f.Problem.Path, Kind: f.Problem.Kind, Problems: []toolspec.Problem{f.Problem},
	}))
}

// refused is the error of a call that the client did not start. No worker has seen the call, so its result has no
// InvocationID. The result also leaves out a ToolCallID that is not valid or that looks like a credential.
func refused(inv toolspec.Invocation, result toolspec.Result) error {
	if toolspec.CheckToolCallID(inv.ToolCallID) == nil && !toolspec.SecretValue(inv.ToolCallID) {
		result.ToolCallID = inv.ToolCallID
	}
	return &CallError{Result: result}
}

// Result waits for the result. For a call that ends without a value it returns the result and a
// *CallError that has it too. The code is conflict for a call under the same id with another input,
// and outcome_unknown for a call whose workflow was terminated or failed. An id that no call has is
// ErrNotFound. Result waits until ctx ends, also while Temporal does not answer; the error is then
// ErrNoAnswer.
func (c *Client) Result(ctx context.Context, call *Call) (toolspec.Result, error) {
	var result toolspec.Result
	err := persist(ctx, func() error {
		if call.attached {
			if _, err := c.describe(ctx, call.WorkflowID); err != nil {
				return err
			}
		}
		return call.run.Get(ctx, &result)
	})
	var closed *sdktemporal.WorkflowExecutionError
	switch {
	case errors.As(err, &closed):
		// The record may say more later, but the client cannot know whether the tool took effect.
		result = toolspec.Failure(toolspec.CodeOutcomeUnknown, "", &toolspec.Details{Cause: "the workflow closed without a result"})
		result.ToolCallID, result.InvocationID, result.InputDigest = call.toolCallID, call.InvocationID, call.inputDigest
		return result, &CallError{Result: result, cause: closed}
	case err != nil:
		return toolspec.Result{}, fmt.Errorf("client: result of %s: %w", call.WorkflowID, orNotFound(err))
	}
	if result.InputDigest != "" && result.InputDigest != call.inputDigest {
		result = conflict(result)
	}
	if !result.OK {
		return result, &CallError{Result: result}
	}
	return result, nil
}

// conflict returns the result for a caller whose id belongs to a call with another input. It shows the ids and the
// input digest of that call, and nothing else of it.
func conflict(other toolspec.Result) toolspec.Result {
	r := toolspec.Failure(toolspec.CodeConflict, "", nil)
	r.ToolCallID, r.InvocationID, r.InputDigest = other.ToolCallID, other.InvocationID, other.InputDigest
	return r
}

// Invoke starts a call and waits for its result. If the call fails or the client refuses it,
// Invoke returns a *CallError and also the Result of that error.
func (c *Client) Invoke(ctx context.Context, inv toolspec.Invocation) (toolspec.Result, error) {
	call, err := c.Start(ctx, inv)
	var failed *CallError
	if errors.As(err, &failed) {
		return failed.Result, err
	}
	if err != nil {
		return toolspec.Result{}, err
	}
	return c.Result(ctx, call)
}

// Attach returns the handle of a call that was started before. It sends no request to Temporal:
// Result returns ErrNotFound if there is no such call. An invocation that Start refuses is
// refused with the same *CallError.
func (c *Client) Attach(ctx context.Context, inv toolspec.Invocation) (*Call, error) {
	if err := check(inv); err != nil {
		return nil, err
	}
	digest, err := hydrate.InputDigest(inv)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	id := inv.Identity()
	return &Call{
		WorkflowID: id.WorkflowID(), InvocationID: id.InvocationID(), toolCallID: inv.ToolCallID, inputDigest: digest,
		run: c.temporal.GetWorkflow(ctx, id.WorkflowID(), ""), attached: true,
	}, nil
}
