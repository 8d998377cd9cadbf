package capacity

import (
	"context"

	"github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// codeFeatureOff is the code in the details of a call that a feature flag stops.
const codeFeatureOff = "feature_off"

// Features returns the step that stops calls of tools whose feature is off, before the call
// takes any capacity.
func Features(policies judge.Policies) stage.Table {
	return stage.Table{hook.WillCheckFeatureFlags.Stage(): {Before: func(ctx context.Context, in hook.StageInput) (hook.Verdict, error) {
		p, err := policies.Policy(ctx, in.Facts.PolicyDigest)
		if err != nil {
			return hook.Verdict{}, err
		}
		for _, feature := range p.Features(judge.LimitFacts(in.Facts)) {
			if !feature.On {
				return stage.Failed(hook.Failure{
					Code: toolspec.CodeAborted, SafeMessage: feature.Message,
					Details: &toolspec.Details{Code: codeFeatureOff, Rule: feature.Source},
				}), nil
			}
		}
		return hook.Verdict{}, nil
	}}}
}
