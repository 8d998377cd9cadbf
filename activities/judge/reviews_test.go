package judge

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestCheckReview: an attempt judges the definition that it will run, whatever the gate has seen and the facts
// of the call say.
func TestCheckReview(t *testing.T) {
	type in struct{}
	type out struct {
		Text string `json:"text"`
	}
	digest := strings.Repeat("a", 64)
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntenants: {acme: {allowedTools: ['*'], mode: yolo}}\n"+
		"mcp: {github: {create_issue: {digest: "+digest+", effect: state_change, risk: low, allow: [/text]}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	review, _ := p.Review("github", "create_issue")
	policies := judgetest.Policies{p.Digest(): p}
	for name, tc := range map[string]struct {
		id         string
		discovered *toolspec.Discovered
		policy     string
		denied     bool
		err        error
	}{
		"no tool of a server": {"github__create_issue", nil, judgetest.Away, false, nil},
		"reviewed":            {"mcp__github__create_issue", &toolspec.Discovered{Digest: digest, Review: review.ReviewDigest()}, p.Digest(), false, nil},
		"not followed yet":    {"mcp__github__create_issue", &toolspec.Discovered{Digest: digest}, p.Digest(), false, ErrReviewPending},
		"changed":             {"mcp__github__create_issue", &toolspec.Discovered{Digest: "b", Review: review.ReviewDigest()}, p.Digest(), true, nil},
		"unreviewed":          {"mcp__github__close_issue", &toolspec.Discovered{Digest: digest, Review: review.ReviewDigest()}, p.Digest(), true, nil},
		"without a policy":    {"mcp__github__create_issue", &toolspec.Discovered{Digest: digest, Review: review.ReviewDigest()}, "", true, nil},
	} {
		bound, err := catalog.Bind(toolspec.Define(toolspec.Definition{
			ID: tc.id, Description: "x", Effect: toolspec.StateChange, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Discovered: tc.discovered,
		}, func(context.Context, in, toolspec.Call) (out, error) { return out{}, nil }), toolspec.Capabilities{})
		if err != nil {
			t.Fatal(err)
		}
		facts := hook.Facts{ToolID: tc.id, Context: toolspec.Context{TenantID: "acme"}, Discovered: &toolspec.Discovered{Digest: digest, Review: review.ReviewDigest()}}
		failure, err := CheckReview(t.Context(), policies, nil, tc.policy, facts, bound)
		if (failure != nil) != tc.denied || !errors.Is(err, tc.err) {
			t.Errorf("%s: %+v, %v", name, failure, err)
		}
		if failure != nil && (failure.Code != toolspec.CodePolicyDenied || failure.Details.Rule != "mcp") {
			t.Errorf("%s: %+v", name, failure)
		}
		if tc.discovered != nil {
			if _, err := CheckReview(t.Context(), policies, nil, judgetest.Away, facts, bound); !errs.IsTransient(err) {
				t.Errorf("%s, without a database: %v", name, err)
			}
		}
	}
}

// TestCheckRegistered: an attempt of a registered tool is refused if policy allows it only by the pattern *, as
// the gate of an older release may do.
func TestCheckRegistered(t *testing.T) {
	type in struct{}
	type out struct {
		Text string `json:"text"`
	}
	parse := func(allowed string) *policy.Policy {
		p, err := policy.Parse("policy.yaml", []byte("version: 1\ntenants: {acme: {allowedTools: ["+allowed+"], mode: yolo}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	all, named := parse("'*'"), parse("'tenant-*'")
	policies := judgetest.Policies{all.Digest(): all, named.Digest(): named}
	engines := func(*policy.Policy) policy.Engine { return nil }
	for name, tc := range map[string]struct {
		id      string
		policy  *policy.Policy
		engines policy.Engines
		denied  bool
	}{
		"named":              {"tenant-acme__a", named, nil, false},
		"not named":          {"tenant-acme__a", all, nil, true},
		"an engine decides":  {"tenant-acme__a", all, engines, false},
		"foreign":            {"tenant-globex__a", named, nil, true},
		"foreign, an engine": {"tenant-globex__a", named, engines, true},
		"of no tenant":       {"shop__a", all, nil, false},
	} {
		bound, err := catalog.Bind(toolspec.Define(toolspec.Definition{ID: tc.id, Description: "x", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/text"}}},
			func(context.Context, in, toolspec.Call) (out, error) { return out{}, nil }), toolspec.Capabilities{})
		if err != nil {
			t.Fatal(err)
		}
		failure, err := CheckReview(t.Context(), policies, tc.engines, tc.policy.Digest(), hook.Facts{ToolID: tc.id, Context: toolspec.Context{TenantID: "acme"}}, bound)
		if err != nil || (failure != nil) != tc.denied || failure != nil && failure.Details.Rule != "allowedTools" {
			t.Errorf("%s: %+v, %v", name, failure, err)
		}
	}
}
