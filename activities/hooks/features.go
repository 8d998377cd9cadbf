package hooks

import (
	"context"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// codeFeatureOff is the code in details of a call that a flag stops.
const codeFeatureOff = "feature_off"

// Features stops calls of tools whose feature is off, after consent and before
// any capacity is taken (LC-09). It stands on demand: a call on which no flag
// of the policy bears passes it by.
func Features(policies activities.Policies) hook.Hook {
	f := &features{policies: policies}
	return hook.New("features", hook.Builtin(), hook.OnDemand(), hook.WillCheckFeatureFlags.Do(f.check))
}

type features struct{ policies activities.Policies }

func (f *features) check(ctx context.Context, v *hook.Check) error {
	p, err := f.policies.Policy(ctx, v.PolicyDigest())
	if err != nil {
		return err
	}
	for _, feature := range p.Features(limitFacts(v)) {
		if !feature.On {
			return hook.Refuse(hook.Failure{
				Code: toolspec.CodeAborted, SafeMessage: feature.Message,
				Details: &toolspec.Details{Code: codeFeatureOff, Rule: feature.Source},
			})
		}
	}
	return nil
}
