package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// TestProposal: the proposed review of a definition that has changed allows only what its output still has, and keeps the other decisions.
func TestProposal(t *testing.T) {
	t.Parallel()
	const output = `{"type":"object","properties":{"text":{"type":"string"},"size":{"type":"integer"}}}`
	reviewed := func(allow ...string) *policy.MCPReview {
		return &policy.MCPReview{Digest: "old", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Allow: allow}
	}
	for name, c := range map[string]struct {
		review *policy.MCPReview
		state  policy.ReviewState
		output string
		allow  []string
	}{
		"without a review":            {nil, policy.Unreviewed, output, []string{"/size", "/text"}},
		"of an output without fields": {nil, policy.Unreviewed, `{"type":"object"}`, []string{""}},
		"changed":                     {reviewed("/text", "/url"), policy.Changed, output, []string{"/text"}},
		"nothing of it is left":       {reviewed("/url"), policy.Changed, output, []string{"/size", "/text"}},
		"changed to no fields":        {reviewed("/text", "/url"), policy.Changed, `{"type":"object"}`, []string{"/text", "/url"}},
		"in the policy already":       {reviewed("/text", "/url"), policy.Pending, output, []string{"/text", "/url"}},
	} {
		f := found{State: c.state, Digest: "new", Review: c.review, spec: toolspec.Spec{OutputSchema: json.RawMessage(c.output)}}
		want := policy.MCPReview{Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk}
		var before []string
		if c.review != nil {
			want, before = *c.review, slices.Clone(c.review.Allow)
		}
		got := proposal(f)
		if got.Digest != "new" || got.Effect != want.Effect || got.Risk != want.Risk || !slices.Equal(got.Allow, c.allow) {
			t.Errorf("%s: %+v, want %q", name, got, c.allow)
		}
		if c.review != nil && !slices.Equal(c.review.Allow, before) {
			t.Errorf("%s: the review of the policy is %q now", name, c.review.Allow)
		}
	}
}

// TestUnknownDefinition: a reviewed definition that is not stored may have been deleted, so its review is no forgery.
func TestUnknownDefinition(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	shown{found: found{State: policy.Changed, Review: &policy.MCPReview{Digest: "old"}}, Unknown: true}.printChanges(&b)
	if !strings.Contains(b.String(), "(old) is not stored: it was never published, or deleted because no worker has it any more") {
		t.Error(b.String())
	}
}
