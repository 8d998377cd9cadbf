package attempt

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
	"github.com/pawl-run/pawl/workflows/envelope"
	"github.com/pawl-run/pawl/workflows/steps"
)

// CauseRevoked is the cause of an unknown outcome if the gate denied the call while its
// tool ran, for example because its grant was revoked, and the call cancelled the
// attempt.
const CauseRevoked toolspec.Code = "revoked"

// handleLost handles a dispatch that gave no answer: its worker died, or its time ran out. The activity Check reads
// in the record whether the attempt had begun. If the attempt had not begun, Check writes a tombstone and raises the
// epoch, so that this dispatch never begins and the attempt can be dispatched again.
func (a *Attempts) handleLost(ctx workflow.Context, why *hook.Failure, d dispatched) outcome {
	c := a.call
	steady := steps.Disconnected(ctx)
	for {
		at := workflow.Now(ctx)
		in := contract.CheckIn{InvocationID: c.Admitted().InvocationID, Epoch: c.Epoch(), Dispatch: d.number}
		out, err := steps.Local(steady, contract.Check, in, steps.Options("had the attempt begun?", steps.Forever))
		if err != nil {
			// Nobody knows whether the attempt had begun. Assume that it had begun.
			out = contract.CheckOut{Outcome: contract.Lost}
			c.RecordStep(contract.Check.Name(), string(c.Classify(steady, err).Code), at, 0)
		} else {
			c.RecordStep(contract.Check.Name(), string(out.Outcome), at, out.DurationUs)
		}
		switch out.Outcome {
		case contract.Superseded:
			if next := c.HandleSuperseded(steady); next.IsEnd() {
				return endWith(next)
			}
			continue
		case contract.Free:
			c.RaiseEpoch(out.Epoch)
			if a.endsDenied(ctx) {
				return failWith(a.revoked)
			}
			// If the call was cancelled, the caller ends it as cancelled instead.
			if ctx.Err() == nil && c.Remaining(ctx) <= time.Millisecond {
				return endWith(envelope.FailWith(toolspec.CodeTimeout, "no worker took the call before its deadline"))
			}
			// The attempt never began and never will, so it is dispatched again.
			return outcome{then: Dispatch}
		default: // Lost: the attempt had begun
		}
		a.recordDispatch(d, "lost", why.Code, workflow.Now(ctx).Sub(d.at).Microseconds())
		// A live worker answers within the budget of the attempt. So a worker that gave no
		// answer is lost, and the cause is "lost" for every kind of timeout that the server
		// reports.
		return a.handleInterrupted(ctx, &hook.Failure{Code: contract.CauseLost, SafeMessage: why.SafeMessage})
	}
}

// handleInterrupted handles an attempt that began and ended without an answer of the
// tool. Either another attempt is safe, or the outcome is unknown.
func (a *Attempts) handleInterrupted(ctx workflow.Context, why *hook.Failure) outcome {
	if a.revoked != nil {
		why = &hook.Failure{Code: CauseRevoked, SafeMessage: a.revoked.SafeMessage}
	}
	switch {
	case !a.call.Plan().Repeatable:
		return a.resolveDoubt(ctx, why)
	// The tool is repeatable, but the gate denies another attempt.
	case a.revoked != nil:
		return failWith(a.revoked)
	case ctx.Err() != nil:
		return failWith(&hook.Failure{Code: toolspec.CodeCancelled})
	}
	o := failWith(contract.Interruption(why, true))
	o.again = true
	return o
}
