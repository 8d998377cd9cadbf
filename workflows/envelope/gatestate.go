package envelope

import (
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/steps"
)

// gateState holds the data, besides the arguments, by which the gate judges a call: the
// active policy, the kill switches, the state of the connection, and the tool.
type gateState struct {
	policyDigest string
	// kills are the kill switches that apply to the call, read together with policyDigest.
	kills []hook.Kill
	// connection is the state of the call's connection, read together with policyDigest; nil if the call names none.
	connection *hook.Connection
	toolDigest string
	effect     toolspec.Effect
	risk       toolspec.Risk
	scriptArg  string
	discovered *toolspec.Discovered
}

// PolicyDigest returns the digest of the policy that was active at the last read.
func (c *Call) PolicyDigest() string { return c.policyDigest }

// Connection returns the state of the call's connection at the last read; nil if the call
// asked for none.
func (c *Call) Connection() *hook.Connection { return c.connection }

// ToolDigest returns the digest of the tool definition that validated the arguments last.
// Before that, it is the digest in the plan.
func (c *Call) ToolDigest() string { return c.toolDigest }

// Effect returns the effect of the tool, as SetTool last recorded it.
func (c *Call) Effect() toolspec.Effect { return c.effect }

// SetTool records the parts of the tool's definition by which the gate judges the call.
func (c *Call) SetTool(digest string, effect toolspec.Effect, risk toolspec.Risk, scriptArg string, discovered *toolspec.Discovered) {
	c.toolDigest, c.effect, c.risk, c.scriptArg, c.discovered = digest, effect, risk, scriptArg, discovered
}

// SetGateState records the active policy, the kill switches and the state of the connection, which a step has read
// in the record. The connection of a call that names no connection stays nil. Otherwise its field Requested keeps the
// value that admit returned. If the argument connection is nil, the named connection does not exist, and its other
// fields are empty.
func (c *Call) SetGateState(policyDigest string, kills []hook.Kill, connection *hook.Connection) {
	c.policyDigest, c.kills, c.connection = policyDigest, kills, nil
	if asked := c.admitted.Connection; asked != nil {
		c.connection = &hook.Connection{Requested: asked.Requested}
		if connection != nil {
			*c.connection = *connection
			c.connection.Requested = asked.Requested
		}
	}
}

// ReadGateState reads the active policy, the kill switches and the state of the connection again, and starts a round
// of the gate. It returns how the call ends if the read fails or the record has a result, otherwise the zero Next.
func (c *Call) ReadGateState(ctx workflow.Context) Next {
	for {
		at := workflow.Now(ctx)
		c.NextGate()
		out, err := steps.Local(ctx, contract.Review, contract.ReviewIn{
			InvocationID: c.admitted.InvocationID, ToolID: c.admitted.ToolID, TenantID: c.admitted.Context.TenantID,
			Epoch: c.epoch, Gate: c.rounds.Gate, Capacity: c.rounds.Capacity,
		}, steps.Options("see how the call stands", steps.Forever))
		if err != nil {
			return Fail(c.Classify(ctx, err))
		}
		if out.Outcome == contract.Superseded {
			if next := c.HandleSuperseded(ctx); next.IsEnd() {
				return next
			}
			continue
		}
		c.SetGateState(out.PolicyDigest, out.Kills, out.Connection)
		c.RecordStep(contract.Review.Name(), string(out.State), at, out.DurationUs)
		return Next{}
	}
}

// Admit runs the activity admit, which finds or creates the record of the call. A cancel does not stop it, because
// the record of a cancelled call must say that the call was cancelled.
func (c *Call) Admit(ctx workflow.Context) (contract.AdmitOut, error) {
	info := workflow.GetInfo(ctx)
	in := contract.AdmitIn{
		WorkflowID:       info.WorkflowExecution.ID,
		RunID:            info.WorkflowExecution.RunID,
		Namespace:        info.Namespace,
		NowMs:            c.runStartedAt.UnixMilli(),
		SearchAttributes: true,
	}
	in.Input, in.Encoding = c.Input()
	return steps.Local(steps.Disconnected(ctx), contract.Admit, in, steps.Options("find or make the record", steps.Forever))
}

// Adopt sets the state of the call to the data of the record, which admit has returned. The plan stays as it is if
// admit returned no plan. A restricted plan stays restricted: the record has the plan for the version of the tool that
// admit saw, and a worker now has a less safe version.
func (c *Call) Adopt(out contract.AdmitOut) {
	c.admitted = out
	c.epoch, c.rounds = out.Epoch, out.Rounds
	c.SetGateState(out.PolicyDigest, out.Kills, out.Connection)
	if out.Plan != nil {
		if c.plan.ToolDigest == "" { // a plan without the tool has only a preliminary deadline
			c.budgets = hook.Budgets{}
		}
		c.plan = *out.Plan
		if c.restricted {
			c.RestrictPlan()
		}
		c.SetTool(out.Plan.ToolDigest, out.Plan.Effect, out.Plan.Risk, out.Plan.ScriptArg, out.Plan.Discovered)
		c.budgets = out.Plan.Budgets.Tighten(c.budgets)
	}
}

// Readmit runs admit again after an activity answered contract.Superseded, because the record has a newer epoch than
// this run. If the record has a result, or belongs to another call by now, Readmit returns how the call ends.
// Otherwise this run takes the call over again, with the new epoch.
func (c *Call) Readmit(ctx workflow.Context) (Next, error) {
	out, err := c.Admit(ctx)
	switch {
	case err != nil:
		return Next{}, err
	case out.Result != nil:
		return Recorded(*out.Result), nil
	// The record belongs to another call: its input digest or its namespace differs.
	case out.Failure != nil && !out.Recorded:
		return Fail(out.Failure), nil
	}
	// This run may have used higher numbers than the record has, and must not use a number again.
	c.epoch, c.rounds = out.Epoch, out.Rounds.After(c.rounds)
	c.SetGateState(out.PolicyDigest, out.Kills, out.Connection)
	return Next{}, nil
}

// HandleSuperseded does what Readmit does. If admit fails, it ends the call with a failure and returns no error.
func (c *Call) HandleSuperseded(ctx workflow.Context) Next {
	next, err := c.Readmit(ctx)
	if err != nil {
		return Fail(c.Classify(ctx, err))
	}
	return next
}
