package attempt

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/pawl-run/pawl/activities/heartbeat"
	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/output"
	"github.com/pawl-run/pawl/activities/preview"
	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// beginTime bounds the write of a start event. The tool of a call whose run has watchers waits for this write.
const beginTime = time.Second

// Parts are the dependencies of attempts. All are required except PolicyEngines, Leases, Providers and Secrets.
type Parts struct {
	Store    Store
	Tools    judge.Source
	Hooks    *hook.Registry
	Keys     Keys
	Policies judge.Policies
	// PolicyEngines returns the engine that gives the verdicts of a policy version. It must be the same value as that
	// of the gate (gate.Parts). nil means Pawl's own engine.
	PolicyEngines policy.Engines
	Providers     providers.Providers
	// Leases leases the connection of a call. If it is nil, no tool has a connection.
	Leases Leaser
	// Previews makes a new preview if people have approved a preview, to compare the new one with the approved one.
	Previews *preview.Previews
	// Expired reports whether the call may have lost a slot that it held.
	Expired func(in contract.ExecuteIn) bool
	// LocalTools is how many tools of one tenant may run at the same time inside workflow tasks, in the local and
	// the claimed lane together; 0 sets no bound.
	LocalTools int
	// Secrets are the live secrets, which no result and no report may have; nil if there are
	// none.
	Secrets *fingerprint.Set
	Log     *slog.Logger
}

// Leaser leases the connection of a call to one attempt. If the call may not have the connection, out is the
// answer of the attempt. If the call has no connection, lease and out are nil. An error that a retry can
// correct is marked errs.Transient.
type Leaser interface {
	Lease(ctx context.Context, in contract.ExecuteIn, policyDigest string, bound *catalog.Bound) (lease *broker.Lease, out *contract.ExecuteOut, err error)
}

// Attempts runs tools, and asks their probes whether attempts took effect.
type Attempts struct {
	Parts

	// processors limits the heavy tools that run at the same time.
	processors processors
	// lane limits the tools of one tenant that run inside workflow tasks at the same time.
	lane    *lane
	outputs *output.Deliverer
}

// New returns the Attempts of a worker.
func New(p Parts) *Attempts {
	return &Attempts{Parts: p, processors: newProcessors(), lane: &lane{most: p.LocalTools}, outputs: &output.Deliverer{Store: p.Store, Secrets: p.Secrets}}
}

// Execute makes one attempt: it claims the dispatch, runs hooks and tool, checks the output
// against the contract of the tool and redacts it. No other function runs a tool.
func (a *Attempts) Execute(ctx context.Context, in contract.ExecuteIn) (contract.ExecuteOut, error) {
	started := time.Now()
	if in.Dispatch == 0 && !contract.Executing(ctx).Local {
		return contract.ExecuteOut{Outcome: contract.Unpermitted}, nil // an attempt without a claim is for the local lane
	}
	bound, ok := a.Tools.Find(in.Facts.ToolID, in.Facts.ToolDigest)
	switch {
	case judge.IsNewerPlan(in.PlanVersion):
		return contract.ExecuteOut{Outcome: contract.NotHere, By: judge.PlanName(in.PlanVersion)}, nil
	case !ok:
		return contract.ExecuteOut{Outcome: contract.NotHere, By: "tool " + in.Facts.ToolID}, nil
	case bound.Digest() != in.Facts.ToolDigest:
		return contract.ExecuteOut{Outcome: contract.Changed}, nil
	}
	if a.Expired(in) {
		return contract.ExecuteOut{Outcome: contract.Unleased}, nil
	}
	if name, lacks := a.Hooks.Lacks(attemptInput(in)); lacks {
		return contract.ExecuteOut{Outcome: contract.NotHere, By: "hook " + name}, nil
	}
	allowed, ok, err := a.verifyPermit(ctx, in.Permit, in.Facts, in.Terms, in.Dispatch > 0)
	switch {
	case err != nil:
		return a.neverStarted(ctx, in, err), nil
	case !ok:
		a.Log.WarnContext(ctx, "an attempt without a permit for what it is to execute was sent back to the gate",
			"invocationId", in.Facts.InvocationID, "toolId", in.Facts.ToolID, "tenantId", in.Facts.Context.TenantID)
		return contract.ExecuteOut{Outcome: contract.Unpermitted}, nil
	}
	subject := ""
	if contract.Executing(ctx).Local && in.Dispatch > 0 {
		if subject, err = allowed.subject(ctx, in.Facts, in.Terms); err != nil {
			return a.neverStarted(ctx, in, err), nil
		}
	}
	bound, failed := a.applyMasks(ctx, in, allowed.PolicyDigest, bound)
	if failed != nil {
		return *failed, nil
	}
	if contract.Executing(ctx).Local {
		leave, ok := a.lane.enter(ctx, in.Facts.Context.TenantID)
		if !ok {
			a.Log.WarnContext(ctx, "the local lane has no room for the tenant; the attempt begins later", "tenantId", in.Facts.Context.TenantID, "toolId", in.Facts.ToolID)
			return contract.ExecuteOut{Outcome: contract.Undispatched}, nil
		}
		defer leave()
	}
	ctx, lacks := a.Providers.Provide(ctx, in.Facts)
	if lacks != "" {
		return contract.ExecuteOut{Outcome: contract.NotHere, By: lacks}, nil
	}
	caps, err := providers.Capabilities(ctx, bound)
	if err != nil {
		return a.neverStarted(ctx, in, err), nil
	}
	previewed, stale := a.previewAgain(ctx, in, bound, caps)
	if stale != nil {
		return *stale, nil
	}
	lease, out := a.lease(ctx, in, allowed.PolicyDigest, bound)
	if lease != nil {
		defer lease.Close()
		caps = caps.With(leaseCapabilities(lease, bound)...)
	}
	claimID := ""
	if out == nil && in.Dispatch > 0 {
		// The id is made here and not earlier: two executions may share a workflow, an input or a
		// marker, so an id from one of these would not be unique.
		claimID = rand.Text()
		var kept *contract.ExecuteOut
		if kept, out = a.claim(ctx, in, claimID, subject, bound); kept != nil {
			return *kept, nil
		}
	}
	if out == nil && in.Watched && in.Dispatch == 0 {
		a.writeStartEvent(ctx, in)
	}
	if out == nil {
		if subject != "" {
			// ctx ends when the worker stops, but the next worker needs the kept answer. The new ctx has a time limit,
			// because the attempt takes up room in the lane until it ends.
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), time.Duration(in.MaxRuntimeMs)*time.Millisecond+afterTool)
			defer cancel()
		}
		// The attempt needs a random id also without a claim: nobody may guess the reference of a stored value.
		attempted := a.attempt(ctx, in, cmp.Or(claimID, rand.Text()), bound, caps, previewed)
		if subject != "" {
			a.keep(ctx, in, claimID, subject, attempted)
		}
		out = &attempted
	}
	out.ClaimID = claimID
	if subject != "" && claimID != "" {
		out.Dispatch = in.Dispatch
	}
	out.DurationUs = time.Since(started).Microseconds()
	return *out, nil
}

// applyMasks returns the tool with the masks of the policy version by which the gate decided. If this version
// does not let this definition of the tool run, failed is the answer of the attempt.
func (a *Attempts) applyMasks(ctx context.Context, in contract.ExecuteIn, policyDigest string, bound *catalog.Bound) (_ *catalog.Bound, failed *contract.ExecuteOut) {
	masked, failure, err := judge.Masked(ctx, a.Policies, policyDigest, in.Facts.Context.TenantID, bound)
	switch {
	case errors.Is(err, judge.ErrPolicyUnreadable):
		return nil, &contract.ExecuteOut{Outcome: contract.NotHere, By: "policy " + policyDigest}
	case err != nil:
		out := a.neverStarted(ctx, in, err)
		return nil, &out
	case failure != nil:
		return nil, &contract.ExecuteOut{Outcome: contract.Refused, Failure: failure}
	}
	// The gate may have run in a worker with another definition of this tool, or in an older release that does not know
	// registered tools.
	failure, err = judge.CheckReview(ctx, a.Policies, a.PolicyEngines, policyDigest, in.Facts, bound)
	switch {
	case errors.Is(err, judge.ErrReviewPending):
		return nil, &contract.ExecuteOut{Outcome: contract.NotHere, By: judge.PendingReview(bound.ID())}
	case err != nil:
		out := a.neverStarted(ctx, in, err)
		return nil, &out
	case failure != nil:
		a.Log.WarnContext(ctx, "an attempt was refused that the gate should not have permitted: nobody has reviewed the definition of the tool, or the tool is registered and allowedTools does not have it",
			"rule", failure.Details.Rule, "invocationId", in.Facts.InvocationID, "toolId", in.Facts.ToolID, "tenantId", in.Facts.Context.TenantID)
		return nil, &contract.ExecuteOut{Outcome: contract.Refused, Failure: failure}
	}
	return masked, nil
}

// previewAgain makes and returns a new preview if people have approved a preview of the call. If the new preview
// differs from the approved preview, or cannot be made, ended is the answer of the attempt. The tool has not
// started, and there is no claim.
func (a *Attempts) previewAgain(ctx context.Context, in contract.ExecuteIn, bound *catalog.Bound, caps toolspec.Capabilities) (_ *toolspec.Preview, ended *contract.ExecuteOut) {
	approval := in.Facts.Approval
	if approval == nil || approval.PreviewDigest == "" {
		return nil, nil
	}
	stop := heartbeat.Send[struct{}](ctx, nil)
	defer stop()
	previewed, err := a.Previews.Again(ctx, in.Facts, bound, caps, in.Epoch)
	switch {
	case err == nil:
		return previewed, nil
	case errs.IsTransient(err):
		out := a.neverStarted(ctx, in, err)
		return nil, &out
	case !errors.Is(err, toolspec.ErrStale):
		return nil, &contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{
			Code: toolspec.CodeInternal, SafeMessage: "the preview of the tool failed; the worker log has the cause",
		}}
	default:
		return nil, &contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{
			Code: toolspec.CodeApprovalStale, SafeMessage: staleMessage, Details: &toolspec.Details{ApprovalID: approval.ApprovalID},
		}}
	}
}

// lease leases the call's connection for one attempt. If it cannot, out is the answer of the attempt. If the
// call needs no lease, both results are nil.
func (a *Attempts) lease(ctx context.Context, in contract.ExecuteIn, policyDigest string, bound *catalog.Bound) (_ *broker.Lease, out *contract.ExecuteOut) {
	if a.Leases == nil {
		return nil, nil
	}
	lease, out, err := a.Leases.Lease(ctx, in, policyDigest, bound)
	if err != nil {
		out := a.neverStarted(ctx, in, err)
		return nil, &out
	}
	return lease, out
}

// leaseCapabilities returns the capabilities of a lease that the tool declares.
func leaseCapabilities(l *broker.Lease, bound *catalog.Bound) []toolspec.Provided {
	return slices.DeleteFunc(l.Provided(), func(p toolspec.Provided) bool {
		return !slices.Contains(bound.Definition().Capabilities, p.Name())
	})
}

// neverStarted returns the answer of an attempt that ends with err before its tool starts. There is no claim.
func (a *Attempts) neverStarted(ctx context.Context, in contract.ExecuteIn, err error) contract.ExecuteOut {
	a.Log.ErrorContext(ctx, "the tool is not provided with what it needs", "invocationId", in.Facts.InvocationID, "toolId", in.Facts.ToolID,
		"errorType", fmt.Sprintf("%T", err), "reason", errs.Reason(err))
	if errs.IsTransient(err) {
		return contract.ExecuteOut{Outcome: contract.Undispatched}
	}
	return contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{
		Code: toolspec.CodeInternal, SafeMessage: "a capability of the tool could not be provided; the worker log has the cause",
	}}
}

func attemptInput(in contract.ExecuteIn) hook.AttemptInput {
	return hook.AttemptInput{Around: in.Around, WillExecute: in.WillExecute, DidExecute: in.DidExecute, Facts: in.Facts}
}

// writeStartEvent writes the start event of a call without a claim. If the write fails, the attempt continues:
// settle writes the event if it is missing.
func (a *Attempts) writeStartEvent(ctx context.Context, in contract.ExecuteIn) {
	soon, cancel := context.WithTimeout(ctx, beginTime)
	defer cancel()
	err := a.Store.Begin(soon, BeginRow{
		InvocationID: in.Facts.InvocationID, TenantID: in.Facts.Context.TenantID, Epoch: in.Epoch, SafeArgs: in.Facts.SafeArgs,
	})
	if err != nil {
		a.Log.WarnContext(ctx, "the start of the call was not written for the watchers of its run", "invocationId", in.Facts.InvocationID, "reason", errs.Reason(err))
	}
}
