package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Causes of an unknown outcome besides the codes `timeout` and `cancelled`.
const (
	// CauseLost: an attempt was claimed, and nobody knows more.
	CauseLost toolspec.Code = "lost"
	// CauseStopped: the worker that ran the attempt was told to end.
	CauseStopped toolspec.Code = "worker_stopped"
	// CauseUnsaved: the tool ran and answered, and its answer, too large for a
	// payload, could not be kept.
	CauseUnsaved toolspec.Code = "result_not_saved"
)

// lost follows an attempt that gave no answer: its worker died, or its time ran
// out. The record knows whether it had begun.
func (c *call) lost(ctx workflow.Context, why *hook.Failure, dispatch int, at time.Time) outcome {
	steady := disconnected(ctx)
	for {
		checkedAt := workflow.Now(ctx)
		in := CheckIn{InvocationID: c.admitted.InvocationID, Epoch: c.epoch, Dispatch: dispatch}
		out, err := local(steady, Check, in, stepOptions("had the attempt begun?", forever))
		if err != nil {
			// Nobody can say whether it had begun: it may have.
			out = CheckOut{Outcome: Lost}
			c.step(nameCheck, string(c.classify(steady, err).Code), checkedAt, 0)
		} else {
			c.step(nameCheck, string(out.Outcome), checkedAt, out.DurationUs)
		}
		switch out.Outcome {
		case Superseded:
			if end := c.supersede(steady); end != nil {
				return outcome{end: *end}
			}
			continue
		case Free:
			c.epoch = out.Epoch
			if ctx.Err() == nil && c.remaining(ctx) <= time.Millisecond {
				return outcome{end: failedWith(toolspec.CodeTimeout, "no worker took the call before its deadline")}
			}
			return outcome{uncounted: true}
		default:
		}
		c.tryRecorded(hook.RegularLane, dispatch, "lost", why.Code, at, workflow.Now(ctx).Sub(at).Microseconds())
		// A worker that lives answers within the attempt's budget itself. One that is
		// late is lost, whichever of its timeouts the server noticed first.
		return c.interrupted(ctx, &hook.Failure{Code: CauseLost, SafeMessage: why.SafeMessage})
	}
}

// interrupted judges an attempt that was claimed and ended without the tool's
// answer. Repeating it is safe, or the outcome is unknown.
func (c *call) interrupted(ctx workflow.Context, why *hook.Failure) outcome {
	if c.revoked != nil {
		why = &hook.Failure{Code: CauseRevoked, SafeMessage: c.revoked.SafeMessage}
	}
	if !c.plan.Repeatable {
		return c.doubt(ctx, why)
	}
	if c.revoked != nil {
		return outcome{end: failed(c.revoked)}
	}
	if ctx.Err() != nil {
		return outcome{end: failed(&hook.Failure{Code: toolspec.CodeCancelled})}
	}
	return outcome{end: failedWith(toolspec.CodeTimeout, why.SafeMessage), again: true}
}

// undone follows a dispatch that did not get as far as the tool: the database
// did not say whether it was claimed, or a hook needs what is not there now. The
// next one waits until it may be back; again says that there is to be one.
func (c *call) undone(ctx workflow.Context, out ExecuteOut, delay *time.Duration, dispatch int) (o outcome, again bool) {
	if dispatch > 0 { // the local lane claims nothing
		c.undispatched = append(c.undispatched, dispatch)
	}
	f := out.Failure
	if f == nil {
		f = c.waitForWorker(ctx, delay, "the attempt could not begin before the call's deadline; the tool was not run")
	}
	if f != nil {
		return outcome{end: failed(f)}, false
	}
	return o, true
}
