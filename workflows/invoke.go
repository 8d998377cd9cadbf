package workflows

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// InvokeTool is one tool call. Every outcome the domain knows completes it with
// a Result; it fails only for a bug.
//
// The input is taken raw and decoded by admit, for undecodable input must not
// become a failed workflow.
func InvokeTool(ctx workflow.Context, input converter.RawValue) (toolspec.Result, error) {
	c := newCall(ctx, input)
	if err := c.listen(ctx); err != nil {
		return toolspec.Result{}, err
	}
	result, err := c.run(ctx)
	if err != nil {
		return toolspec.Result{}, err
	}
	c.inbox.close("the call is settled")
	if err := workflow.Await(disconnected(ctx), func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return toolspec.Result{}, err
	}
	return result, nil
}

// run takes the call from admit to settle.
func (c *call) run(ctx workflow.Context) (toolspec.Result, error) {
	out, err := c.admit(ctx)
	if err != nil {
		return toolspec.Result{}, err
	}
	c.adopt(out)
	switch {
	case out.Result != nil:
		c.settled(*out.Result)
		return *out.Result, nil
	case out.Outcome == Refused && !out.Recorded:
		result := c.result(ctx, failed(out.Failure))
		c.settled(result)
		return result, nil
	}
	if end := c.understood(ctx); end != nil {
		return c.finish(ctx, *end)
	}
	c.upsert(ctx, c.plan.Lane == hook.RegularLane || c.lasts())
	return c.finish(ctx, c.proceed(ctx))
}

// understood waits for a worker that can follow the recorded plan. Which one can
// is for admit to say: a newer worker must be able to replay what an older one
// wrote, so no plan is judged here.
func (c *call) understood(ctx workflow.Context) *ending {
	delay := missingDelay
	for c.admitted.Outcome == NotHere {
		if f := c.waitForWorker(ctx, &delay, lacking(c.admitted.By)); f != nil {
			end := failed(f)
			return &end
		}
		out, err := c.admit(ctx)
		if err != nil {
			end := failed(c.classify(ctx, err))
			return &end
		}
		if c.adopt(out); out.Result != nil {
			return &ending{recorded: out.Result}
		}
	}
	return nil
}

// proceed runs everything between admit and the stages that every call ends
// with, and says how it ended.
func (c *call) proceed(ctx workflow.Context) ending {
	if c.admitted.Failure != nil {
		return failed(c.admitted.Failure)
	}
	end := c.before(ctx)
	if end == nil {
		attempted := c.attempts(ctx)
		end = &attempted
	}
	if end.failure != nil || end.recorded != nil {
		return *end
	}
	return c.shape(disconnected(ctx), *end)
}

// admit finds or makes the record. Nothing may stop it: a cancelled call is
// recorded as cancelled.
func (c *call) admit(ctx workflow.Context) (AdmitOut, error) {
	info := workflow.GetInfo(ctx)
	in := AdmitIn{
		WorkflowID:       info.WorkflowExecution.ID,
		RunID:            info.WorkflowExecution.RunID,
		Namespace:        info.Namespace,
		NowMs:            c.startedAt.UnixMilli(),
		SearchAttributes: true,
	}
	in.Input, in.Encoding = c.input()
	return local(disconnected(ctx), Admit, in, stepOptions("find or make the record", forever))
}

// adopt takes over what the record says.
func (c *call) adopt(out AdmitOut) {
	c.admitted = out
	c.inbox.own(out.InvocationID)
	c.epoch, c.rounds = out.Epoch, out.Rounds
	c.stands(out.PolicyDigest, out.Kills, out.Connection)
	if out.Plan != nil {
		c.plan = *out.Plan
		c.toolDigest, c.effect, c.risk = out.Plan.ToolDigest, out.Plan.Effect, out.Plan.Risk
		c.budgets = out.Plan.Budgets.Tighten(c.budgets)
	}
}

// stands takes over what a statement read of what the gate judges by. What the
// call itself asked for does not change.
func (c *call) stands(policyDigest string, kills []hook.Kill, connection *hook.Connection) {
	c.policyDigest, c.kills, c.connection = policyDigest, kills, nil
	if asked := c.admitted.Connection; asked != nil {
		c.connection = &hook.Connection{Requested: asked.Requested}
		if connection != nil {
			*c.connection = *connection
			c.connection.Requested = asked.Requested
		}
	}
}

// readmit answers `superseded`: the record moved on, and is the authority. It
// returns an ending where the record has a result.
func (c *call) readmit(ctx workflow.Context) (*ending, error) {
	out, err := c.admit(ctx)
	if err != nil {
		return nil, err
	}
	if out.Result != nil {
		return &ending{recorded: out.Result}, nil
	}
	if out.Failure != nil && !out.Recorded {
		end := failed(out.Failure)
		return &end, nil
	}
	// Numbers that this run used up without a trace stay used.
	c.epoch, c.rounds = out.Epoch, out.Rounds.after(c.rounds)
	c.stands(out.PolicyDigest, out.Kills, out.Connection)
	return nil, nil
}

func disconnected(ctx workflow.Context) workflow.Context {
	d, _ := workflow.NewDisconnectedContext(ctx)
	return d
}
