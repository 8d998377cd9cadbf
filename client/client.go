package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// taskTimeout is the workflow task timeout of the contract: a worker that dies
// is noticed after it.
const taskTimeout = 5 * time.Second

// Client speaks to calls through Temporal.
type Client struct {
	temporal temporal.Client
	outputs  Outputs
	catalogs Catalogs
	data     converter.DataConverter
	eager    bool
}

// Outputs reads results by their references: large ones, and of settled calls those
// of toolspec.ResultRef. The reader checks that the tenant owns what it asks for.
type Outputs interface {
	Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error)
}

// Catalogs knows the tools that workers have published, and what callers may see
// of them.
type Catalogs interface {
	Catalog(ctx context.Context, by catalog.Viewer) (catalog.Catalog, error)
}

// Options of a client.
type Options struct {
	// Catalogs answers Catalog; without it Catalog fails.
	Catalogs Catalogs
	// Outputs reads results by their references; without it Output fails, and of a
	// value beyond toolspec.MaxInline a model is shown nothing but its reference.
	Outputs Outputs
	// DataConverter is that of the client of Temporal, where it has one of its own:
	// Progress needs it.
	DataConverter converter.DataConverter
	// EagerStart asks for the first task to be handed to a worker of the same
	// process and connection.
	EagerStart bool
}

// New makes a client.
func New(t temporal.Client, o Options) *Client {
	if o.DataConverter == nil {
		o.DataConverter = converter.GetDefaultDataConverter()
	}
	return &Client{temporal: t, outputs: o.Outputs, catalogs: o.Catalogs, data: o.DataConverter, eager: o.EagerStart}
}

// Call is a started call.
type Call struct {
	WorkflowID   string
	InvocationID string
	inputDigest  string
	run          temporal.WorkflowRun
}

// Start starts a call, or attaches to it if it was started before. What is
// refused here never reaches Temporal, and a workflow of somebody else's that has
// the call's id is a *CallError with the code conflict. While Temporal is away it
// tries again until ctx ends, which is ErrNoAnswer; without a deadline it waits.
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
			WorkflowTaskTimeout:      taskTimeout,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
			WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
			EnableEagerStart:         c.eager,
			StaticSummary:            inv.ToolID + " for " + inv.Context.TenantID,
			// The workflow that exists may not be a call.
			WorkflowExecutionErrorWhenAlreadyStarted: true,
		}, toolspec.WorkflowType, inv)
		var there *serviceerror.WorkflowExecutionAlreadyStarted
		if errors.As(err, &there) {
			run, err = c.existing(ctx, id.WorkflowID(), there.RunId)
		}
		return err
	}); err != nil {
		return nil, fmt.Errorf("client: start %s: %w", id.WorkflowID(), err)
	}
	return &Call{WorkflowID: id.WorkflowID(), InvocationID: id.InvocationID(), inputDigest: digest, run: run}, nil
}

// existing returns a run that has the id of a call. Anybody in the namespace can
// start a workflow under any id, so one that no worker of Pawl carries on is none.
func (c *Client) existing(ctx context.Context, workflowID, runID string) (temporal.WorkflowRun, error) {
	described, err := c.temporal.DescribeWorkflowExecution(ctx, workflowID, runID)
	if err != nil {
		return nil, err
	}
	info := described.GetWorkflowExecutionInfo()
	if info.GetType().GetName() != toolspec.WorkflowType || info.GetTaskQueue() != toolspec.TaskQueue {
		return nil, &CallError{Result: toolspec.Failure(toolspec.CodeConflict, "a workflow that is no call has the id of this one", nil)}
	}
	return c.temporal.GetWorkflow(ctx, workflowID, runID), nil
}

// check refuses what admit would refuse, before it is written into a history.
func check(inv toolspec.Invocation) error {
	data, err := json.Marshal(inv)
	if err != nil {
		return refused(&hydrate.Fault{Code: toolspec.CodeInvalidJSON, Problem: toolspec.Problem{
			Path: "/args", Kind: hydrate.KindUndecodable, Message: toolspec.InfoOf(toolspec.CodeInvalidJSON).Message,
		}})
	}
	if _, fault := hydrate.Decode(data); fault != nil {
		return refused(fault)
	}
	return nil
}

func refused(f *hydrate.Fault) error {
	return &CallError{Result: toolspec.Failure(f.Code, f.Error(), &toolspec.Details{
		Path: f.Problem.Path, Kind: f.Problem.Kind, Problems: []toolspec.Problem{f.Problem},
	})}
}

// Result waits for the result. A call that ends without a value is a
// *CallError; a call under the same id with another input is one with the code
// conflict. It waits until ctx ends, which is ErrNoAnswer, also while Temporal is
// away.
func (c *Client) Result(ctx context.Context, call *Call) (toolspec.Result, error) {
	var result toolspec.Result
	if err := persist(ctx, func() error { return call.run.Get(ctx, &result) }); err != nil {
		return toolspec.Result{}, fmt.Errorf("client: result of %s: %w", call.WorkflowID, err)
	}
	if result.InputDigest != "" && result.InputDigest != call.inputDigest {
		return toolspec.Result{}, &CallError{Result: conflict(result)}
	}
	if !result.OK {
		return result, &CallError{Result: result}
	}
	return result, nil
}

// conflict shows nothing of the other call but its identity.
func conflict(other toolspec.Result) toolspec.Result {
	r := toolspec.Failure(toolspec.CodeConflict, "", nil)
	r.ToolCallID, r.InvocationID, r.InputDigest = other.ToolCallID, other.InvocationID, other.InputDigest
	return r
}

// Invoke starts a call and waits for its result.
func (c *Client) Invoke(ctx context.Context, inv toolspec.Invocation) (toolspec.Result, error) {
	call, err := c.Start(ctx, inv)
	if err != nil {
		return toolspec.Result{}, err
	}
	return c.Result(ctx, call)
}

// Attach returns the handle of a call that was started before.
func (c *Client) Attach(ctx context.Context, inv toolspec.Invocation) (*Call, error) {
	digest, err := hydrate.InputDigest(inv)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	id := inv.Identity()
	return &Call{
		WorkflowID: id.WorkflowID(), InvocationID: id.InvocationID(), inputDigest: digest,
		run: c.temporal.GetWorkflow(ctx, id.WorkflowID(), ""),
	}, nil
}

// State asks a call where it stands, once: it needs Temporal and a worker to
// answer, and fails where they do not within ten seconds.
func (c *Client) State(ctx context.Context, workflowID string) (toolspec.State, error) {
	var state toolspec.State
	value, err := c.temporal.QueryWorkflow(ctx, workflowID, "", toolspec.StateName)
	if err != nil {
		return state, fmt.Errorf("client: state of %s: %w", workflowID, err)
	}
	if err := value.Get(&state); err != nil {
		return state, fmt.Errorf("client: state of %s: %w", workflowID, err)
	}
	return state, nil
}

// Progress returns what the tool of a running call reported last; false where it
// reported nothing, or does not run now.
func (c *Client) Progress(ctx context.Context, workflowID string) (p toolspec.Progress, reported bool, err error) {
	described, err := c.temporal.DescribeWorkflowExecution(ctx, workflowID, "")
	if err != nil {
		return p, false, fmt.Errorf("client: progress of %s: %w", workflowID, err)
	}
	for _, running := range described.GetPendingActivities() {
		if details := running.GetHeartbeatDetails(); len(details.GetPayloads()) > 0 {
			err := c.data.FromPayloads(details, &p)
			return p, err == nil, err
		}
	}
	return p, false, nil
}

// Recheck tells a call that policy, a grant or capacity changed.
func (c *Client) Recheck(ctx context.Context, workflowID string) error {
	if err := c.temporal.SignalWorkflow(ctx, workflowID, "", toolspec.RecheckName, nil); err != nil {
		return fmt.Errorf("client: recheck %s: %w", workflowID, settledOr(err))
	}
	return nil
}

// Cancel asks a call to stop. It still settles; what it has done stands.
func (c *Client) Cancel(ctx context.Context, workflowID string) error {
	if err := c.temporal.CancelWorkflow(ctx, workflowID, ""); err != nil {
		return fmt.Errorf("client: cancel %s: %w", workflowID, settledOr(err))
	}
	return nil
}

// Output returns a value that Result names by outputRef, or an answer to a model by
// output_ref.
func (c *Client) Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error) {
	if c.outputs == nil {
		return nil, errors.New("client: no reader of outputs was given; set Options.Outputs")
	}
	return c.outputs.Output(ctx, tenantID, ref)
}

// settledOr says that a call is over where Temporal says that it is not there.
func settledOr(err error) error {
	var gone *serviceerror.NotFound
	if errors.As(err, &gone) {
		return ErrSettled
	}
	return err
}
