package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// changeRecheck versions what a call does that is told to look again while it
// waits for nobody: calls before it let the next wait see to that.
const changeRecheck = "recheck-running"

// told reports whether somebody asked the call to look again, and the call is of a
// version that does so without a wait.
func (c *call) told(ctx workflow.Context) bool {
	return c.inbox.looks > 0 && workflow.GetVersion(ctx, changeRecheck, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// obey judges the call anew where somebody asked for it since the gate was asked
// last: a tool does not start on a verdict that may be out of date.
func (c *call) obey(ctx workflow.Context) *ending {
	if !c.told(ctx) {
		return nil
	}
	return c.judgedNow(ctx)
}

// judgedNow reads what holds now and asks the gate.
func (c *call) judgedNow(ctx workflow.Context) *ending {
	if c.told(ctx) {
		c.inbox.looks = 0
	}
	if _, end := c.review(ctx, RequestOut{View: &toolspec.ApprovalView{}}, nil); end != nil {
		return end
	}
	return c.gateAgain(ctx, nil)
}

// sleep waits for a time on a durable timer, and obeys meanwhile.
func (c *call) sleep(ctx workflow.Context, d time.Duration) *ending {
	until := workflow.Now(ctx).Add(d)
	for {
		timerCtx, cancel := workflow.WithCancel(ctx)
		timer := workflow.NewTimer(timerCtx, max(until.Sub(workflow.Now(ctx)), 0))
		err := workflow.Await(ctx, func() bool { return timer.IsReady() || c.inbox.looks > 0 })
		if err == nil && !timer.IsReady() && !c.told(ctx) {
			err = workflow.Await(ctx, timer.IsReady)
		}
		over := timer.IsReady()
		if over {
			err = timer.Get(ctx, nil)
		}
		cancel()
		switch {
		case err != nil:
			end := failed(&hook.Failure{Code: toolspec.CodeCancelled})
			return &end
		case over:
			return nil
		}
		if end := c.judgedNow(ctx); end != nil {
			return end
		}
	}
}
