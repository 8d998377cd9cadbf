package review

import (
	"cmp"
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

// testdata/explain.txtar holds pairs of a call and its explanation.
func TestExplain(t *testing.T) {
	g := policytest.ReadGoldens(t, "testdata/explain.txtar", "json", "text")
	p := mustParse(t, string(g.Files[0].Data))
	g.Each(t, func(t *testing.T, call []byte) []string {
		var in struct {
			Tenant, Actor, Tool string
			Effect              toolspec.Effect
			Risk                toolspec.Risk
			Args                json.RawMessage
		}
		if err := json.Unmarshal(call, &in); err != nil {
			t.Fatal(err)
		}
		facts := policy.Facts{
			TenantID: cmp.Or(in.Tenant, "acme"), ActorID: in.Actor, ToolID: cmp.Or(in.Tool, "core__write_file"), RunID: "r1",
			Effect: cmp.Or(in.Effect, toolspec.StateChange), Risk: cmp.Or(in.Risk, toolspec.MediumRisk), Args: in.Args, HasArgs: in.Args != nil,
		}
		return []string{Explain(p, facts).Text()}
	})
}

// The explanation is of the decision that Decide makes: it names the same rule,
// and all before it in the precedence do not apply, but for rules that ask as it does.
func TestExplainAgreesWithDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, f := policytest.Documents().Draw(t, "doc"), genFacts().Draw(t, "facts")
		f.HasArgs = rapid.IntRange(0, 4).Draw(t, "known") > 0
		p := compiled(t, d)
		x, want := Explain(p, f), p.Decide(f)
		if x.Decision.Verb != want.Verb || x.Decision.Rule != want.Rule || x.Decision.Risk != want.Risk {
			t.Fatalf("explains %+v, decided is %+v", x.Decision, want)
		}
		// Of the rules that ask, a later one decides if it names who approves.
		decides, asking := "", false
		for _, c := range x.Rules {
			switch {
			case c.Role == Decides && decides == "":
				decides = c.Rule
				if asking && c.Says != string(policy.RequireApproval) {
					t.Fatalf("%s beats a rule that asks", c.Rule)
				}
			case c.Role == Decides:
				t.Fatal("two rules decide")
			case c.Role == Beaten && decides == "" && c.Says == string(policy.RequireApproval):
				asking = true
			case c.Role == Beaten && decides == "" && !want.Undetermined:
				t.Fatalf("%s is beaten by nothing", c.Rule)
			}
		}
		switch {
		case len(x.Rules) == 0:
			if want.Verb != policy.Deny {
				t.Fatal("no rule was considered")
			}
		case want.Undetermined:
			if decides != "" {
				t.Fatalf("%s decides what is not determined", decides)
			}
		case decides != want.Rule:
			t.Fatalf("%q decides, by %q", decides, want.Rule)
		}
		if x.Text() == "" {
			t.Fatal("no text")
		}
	})
}
