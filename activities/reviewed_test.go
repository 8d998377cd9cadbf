package activities_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestAnAttemptChecksTheReview: an attempt does not run a definition that nobody has reviewed, in both lanes,
// even with a permit of the gate. It makes no claim (MCP_UNTRUSTED_BY_DEFAULT in docs/internals/invariants.md).
func TestAnAttemptChecksTheReview(t *testing.T) {
	digest := strings.Repeat("a", 64)
	rules := openPolicy + "mcp: {github: {create_issue: {digest: " + digest + ", effect: state_change, risk: medium, allow: [/text]}}}\n"
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	review, _ := p.Review("github", "create_issue")
	for name, tc := range map[string]struct {
		id         string
		discovered toolspec.Discovered
		want       contract.Outcome
	}{
		"reviewed":         {"mcp__github__create_issue", toolspec.Discovered{Digest: digest, Review: review.ReviewDigest()}, contract.Done},
		"unreviewed":       {"mcp__github__close_issue", toolspec.Discovered{Digest: digest, Review: review.ReviewDigest()}, contract.Refused},
		"changed":          {"mcp__github__create_issue", toolspec.Discovered{Digest: "b", Review: review.ReviewDigest()}, contract.Refused},
		"not followed yet": {"mcp__github__create_issue", toolspec.Discovered{Digest: digest}, contract.NotHere},
	} {
		for _, dispatch := range []int{0, 2} {
			w := newWorld(t, setup{policy: rules, def: func(d *toolspec.Definition) { d.ID, d.Discovered = tc.id, &tc.discovered }})
			in := w.executeIn()
			in.Dispatch = dispatch
			got := w.execute(t.Context(), t, in)
			ran := tc.want == contract.Done
			if got.Outcome != tc.want || (w.runs == 1) != ran || (len(w.records.claims) == 1) != (ran && dispatch > 0) {
				t.Errorf("%s, dispatch %d: %+v, %d runs, %d claims", name, dispatch, got, w.runs, len(w.records.claims))
			}
			switch {
			case tc.want == contract.Refused && (got.Failure.Code != toolspec.CodePolicyDenied || got.Retryable):
				t.Errorf("%s: %+v", name, got)
			case tc.want == contract.NotHere && got.By != "the reviewed definition of "+tc.id:
				t.Errorf("%s: %+v", name, got)
			}
		}
	}
}
