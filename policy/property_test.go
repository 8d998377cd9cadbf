package policy

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/condition"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

func parsed(t *rapid.T, d document.Document) *Policy {
	p, err := Parse("policy.json", document.Canonical(d))
	if err != nil {
		t.Fatalf("parse:\n%v\n%s", err, document.Canonical(d))
	}
	return p
}

// strictness orders the verdicts; what is none of them is a fault.
func strictness(t *rapid.T, v Verb) int {
	i := slices.Index([]Verb{Allow, RequireApproval, Deny}, v)
	if i < 0 {
		t.Fatalf("verb %q", v)
	}
	return i
}

// The precondition, written another way than Pattern.Matches.
func TestNothingOutsideAllowedToolsOrToolIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, f := policytest.Documents().Draw(t, "doc"), genFacts().Draw(t, "facts")
		listed := false
		for _, p := range d.Tenants["acme"].AllowedTools {
			n := strings.Index(string(p), "*")
			listed = listed || n < 0 && f.ToolID == string(p) || n >= 0 && len(f.ToolID) >= n && f.ToolID[:n] == string(p)[:n]
		}
		ofRun := len(f.ToolIDs) == 0 || slices.Contains(f.ToolIDs, f.ToolID)
		got := parsed(t, d).Decide(f)
		if got.Verb != Deny && (!listed || !ofRun) {
			t.Fatalf("%s by %s", got.Verb, got.Rule)
		}
	})
}

func TestAddingARestrictionNeverLoosens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, f := policytest.Documents().Draw(t, "doc"), genFacts().Draw(t, "facts")
		extra := policytest.Rules().Draw(t, "extra")
		if extra.Decision == Allow {
			extra.Decision = Deny
		}
		before := parsed(t, d).Decide(f)
		after := parsed(t, policytest.WithRule(d, rapid.IntRange(0, 6).Draw(t, "at"), extra)).Decide(f)
		if strictness(t, after.Verb) < strictness(t, before.Verb) {
			t.Fatalf("%s became %s by %+v", before.Verb, after.Verb, extra)
		}
	})
}

// C-17 and C-18: what has to be asked is never simply allowed.
func TestAllowIsNeverGivenWhereSomeoneMustBeAsked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, f := policytest.Documents().Draw(t, "doc"), genFacts().Draw(t, "facts")
		p := parsed(t, d)
		got := p.Decide(f)
		f = p.UnderReview(f) // of a reviewed tool, its review has the effect
		mustAsk := f.Repaired || f.NoSchema || slices.Contains(d.Tenants["acme"].AskFor, f.Effect)
		if got.Verb == Allow && mustAsk || got.Verb == RequireApproval && !got.Approval.Enabled {
			t.Fatalf("%s by %s", got.Verb, got.Rule)
		}
		if slices.Index(riskOrder, got.Risk) < slices.Index(riskOrder, f.Risk) {
			t.Fatalf("risk %s became %s", f.Risk, got.Risk)
		}
	})
}

var riskOrder = []toolspec.Risk{toolspec.LowRisk, toolspec.MediumRisk, toolspec.HighRisk}

// A verdict without arguments that is not undetermined stands, whatever the
// arguments make of the conditions.
func TestDeterminedVerdictsStand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, f := policytest.Documents().Draw(t, "doc"), genFacts().Draw(t, "facts")
		p := parsed(t, d)
		conds := make([]predicate, len(d.Tenants["acme"].Rules))
		for i := range conds {
			answer := rapid.SampledFrom([]condition.Truth{no, yes, failed, undetermined}).Draw(t, "answer")
			conds[i] = rapid.SampledFrom([]predicate{on(answer), on(answer), always(answer), nil}).Draw(t, "condition")
		}
		setConditions(p, conds...)
		with := p.Decide(f)
		f.HasArgs = false
		without := p.Decide(f)
		switch {
		case with.Undetermined:
			t.Fatal("undetermined with arguments")
		case without.Undetermined && without.Verb != RequireApproval:
			t.Fatalf("undetermined and %s", without.Verb)
		case !without.Undetermined && without.Verb != with.Verb:
			t.Fatalf("%s by %s became %s by %s", without.Verb, without.Rule, with.Verb, with.Rule)
		}
	})
}

func TestSourceGivesTheSamePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, f := policytest.Documents().Draw(t, "doc"), genFacts().Draw(t, "facts")
		p := parsed(t, d)
		again, err := Parse("stored", p.Source())
		if err != nil {
			t.Fatal(err)
		}
		if again.Digest() != p.Digest() || !reflect.DeepEqual(again.Decide(f), p.Decide(f)) || !reflect.DeepEqual(again.Limits(f), p.Limits(f)) ||
			!reflect.DeepEqual(again.Features(f), p.Features(f)) || !reflect.DeepEqual(again.Roles("acme", f.ActorID), p.Roles("acme", f.ActorID)) {
			t.Fatal("another policy came back")
		}
	})
}
