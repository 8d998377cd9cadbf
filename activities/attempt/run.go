package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// attempt runs hooks and tool within the budget. A tool that does not stop in time is left
// behind, and its late answer is discarded.
func (a *Attempts) attempt(ctx context.Context, in contract.ExecuteIn, claimID string, bound *catalog.Bound, caps toolspec.Capabilities, previewed *toolspec.Preview) contract.ExecuteOut {
	ctx, latest, reported := heartbeat.Reporting(ctx, a.Secrets)
	ended := make(chan struct{})
	defer close(ended)
	go a.reportProgress(ctx, in, latest, reported, ended)
	budget, cancel := context.WithTimeout(ctx, time.Duration(in.MaxRuntimeMs)*time.Millisecond)
	defer cancel()
	go heartbeat.LeaveInTime(ctx, budget, cancel)
	stopBeating := heartbeat.Send(ctx, latest)
	defer stopBeating()
	output := a.newStream(in, claimID, bound)
	done := make(chan hook.AttemptVerdict, 1)
	go func() {
		done <- a.Hooks.Attempt(budget, attemptInput(in), a.runner(in, bound, caps, previewed, output))
	}()
	select {
	case v := <-done:
		return a.withStream(ctx, budget, in, output, a.judge(ctx, budget, in, claimID, bound, v))
	case <-budget.Done():
	}
	select {
	case v := <-done:
		return a.withStream(ctx, budget, in, output, a.judge(ctx, budget, in, claimID, bound, v))
	case <-time.After(heartbeat.StopTimeout):
		a.Log.WarnContext(ctx, "tool left behind: it did not stop in time", "toolId", bound.ID(), "invocationId", in.Facts.InvocationID)
		out := interrupted(ctx, budget)
		out.LeftBehind = true
		return a.withStream(ctx, budget, in, output, out)
	}
}

// runner returns the function that runs the tool itself. The tool does not start after the
// attempt has ended.
func (a *Attempts) runner(in contract.ExecuteIn, bound *catalog.Bound, caps toolspec.Capabilities, previewed *toolspec.Preview, output *stream) func(context.Context) (json.RawMessage, error) {
	call := providers.CallOf(in.Facts, in.Epoch, caps, a.Log).WithPreviewed(previewed)
	return func(ctx context.Context) (out json.RawMessage, err error) {
		defer func() {
			if recovered := recover(); recovered != nil {
				out, err = nil, logPanic(ctx, call, recovered)
			}
		}()
		// A hook that did not stop in time may get here long after the attempt has ended.
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if bound.Definition().Heavy {
			// Wait for a processor for at most half of the attempt's time. The other half is for the tool.
			release, err := a.processors.acquire(ctx, time.Duration(in.MaxRuntimeMs)*time.Millisecond/2)
			if err != nil {
				return nil, err
			}
			defer release() // after the tool has ended, even if it was left behind
		}
		return bound.Tool().Run(ctx, in.Facts.Args, output.begin(ctx, call))
	}
}

// logPanic logs the stack of a panic of a tool, and returns an error. It drops the value of the panic, which
// may be a secret, and calls no method of the value, which may panic too. The log has a reason only if the tool
// used a capability that it did not declare.
func logPanic(ctx context.Context, call toolspec.Call, recovered any) error {
	reason := ""
	if undeclared, ok := recovered.(toolspec.UndeclaredError); ok {
		reason = undeclared.Error()
	}
	call.Logger.ErrorContext(ctx, "tool panicked", "panicType", fmt.Sprintf("%T", recovered), "reason", reason, "at", errs.Frames(debug.Stack()))
	return errPanicked
}

var errPanicked = errors.New("the tool panicked")
