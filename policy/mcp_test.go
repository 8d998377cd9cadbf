package policy

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

var (
	digestA = strings.Repeat("a", 64)
	digestB = strings.Repeat("b", 64)
)

const createIssue = "mcp__github__create_issue"

// reviewedDoc is a policy of the most careless kind for acme, with a review of one tool.
func reviewedDoc(review string) string {
	return acme("    allowedTools: ['*']\n    mode: yolo\n    rules: [{tool: '*', decision: allow}]\n    overrides: [{tool: '*', mode: yolo}]\n") + review
}

func review(digest, risk string) string {
	return "mcp: {github: {create_issue: {digest: " + digest + ", effect: external_side_effect, risk: " + risk + ", allow: [/text]}}}\n"
}

// TestDiscoveredToolsNeedAReview: no rule, mode or override lets a discovered tool run without the review
// of exactly its definition (MCP_UNTRUSTED_BY_DEFAULT, MC-02, MC-05).
func TestDiscoveredToolsNeedAReview(t *testing.T) {
	trusted := mustParse(t, reviewedDoc(review(digestA, "low")))
	r, ok := trusted.Review("github", "create_issue")
	if !ok || r.Digest != digestA || r.Allow[0] != "/text" {
		t.Fatalf("%+v %v", r, ok)
	}
	for name, tc := range map[string]struct {
		policy     string
		toolID     string
		discovered *toolspec.Discovered
		state      ReviewState
		verb       Verb
		rule       string
		visible    catalog.Visibility
	}{
		"written by a person":      {reviewedDoc(""), createIssue, nil, NeedsNoReview, Allow, "tenants.acme.rules[0]", catalog.Visible},
		"without a review":         {reviewedDoc(""), createIssue, &toolspec.Discovered{Digest: digestA}, Unreviewed, Deny, "mcp", catalog.Hidden},
		"of a server that says so": {reviewedDoc(""), createIssue, &toolspec.Discovered{Digest: digestA, Review: r.ReviewDigest()}, Unreviewed, Deny, "mcp", catalog.Hidden},
		"of another tool":          {reviewedDoc(review(digestA, "low")), "mcp__github__close_issue", &toolspec.Discovered{Digest: digestA}, Unreviewed, Deny, "mcp", catalog.Hidden},
		"of another server":        {reviewedDoc(review(digestA, "low")), "mcp__hubgit__create_issue", &toolspec.Discovered{Digest: digestA}, Unreviewed, Deny, "mcp", catalog.Hidden},
		"in another namespace":     {reviewedDoc(review(digestA, "low")), "github__create_issue", &toolspec.Discovered{Digest: digestA}, Unreviewed, Deny, "mcp", catalog.Hidden},
		"changed":                  {reviewedDoc(review(digestB, "low")), createIssue, &toolspec.Discovered{Digest: digestA, Review: r.ReviewDigest()}, Changed, Deny, "mcp", catalog.Hidden},
		"without a digest":         {reviewedDoc(review(digestA, "low")), createIssue, &toolspec.Discovered{Review: r.ReviewDigest()}, Changed, Deny, "mcp", catalog.Hidden},
		"not yet followed":         {reviewedDoc(review(digestA, "low")), createIssue, &toolspec.Discovered{Digest: digestA}, Pending, Allow, "tenants.acme.rules[0]", catalog.Hidden},
		"followed as it was":       {reviewedDoc(review(digestA, "high")), createIssue, &toolspec.Discovered{Digest: digestA, Review: r.ReviewDigest()}, Pending, Allow, "tenants.acme.rules[0]", catalog.Hidden},
		"reviewed":                 {reviewedDoc(review(digestA, "low")), createIssue, &toolspec.Discovered{Digest: digestA, Review: r.ReviewDigest()}, Reviewed, Allow, "tenants.acme.rules[0]", catalog.Visible},
		"reviewed, of no tenant": {acme("    allowedTools: [core__*]\n    mode: yolo\n") + review(digestA, "low"), createIssue,
			&toolspec.Discovered{Digest: digestA, Review: r.ReviewDigest()}, Reviewed, Deny, "allowedTools", catalog.Hidden},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustParse(t, tc.policy)
			spec := toolspec.Spec{Name: tc.toolID, Effect: toolspec.ExternalSideEffect, Risk: toolspec.LowRisk, Discovered: tc.discovered}
			if got := p.ReviewOf(spec.Name, spec.Discovered); got != tc.state {
				t.Errorf("%q, want %q", got, tc.state)
			}
			f := call().Of(spec)
			wantVerb(t, p.Decide(f), tc.verb, tc.rule)
			if d := p.Trace(f); d.Decision.Verb != tc.verb || (len(d.Rules) == 0) != (tc.verb == Deny) {
				t.Errorf("traced %+v", d)
			}
			if got := p.Visible(catalog.Viewer{TenantID: "acme", ActorID: "agent:a"}, spec); got != tc.visible {
				t.Errorf("visible %v, want %v", got, tc.visible)
			}
		})
	}
	none := (*Policy)(nil)
	if got := none.ReviewOf(createIssue, &toolspec.Discovered{}); got != Unreviewed {
		t.Errorf("without a policy: %q", got)
	}
	if _, ok := none.Review("github", "create_issue"); ok || none.Reviews("github") != nil {
		t.Error("no policy has a review")
	}
}

// TestReviewDecidesEffectAndRisk: what a definition says of itself does not matter, because a
// definition that does not follow its review may say anything.
func TestReviewDecidesEffectAndRisk(t *testing.T) {
	p := mustParse(t, acme("    allowedTools: ['*']\n    mode: auto\n    requireApprovalForEffects: [external_side_effect]\n")+review(digestA, "high"))
	d := p.Decide(call().Of(toolspec.Spec{Name: createIssue, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Discovered: &toolspec.Discovered{Digest: digestA}}))
	wantVerb(t, d, RequireApproval, "requireApprovalForEffects")
	if d.Risk != toolspec.HighRisk {
		t.Errorf("risk %q", d.Risk)
	}
}

// TestAnnotationsRaiseTheRisk: a definition that follows its review keeps the risk that the annotations of its server have raised.
func TestAnnotationsRaiseTheRisk(t *testing.T) {
	p := mustParse(t, acme("    allowedTools: ['*']\n    mode: auto\n")+review(digestA, "low"))
	r, _ := p.Review("github", "create_issue")
	d := p.Decide(call().Of(toolspec.Spec{
		Name: createIssue, Effect: r.Effect, Risk: toolspec.HighRisk, Discovered: &toolspec.Discovered{Digest: digestA, Review: r.ReviewDigest()},
	}))
	wantVerb(t, d, RequireApproval, "mode auto, risk high")
	if d.Risk != toolspec.HighRisk {
		t.Errorf("risk %q", d.Risk)
	}
}

// TestReviewDigest: every part of a review is in its digest, and layout is not.
func TestReviewDigest(t *testing.T) {
	digest := func(fields string) string {
		r, _ := mustParse(t, reviewedDoc("mcp:\n  github:\n    create_issue: {"+fields+"}\n")).Review("github", "create_issue")
		return r.ReviewDigest()
	}
	base := "digest: " + digestA + ", effect: state_change, risk: low, allow: [/a]"
	seen := map[string]string{digest(base): "base"}
	if seen[digest("allow: ['/a'], idempotent: false, risk: low, effect: state_change, digest: '"+digestA+"'")] != "base" {
		t.Error("layout changes the digest")
	}
	for _, fields := range []string{
		strings.Replace(base, digestA, digestB, 1), strings.Replace(base, "state_change", "read_only", 1), strings.Replace(base, "low", "high", 1),
		strings.Replace(base, "/a", "/b", 1), base + ", idempotent: true", base + ", harmlessNames: [token]",
	} {
		d := digest(fields)
		if seen[d] != "" || len(d) != 64 {
			t.Errorf("%s has the digest of %s", fields, seen[d])
		}
		seen[d] = fields
	}
}
