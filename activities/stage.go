package activities

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// Stage runs the hooks of one stage. Whatever they answer with, find in a cache
// or turn the output into goes through the allowlist again before it leaves: no
// hook can bring a field back.
func (a *Activities) Stage(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
	if newer(in.PlanVersion) {
		return hook.Verdict{Outcome: hook.Missing, By: planName(in.PlanVersion)}, nil
	}
	if v := a.stopped(ctx, in); v != nil {
		return *v, nil
	}
	if a.unreadable(ctx, in) {
		return hook.Verdict{Outcome: hook.Missing, By: "policy " + in.Facts.PolicyDigest, Unread: true}, nil
	}
	asked := time.Now()
	recalled, err := a.recall(ctx, in)
	if err != nil {
		return hook.Verdict{}, err
	}
	in.Facts.Bindings = append(in.Facts.Bindings, recalled...)
	ctx, lacks := a.provided(ctx, in.Facts)
	// A stage that only looks does without.
	if info, _ := hook.InfoOf(in.Stage); lacks != "" && info.Failure == hook.Closed {
		return hook.Verdict{Outcome: hook.Missing, By: lacks}, nil
	}
	v, err := a.runHooks(ctx, in)
	if err == nil {
		a.shadow(ctx, in, &v)
		if asks(in.Stage) && v.Outcome == hook.Continue {
			a.places.took(in.Facts.InvocationID, asked)
		}
		if factory, lacks := a.lacks(v.Delta.Bindings); lacks {
			return unknownFactory(in, factory, v), nil
		}
		v.Delta.Bindings = append(recalled, v.Delta.Bindings...)
		err = a.keep(ctx, in, &v)
	}
	if err != nil {
		return v, err
	}
	if v.Outcome == hook.Missing {
		v.By = "hook " + v.By
		return v, nil
	}
	if v.Delta.Args != nil && v.Delta.SafeArgs == nil {
		bound, ok := a.source.Get(in.Facts.ToolID)
		if !ok {
			return hook.Verdict{Outcome: hook.Missing, By: "tool " + in.Facts.ToolID}, nil
		}
		// Of arguments that the tool does not accept nothing may be shown.
		if _, safe, failure := a.accepted(bound, v.Delta.Args); failure == nil {
			v.Delta.SafeArgs = safe
		}
	}
	guarded := []*json.RawMessage{&v.Delta.Cached}
	if !v.Challenge {
		guarded = append(guarded, &v.Value)
	}
	if !in.Facts.Challenge {
		guarded = append(guarded, &v.Delta.Output)
	}
	for _, value := range guarded {
		if *value == nil {
			continue
		}
		bound, ok := a.source.Get(in.Facts.ToolID)
		if !ok {
			return hook.Verdict{Outcome: hook.Missing, By: "tool " + in.Facts.ToolID}, nil
		}
		redacted, failure := guard(bound, in.Stage, *value)
		if failure != nil {
			return hook.Verdict{Outcome: hook.Failed, By: v.By, DurationUs: v.DurationUs, Failure: failure}, nil
		}
		*value = redacted
	}
	return v, nil
}

// unreadable reports whether this worker cannot judge the call: another one may,
// and nobody decides by a version that is no longer the active one.
func (a *Activities) unreadable(ctx context.Context, in hook.StageInput) bool {
	if in.Facts.PolicyDigest == "" { // the policy that denies everything
		return false
	}
	switch info, _ := hook.InfoOf(in.Stage); info.Phase {
	case hook.PhaseGate, hook.PhaseConsent, hook.PhaseCapacity:
		_, err := a.policies.Policy(ctx, in.Facts.PolicyDigest)
		return errors.Is(err, ErrPolicyUnreadable)
	default:
		return false
	}
}

// guard redacts and checks a value; the failure holds nothing of it.
func guard(bound *catalog.Bound, stage hook.Stage, value json.RawMessage) (json.RawMessage, *hook.Failure) {
	details := &toolspec.Details{Stage: string(stage)}
	redacted, err := bound.Redact(value)
	if err != nil {
		return nil, &hook.Failure{Code: toolspec.CodeRedactionFailed, Details: details}
	}
	if problems := bound.ValidateRedacted(redacted); len(problems) > 0 {
		return nil, &hook.Failure{Code: toolspec.CodeOutputValidation, SafeMessage: "a hook's value breaks the tool's output schema", Details: details}
	}
	return redacted, nil
}
