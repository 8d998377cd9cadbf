package review

import (
	"slices"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/toolspec"
)

func TestCases(t *testing.T) {
	c, err := ParseCases("cases.yaml", []byte(`
policy: policy.yaml
tenant: acme
actor: user:ann
tools:
  core__x: {effect: read_only, risk: low, tags: [pii, files], inputSchema: {type: object, properties: {n: {type: integer}}}}
  core__y: {effect: state_change, risk: high}
cases:
  - {tool: core__x, args: {n: 9007199254740993, r: 1.50, s: "1", l: [true, ~], o: {a: 1e3}}, verdict: allow}
  - {name: other, tool: core__y, tenant: globex, actor: user:bob, subject: user:cyd, run: r, connection: c, roles: [a], toolIds: [core__y], verdict: undetermined, rule: x, risk: high}
`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Policy != "policy.yaml" || len(c.List) != 2 || len(c.Tools) != 2 {
		t.Fatalf("%+v", c)
	}
	one, two := c.List[0], c.List[1]
	// Numbers are as they are written: what a call would be refused for is seen.
	if got, want := string(one.Facts.Args), `{"l":[true,null],"n":9007199254740993,"o":{"a":1e3},"r":1.50,"s":"1"}`; got != want {
		t.Errorf("args %s", got)
	}
	if one.Name != "core__x by user:ann" || one.Facts.TenantID != "acme" || !one.Facts.HasArgs || one.Line != 9 {
		t.Errorf("%+v", one)
	}
	f := two.Facts
	if two.Name != "other" || f.TenantID != "globex" || f.ActorID != "user:bob" || f.SubjectID != "user:cyd" || f.RunID != "r" || f.ConnectionID != "c" ||
		!slices.Equal(f.Roles, []string{"a"}) || !slices.Equal(f.ToolIDs, []string{"core__y"}) || f.HasArgs || two.Verdict != Undetermined || two.Rule != "x" || two.Risk != toolspec.HighRisk {
		t.Errorf("%+v", two)
	}
	if s, ok := c.Spec("core__y", []toolspec.Spec{{Name: "core__y", Risk: toolspec.LowRisk}}); !ok || s.Risk != toolspec.LowRisk {
		t.Error("what the author says goes before what workers say")
	}
	if s, ok := c.Spec("core__y", nil); !ok || s.Risk != toolspec.HighRisk {
		t.Error("what the author says does not count without a worker")
	}
	if _, ok := c.Spec("core__z", nil); ok {
		t.Error("a tool that nobody knows")
	}
}

// TestCaseOfADiscoveredTool: a case says which definition of a server it is about, so that it fails once the review is of another.
func TestCaseOfADiscoveredTool(t *testing.T) {
	c, err := ParseCases("cases.yaml", []byte("tools:\n  mcp__github__a: {effect: read_only, risk: low, digest: "+anyDigest+"}\ncases:\n  - {tool: mcp__github__a, tenant: acme, verdict: deny, rule: mcp}\n"))
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := c.Spec("mcp__github__a", nil)
	if spec.Discovered == nil || spec.Discovered.Digest != anyDigest {
		t.Fatalf("%+v", spec)
	}
	p := mustParse(t, acme("    allowedTools: ['*']\n    mode: yolo\n"))
	if d := c.List[0].Compare(p.Decide(c.List[0].Facts.Of(spec))); d != nil {
		t.Errorf("%+v", d)
	}
	with, err := p.WithReview("github", "a", policy.MCPReview{Digest: anyDigest, Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Allow: []string{"/text"}})
	if err != nil {
		t.Fatal(err)
	}
	if d := with.Decide(c.List[0].Facts.Of(spec)); d.Verb != policy.Allow {
		t.Errorf("%+v", d)
	}
}

func TestCompare(t *testing.T) {
	c := Case{Facts: policy.Facts{TenantID: "acme"}, Verdict: "deny", Rule: "rules[0]", Risk: toolspec.LowRisk}
	for _, tc := range []struct {
		d    policy.Decision
		want []Difference
	}{
		{policy.Decision{Verb: policy.Deny, Rule: "tenants.acme.rules[0]", Risk: toolspec.LowRisk}, nil},
		{policy.Decision{Verb: policy.Deny, Rule: "rules[0]", Risk: toolspec.LowRisk}, nil},
		{policy.Decision{Verb: policy.Allow, Rule: "tenants.beta.rules[0]", Risk: toolspec.HighRisk}, []Difference{
			{"verdict", "deny", "allow"}, {"rule", "rules[0]", "tenants.beta.rules[0]"}, {"risk", "low", "high"},
		}},
		{policy.Decision{Verb: policy.RequireApproval, Undetermined: true, Rule: "tenants.acme.rules[0]", Risk: toolspec.LowRisk}, []Difference{{"verdict", "deny", "undetermined"}}},
	} {
		if got := c.Compare(tc.d); !slices.Equal(got, tc.want) {
			t.Errorf("%+v: %+v", tc.d, got)
		}
	}
	if (Case{Verdict: "deny"}).Compare(policy.Decision{Verb: policy.Deny, Rule: "anything"}) != nil {
		t.Error("what is not asked for differs")
	}
}

func FuzzParseCases(f *testing.F) {
	f.Add([]byte("cases: [{tool: a__b, args: {n: 1}, verdict: deny}]\n"))
	f.Add([]byte("tools: {a__b: {effect: read_only, risk: low, inputSchema: {type: object}}}\ncases: [{tool: a__b, args: {n: {m: [1.5, ~, x]}}, verdict: deny, rule: r}]\n"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		c, err := ParseCases("policy.yaml", doc)
		if err != nil {
			policytest.CheckPositions(t, err, string(doc))
			return
		}
		for _, one := range c.List {
			one.Compare(policy.Development().Decide(one.Facts))
		}
	})
}
