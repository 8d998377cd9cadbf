package review

import (
	"slices"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
)

// Check compares the conditions of the rules with the input schemas of the tools that the rules match. It is an
// error to use an argument that none of these tools has, or an argument whose type, the same in all tools that
// have it, does not fit its use. Check does not check a rule that matches no tool of specs; Lint reports such a
// rule. The error is a strictyaml.Errors.
func Check(p *policy.Policy, specs []toolspec.Spec) error {
	var faults strictyaml.Errors
	checker := condition.NewChecker()
	specs = underReview(p, specs)
	for _, id := range p.Tenants() {
		seen := map[string]bool{}
		// The calls of this tenant cannot reach a tool that is registered for another tenant.
		callable := slices.DeleteFunc(slices.Clone(specs), func(s toolspec.Spec) bool { return toolspec.ForeignTool(id, s.Name) })
		for _, r := range p.Rules(id) {
			written, at := r.Condition()
			if written == nil || seen[r.Source] {
				continue
			}
			seen[r.Source] = true
			for _, f := range checker.Check(written, r.Matching(callable)) {
				faults = append(faults, policy.ConditionFault(at, f, r.Source))
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return faults.Sorted()
}

// underReview returns the tools with the effects and the risks of the policy's reviews, by which their calls are judged. A
// worker has published its tools without a review that is not active yet.
func underReview(p *policy.Policy, specs []toolspec.Spec) []toolspec.Spec {
	reviewed := slices.Clone(specs)
	for i, s := range specs {
		f := p.UnderReview(policy.Facts{}.Of(s))
		reviewed[i].Effect, reviewed[i].Risk = f.Effect, f.Risk
	}
	return reviewed
}
