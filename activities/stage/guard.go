package stage

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/output"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	stored "github.com/pawl-run/pawl/toolspec/output"
)

// loadWhole returns the input of a stage. At stages that may change the output or the cached value of the call, or
// answer with it, the input then has the whole value instead of the short form that the workflow has.
func (r *Runner) loadWhole(ctx context.Context, in hook.StageInput) (hook.StageInput, error) {
	info, _ := hook.InfoOf(in.Stage)
	if info.Phase != hook.PhaseOutput && in.Stage != hook.DidCacheHit.Stage() {
		return in, nil
	}
	f := &in.Facts
	for _, of := range []struct {
		value *json.RawMessage
		info  toolspec.OutputInfo
	}{{&f.Output, f.OutputInfo}, {&f.Cached, f.CachedInfo}} {
		whole, err := r.Outputs.Whole(ctx, f.Context.TenantID, *of.value, of.info)
		if err != nil {
			r.Log.ErrorContext(ctx, "a stored output could not be read", "stage", string(in.Stage), "invocationId", f.InvocationID, "reason", errs.Reason(err))
			return in, err
		}
		*of.value = whole
	}
	return in, nil
}

// guard makes a verdict ready to leave the worker: it masks the arguments in it, and redacts, shortens and stores
// its values (output.Deliverer). A value that the tool could not have returned fails the call.
func (r *Runner) guard(ctx context.Context, in hook.StageInput, v hook.Verdict) (hook.Verdict, error) {
	d := &v.Delta
	if d.Args == nil && d.SafeArgs == nil && d.Cached == nil && d.Output == nil && v.Value == nil {
		return v, nil
	}
	bound, ok := r.Tools.Find(in.Facts.ToolID, in.Facts.ToolDigest)
	if !ok {
		return hook.Verdict{Outcome: hook.Missing, By: "tool " + in.Facts.ToolID}, nil
	}
	failed := func(f hook.Failure) (hook.Verdict, error) {
		f.Details = &toolspec.Details{Stage: string(in.Stage)}
		return hook.Verdict{Outcome: hook.Failed, By: cmp.Or(v.By, "redaction"), DurationUs: v.DurationUs, Failure: &f}, nil
	}
	switch {
	case d.SafeArgs != nil:
		safe, err := bound.SafeArgs(d.SafeArgs)
		if err != nil {
			return failed(hook.Failure{Code: toolspec.CodeRedactionFailed, SafeMessage: "the arguments could not be redacted"})
		}
		d.SafeArgs = safe
	case d.Args != nil:
		// Arguments that the tool does not accept must not be shown.
		if _, safe, failure := r.Validate(bound, d.Args); failure == nil {
			d.SafeArgs = safe
		}
	}
	if d.Cached == nil && d.Output == nil && v.Value == nil {
		return v, nil
	}
	bound, failure, err := judge.Masked(ctx, r.Policies, in.Facts.PolicyDigest, in.Facts.Context.TenantID, bound)
	switch {
	case errors.Is(err, judge.ErrPolicyUnreadable):
		return hook.Verdict{Outcome: hook.Missing, By: "policy " + in.Facts.PolicyDigest, Unread: true}, nil
	case err != nil:
		return hook.Verdict{}, err
	case failure != nil:
		return failed(*failure)
	}
	for _, of := range []struct {
		value       *json.RawMessage
		info        *toolspec.OutputInfo
		isChallenge bool // a challenge is not a value of the tool
	}{{&d.Cached, &d.CachedInfo, false}, {&v.Value, &v.ValueInfo, v.Challenge}, {&d.Output, &d.OutputInfo, in.Facts.Challenge}} {
		if *of.value == nil || of.isChallenge {
			continue
		}
		failure, err := r.deliver(ctx, in, bound, of.value, of.info)
		if err != nil {
			return hook.Verdict{}, err
		}
		if failure != nil {
			return failed(*failure)
		}
	}
	return v, nil
}

// deliver replaces a value by the redacted and shortened form that may leave the worker. An error is transient.
func (r *Runner) deliver(ctx context.Context, in hook.StageInput, bound *catalog.Bound, value *json.RawMessage, info *toolspec.OutputInfo) (*hook.Failure, error) {
	short, described, failure, err := r.Outputs.Deliver(ctx, bound, output.Value{Origin: output.FromHook, MaxBytes: in.MaxResultBytes, Row: output.Row{
		InvocationID: in.Facts.InvocationID, TenantID: in.Facts.Context.TenantID, ClaimID: rand.Text(), Value: *value,
	}})
	if err != nil {
		r.Log.WarnContext(ctx, "a large value of a hook could not be kept", "stage", string(in.Stage), "invocationId", in.Facts.InvocationID, "reason", errs.Reason(err))
		if errors.Is(err, stored.ErrQuota) {
			return &hook.Failure{Code: toolspec.CodeOutputQuota}, nil
		}
		if errs.IsTransient(err) || ctx.Err() != nil {
			return nil, err
		}
		return &hook.Failure{Code: toolspec.CodeInternal, SafeMessage: "the value of a hook could not be stored"}, nil
	}
	*value, *info = short, described
	return failure, nil
}
