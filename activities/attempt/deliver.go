package attempt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/activities/output"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	stored "github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/workflows/contract"
)

// judge makes the answer of an attempt from its output or its error. The raw output does not leave
// the worker.
func (a *Attempts) judge(ctx, budget context.Context, in contract.ExecuteIn, claimID string, bound *catalog.Bound, v hook.AttemptVerdict) contract.ExecuteOut {
	out := contract.ExecuteOut{Outcome: contract.Done, Trace: v.Trace, By: v.By}
	switch {
	case v.Err != nil:
		var err error
		f, retryable, answered := classify(v.Err, func(text string) string { return a.cleaned(bound, text) })
		if budget.Err() != nil && !answered {
			stopped := interrupted(ctx, budget)
			stopped.Trace = v.Trace
			return stopped
		}
		a.Log.LogAttrs(ctx, slog.LevelWarn, "tool failed", slog.String("toolId", bound.ID()), slog.String("toolCallId", in.Facts.ToolCallID),
			slog.String("invocationId", in.Facts.InvocationID), slog.String("code", string(f.Code)), slog.String("errorType", fmt.Sprintf("%T", v.Err)))
		if f.SafeMessage, err = bound.RedactText(f.SafeMessage); err != nil {
			f.SafeMessage = "" // the result has the message of the code instead
		}
		var unanswered *toolspec.UnansweredError
		if errors.As(v.Err, &unanswered) && !bound.Definition().Repeatable() {
			f.Code = contract.CauseUnanswered
			out.Outcome, out.Failure = contract.Interrupted, &f
			return out
		}
		out.Outcome, out.Failure, out.Retryable = contract.Refused, &f, retryable
		out.NothingHappened = f.Code == toolspec.CodeRateLimited
		return out
	case v.Transient && !v.Ran:
		// The attempt is made again, as if it had never begun.
		out.Outcome = contract.Undispatched
		return out
	case v.Outcome == hook.Failed:
		out.Outcome, out.Failure, out.Retryable = contract.Refused, v.Failure, v.Transient
		return out
	case v.Outcome == hook.Missing:
		out.Outcome, out.By = contract.NotHere, "hook "+v.By
		return out
	}
	out.Responded, out.Challenge = v.Outcome == hook.Responded, v.Challenge
	if out.Challenge {
		if len(v.Value) > toolspec.MaxInline {
			out.Outcome, out.Failure = contract.Refused, &hook.Failure{
				Code: toolspec.CodeResultTooLarge, SafeMessage: fmt.Sprintf("The challenge is larger than %d bytes", toolspec.MaxInline),
			}
			return out
		}
		out.Value = v.Value
		return out
	}
	return a.deliver(ctx, in, claimID, bound, out, v.Value)
}

// deliver adds the value of an attempt or of a probe to its answer out. The value is checked and redacted, and
// a large value is stored apart.
func (a *Attempts) deliver(ctx context.Context, in contract.ExecuteIn, claimID string, bound *catalog.Bound, out contract.ExecuteOut, raw json.RawMessage) contract.ExecuteOut {
	value, info, failure, err := a.outputs.Deliver(ctx, bound, output.Value{Origin: output.FromTool, MaxBytes: in.MaxResultBytes, Row: output.Row{
		InvocationID: in.Facts.InvocationID, TenantID: in.Facts.Context.TenantID, Dispatch: in.Dispatch, ClaimID: claimID, Value: raw,
	}})
	switch {
	case errors.Is(err, stored.ErrQuota):
		out.Outcome, out.Failure = contract.Refused, &hook.Failure{Code: toolspec.CodeOutputQuota}
		return out
	case err != nil:
		a.Log.WarnContext(ctx, "a large result could not be kept", "invocationId", in.Facts.InvocationID, "dispatch", in.Dispatch, "reason", errs.Reason(err))
		return contract.ExecuteOut{Outcome: contract.Interrupted, Trace: out.Trace, Failure: &hook.Failure{
			Code: contract.CauseUnsaved, SafeMessage: "The tool ran, but its result could not be kept",
		}}
	case failure != nil:
		out.Outcome, out.Failure = contract.Refused, failure
		return out
	}
	out.Value, out.OutputInfo = value, info
	return out
}

// interrupted returns the answer of an attempt whose tool was stopped and gave no answer.
func interrupted(ctx, budget context.Context) contract.ExecuteOut {
	f := &hook.Failure{Code: toolspec.CodeTimeout}
	cause := context.Cause(ctx)
	switch {
	case cause == nil && errors.Is(budget.Err(), context.DeadlineExceeded): // the tool has used up its time
	case heartbeat.Stopping(ctx):
		f.Code = contract.CauseStopped
	case cause == nil, errors.Is(cause, context.DeadlineExceeded):
	case errors.Is(cause, context.Canceled), temporal.IsCanceledError(cause):
		f.Code = toolspec.CodeCancelled
	default:
		f.Code = contract.CauseLost // Temporal has missed heartbeats, or the activity is gone
	}
	return contract.ExecuteOut{Outcome: contract.Interrupted, Failure: f}
}
