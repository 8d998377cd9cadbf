package activities

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/broker/redact"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

const (
	// patience is how long a tool may take to notice that it is to stop.
	patience = time.Second
	// saveTries and saveDelay, doubled each time, are how a large value is kept:
	// about three seconds in all.
	saveTries = 4
	saveDelay = 200 * time.Millisecond
	// claimTime bounds the claim. No heartbeat is sent before the tool runs, so it
	// stays well below the time after which the worker would count as lost.
	claimTime = 3 * time.Second
)

// Execute runs one attempt: claim, hooks, tool, contract check, redaction. It is
// the only caller of a tool.
func (a *Activities) Execute(ctx context.Context, in contract.ExecuteIn) (contract.ExecuteOut, error) {
	started := time.Now()
	if in.Dispatch == 0 && !contract.Executing(ctx).Local {
		return contract.ExecuteOut{Outcome: contract.Unpermitted}, nil // an attempt without a claim is for the local lane
	}
	bound, ok := a.source.Get(in.Facts.ToolID)
	switch {
	case judge.IsNewerPlan(in.PlanVersion):
		return contract.ExecuteOut{Outcome: contract.NotHere, By: judge.PlanName(in.PlanVersion)}, nil
	case !ok:
		return contract.ExecuteOut{Outcome: contract.NotHere, By: "tool " + in.Facts.ToolID}, nil
	case bound.Digest() != in.Facts.ToolDigest:
		return contract.ExecuteOut{Outcome: contract.Changed}, nil
	}
	if a.config.Places.Expired(in) {
		return contract.ExecuteOut{Outcome: contract.Unleased}, nil
	}
	if name, lacks := a.hooks.Lacks(attemptInput(in)); lacks {
		return contract.ExecuteOut{Outcome: contract.NotHere, By: "hook " + name}, nil
	}
	allowed, ok, err := a.permits(ctx, in.Permit, in.Facts, in.Terms)
	switch {
	case err != nil:
		return a.unprovided(ctx, in, err), nil
	case !ok:
		a.log.WarnContext(ctx, "an attempt without a permit for what it is to execute was sent back to the gate",
			"invocationId", in.Facts.InvocationID, "toolId", in.Facts.ToolID, "tenantId", in.Facts.Context.TenantID)
		return contract.ExecuteOut{Outcome: contract.Unpermitted}, nil
	}
	if in.Dispatch == 0 {
		leave, ok := a.lane.enter(ctx, in.Facts.Context.TenantID)
		if !ok {
			a.log.WarnContext(ctx, "the local lane has no room for the tenant; the attempt begins later", "tenantId", in.Facts.Context.TenantID, "toolId", in.Facts.ToolID)
			return contract.ExecuteOut{Outcome: contract.Undispatched}, nil
		}
		defer leave()
	}
	ctx, lacks := a.provided(ctx, in.Facts)
	if lacks != "" {
		return contract.ExecuteOut{Outcome: contract.NotHere, By: lacks}, nil
	}
	caps, err := capabilities(ctx, bound)
	if err != nil {
		return a.unprovided(ctx, in, err), nil
	}
	lease, out := a.lease(ctx, in, allowed.PolicyDigest, bound)
	if lease != nil {
		defer lease.Close()
		caps = caps.With(handed(lease, bound)...)
	}
	claimID := ""
	if out == nil && in.Dispatch > 0 {
		// Drawn here and nowhere earlier: what a workflow, an input or a marker holds,
		// two executions may share.
		claimID = rand.Text()
		out = a.claim(ctx, in, claimID, bound)
	}
	if out == nil {
		attempted := a.attempt(ctx, in, claimID, bound, caps)
		out = &attempted
	}
	out.ClaimID = claimID
	out.DurationUs = time.Since(started).Microseconds()
	return *out, nil
}

// unprovided follows what the attempt needs and does not get: nothing has begun,
// and nothing was claimed.
func (a *Activities) unprovided(ctx context.Context, in contract.ExecuteIn, err error) contract.ExecuteOut {
	a.log.ErrorContext(ctx, "the tool is not provided with what it needs", "invocationId", in.Facts.InvocationID, "toolId", in.Facts.ToolID,
		"errorType", fmt.Sprintf("%T", err), "reason", errs.Reason(err))
	if errs.IsTransient(err) {
		return contract.ExecuteOut{Outcome: contract.Undispatched}
	}
	return contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{
		Code: toolspec.CodeInternal, SafeMessage: "what the tool needs could not be provided",
	}}
}

func attemptInput(in contract.ExecuteIn) hook.AttemptInput {
	return hook.AttemptInput{Around: in.Around, WillExecute: in.WillExecute, DidExecute: in.DidExecute, Facts: in.Facts}
}

// claim writes down that the tool is about to run. Without the claim it does
// not; then claim says how the attempt ended.
//
// A claim whose answer is lost may have been written, so it is not asked for
// again here: only this process knows that the tool did not run, and it says so.
func (a *Activities) claim(ctx context.Context, in contract.ExecuteIn, claimID string, bound *catalog.Bound) *contract.ExecuteOut {
	row := ClaimRow{
		InvocationID: in.Facts.InvocationID, TenantID: in.Facts.Context.TenantID, ToolID: in.Facts.ToolID,
		Epoch: in.Epoch, Dispatch: in.Dispatch, ClaimID: claimID, Effect: bound.Definition().Effect,
		Repeatable: bound.Definition().Repeatable() && !in.Once, Answered: in.Answered,
		Runtime: time.Duration(in.MaxRuntimeMs) * time.Millisecond,
	}
	var err error
	if approval := in.Facts.Approval; approval != nil {
		row.ApprovalID = approval.ApprovalID
		// Of what runs now, and not as the history has it.
		row.ApprovalDigest, err = judge.ApprovalSubject(in.Facts).Digest()
	}
	var outcome contract.Outcome
	if err == nil {
		soon, cancel := context.WithTimeout(ctx, claimTime)
		defer cancel()
		outcome, err = a.records.Claim(soon, row)
	}
	if err != nil {
		a.log.WarnContext(ctx, "the claim has no answer; the tool is not run", "invocationId", in.Facts.InvocationID, "dispatch", in.Dispatch, "reason", errs.Reason(err))
		out := contract.ExecuteOut{Outcome: contract.Undispatched}
		if !errs.IsTransient(err) {
			out.Failure = &hook.Failure{Code: toolspec.CodeInternal}
		}
		return &out
	}
	if outcome == contract.Done {
		return nil
	}
	out := contract.ExecuteOut{Outcome: outcome}
	if outcome == contract.Killed {
		out.Outcome, out.Failure = contract.Refused, judge.KillFailure("")
	}
	if outcome == contract.Refused {
		out.Failure = &hook.Failure{Code: toolspec.CodeApprovalStale, Details: &toolspec.Details{ApprovalID: row.ApprovalID}}
	}
	return &out
}

// attempt runs hooks and tool within the budget. A tool that does not stop in
// time is left behind: its late answer is discarded.
func (a *Activities) attempt(ctx context.Context, in contract.ExecuteIn, claimID string, bound *catalog.Bound, caps toolspec.Capabilities) contract.ExecuteOut {
	ctx, latest := reporting(ctx, a.config.Secrets)
	budget, cancel := context.WithTimeout(ctx, time.Duration(in.MaxRuntimeMs)*time.Millisecond)
	defer cancel()
	go leaveInTime(ctx, budget, cancel)
	stopBeating := heartbeat.Send(ctx, latest)
	defer stopBeating()
	done := make(chan hook.AttemptVerdict, 1)
	go func() {
		done <- a.hooks.Attempt(budget, attemptInput(in), a.runner(in, bound, caps))
	}()
	select {
	case v := <-done:
		return a.judge(ctx, budget, in, claimID, bound, v)
	case <-budget.Done():
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v := <-done:
		return a.judge(ctx, budget, in, claimID, bound, v)
	case <-timer.C:
		a.log.WarnContext(ctx, "tool left behind: it did not stop in time", "toolId", bound.ID(), "invocationId", in.Facts.InvocationID)
		out := interrupted(ctx, budget)
		out.LeftBehind = true
		return out
	}
}

// runner is the innermost call: the tool. It does not start once the attempt is
// over.
func (a *Activities) runner(in contract.ExecuteIn, bound *catalog.Bound, caps toolspec.Capabilities) func(context.Context) (json.RawMessage, error) {
	call := a.callOf(in.Facts, in.Epoch, caps)
	return func(ctx context.Context) (out json.RawMessage, err error) {
		defer func() {
			if recovered := recover(); recovered != nil {
				out, err = nil, panicked(ctx, call, recovered)
			}
		}()
		// A hook that did not stop in time may get here when the call has long ended without this attempt.
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if bound.Definition().Heavy {
			// The other half of the time is the tool's.
			release, err := a.processors.acquire(ctx, time.Duration(in.MaxRuntimeMs)*time.Millisecond/2)
			if err != nil {
				return nil, err
			}
			defer release() // when the tool has ended, also one that was left behind
		}
		return bound.Tool().Run(ctx, in.Facts.Args, call)
	}
}

// callOf is what a tool learns of its call.
func (a *Activities) callOf(f hook.Facts, epoch int, caps toolspec.Capabilities) toolspec.Call {
	return toolspec.Call{
		ToolID: f.ToolID, ToolCallID: f.ToolCallID, InvocationID: f.InvocationID, IdempotencyKey: f.InvocationID,
		Attempt: f.Attempt, Epoch: epoch, Context: f.Context,
		Logger: a.log.With("toolId", f.ToolID, "toolCallId", f.ToolCallID, "invocationId", f.InvocationID, "runId", f.Context.RunID),
	}.WithCapabilities(caps)
}

// panicked turns what was recovered from a tool into an error; its text goes
// nowhere.
func panicked(ctx context.Context, call toolspec.Call, recovered any) error {
	call.Logger.ErrorContext(ctx, "tool panicked", "panicType", fmt.Sprintf("%T", recovered), "at", errs.Frames(debug.Stack()))
	return errPanicked
}

var errPanicked = errors.New("the tool panicked")

// judge turns what the attempt left into its answer. Raw output ends here.
func (a *Activities) judge(ctx, budget context.Context, in contract.ExecuteIn, claimID string, bound *catalog.Bound, v hook.AttemptVerdict) contract.ExecuteOut {
	out := contract.ExecuteOut{Outcome: contract.Done, Trace: v.Trace, By: v.By}
	switch {
	case v.Err != nil:
		f, retryable, answered := classify(v.Err)
		if budget.Err() != nil && !answered {
			stopped := interrupted(ctx, budget)
			stopped.Trace = v.Trace
			return stopped
		}
		a.log.LogAttrs(ctx, slog.LevelWarn, "tool failed", slog.String("toolId", bound.ID()), slog.String("toolCallId", in.Facts.ToolCallID),
			slog.String("invocationId", in.Facts.InvocationID), slog.String("code", string(f.Code)), slog.String("errorType", fmt.Sprintf("%T", v.Err)))
		out.Outcome, out.Failure, out.Retryable = contract.Refused, &f, retryable
		out.NothingHappened = f.Code == toolspec.CodeRateLimited
		return out
	case v.Transient && !v.Ran:
		// As if the attempt had never begun: it is made again.
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

// deliver checks the value against the contract, redacts it and finds it a
// place.
func (a *Activities) deliver(ctx context.Context, in contract.ExecuteIn, claimID string, bound *catalog.Bound, out contract.ExecuteOut, raw json.RawMessage) contract.ExecuteOut {
	refuse := func(code toolspec.Code, message string, details *toolspec.Details) contract.ExecuteOut {
		out.Outcome, out.Failure = contract.Refused, &hook.Failure{Code: code, SafeMessage: message, Details: details}
		return out
	}
	if problems := bound.ValidateOutput(raw); len(problems) > 0 {
		return refuse(toolspec.CodeOutputValidation, "", &toolspec.Details{Kind: problems[0].Kind})
	}
	value, err := bound.Redact(raw)
	if err != nil {
		return refuse(toolspec.CodeRedactionFailed, "", nil)
	}
	// Here and not only on the way out, for a large value is kept before that.
	value, ok := redact.JSON(value, a.config.Secrets)
	if !ok {
		return refuse(toolspec.CodeRedactionFailed, "", nil)
	}
	switch {
	case len(value) > in.MaxResultBytes:
		return refuse(toolspec.CodeResultTooLarge, fmt.Sprintf("The result is larger than %d bytes", in.MaxResultBytes), nil)
	case len(value) <= toolspec.MaxInline:
		out.Value = value
		return out
	}
	if out.OutputRef, err = a.save(ctx, OutputRow{
		InvocationID: in.Facts.InvocationID, TenantID: in.Facts.Context.TenantID, Dispatch: in.Dispatch, ClaimID: claimID, Value: value,
	}); err != nil {
		a.log.WarnContext(ctx, "a large result could not be kept", "invocationId", in.Facts.InvocationID, "dispatch", in.Dispatch, "reason", errs.Reason(err))
		return contract.ExecuteOut{Outcome: contract.Interrupted, Trace: out.Trace, Failure: &hook.Failure{
			Code: contract.CauseUnsaved, SafeMessage: "The tool ran, but its result could not be kept",
		}}
	}
	return out
}

// save keeps a large value. The tool has run, so a database that is away for a
// moment is worth a few more tries: without the value the outcome is unknown.
func (a *Activities) save(ctx context.Context, row OutputRow) (ref string, err error) {
	for try := range saveTries {
		if ref, err = a.records.SaveOutput(ctx, row); err == nil || !errs.IsTransient(err) {
			return ref, err
		}
		timer := time.NewTimer(saveDelay << try)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", err
		case <-timer.C:
		}
	}
	return "", err
}

// interrupted says that the tool gave no answer, and why it was stopped.
func interrupted(ctx, budget context.Context) contract.ExecuteOut {
	f := &hook.Failure{Code: toolspec.CodeTimeout}
	cause := context.Cause(ctx)
	switch {
	case cause == nil && errors.Is(budget.Err(), context.DeadlineExceeded):
	case heartbeat.Stopping(ctx):
		f.Code = contract.CauseStopped
	case cause == nil, errors.Is(cause, context.DeadlineExceeded):
	case errors.Is(cause, context.Canceled), temporal.IsCanceledError(cause):
		f.Code = toolspec.CodeCancelled
	default:
		f.Code = contract.CauseLost // not cancelled: not heard for too long, or not wanted any more
	}
	return contract.ExecuteOut{Outcome: contract.Interrupted, Failure: f}
}
