package review

import (
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/policytest"
	"pgregory.net/rapid"
)

// mustParse compiles a document whose correctness is not the question.
func mustParse(t testing.TB, doc string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(doc))
	if err != nil {
		t.Fatalf("parse:\n%v\n%s", err, doc)
	}
	return p
}

func compiled(t *rapid.T, d document.Document) *policy.Policy {
	p, err := policy.Parse("policy.json", document.Canonical(d))
	if err != nil {
		t.Fatalf("parse:\n%v\n%s", err, document.Canonical(d))
	}
	return p
}

// acme is a document for tenant acme, whose entry has the given lines.
func acme(lines string) string {
	return "version: 1\ntenants:\n  acme:\n" + lines
}

// genFacts draws calls of the tenant acme.
func genFacts() *rapid.Generator[policy.Facts] {
	return rapid.Custom(func(t *rapid.T) policy.Facts {
		f := policy.Facts{
			TenantID: "acme", ActorID: rapid.SampledFrom([]string{"user:ann", "agent:a", ""}).Draw(t, "actor"), RunID: "r", ToolID: policytest.Tools().Draw(t, "call"),
			Effect: policytest.Effects().Draw(t, "effect"), Risk: policytest.Risks().Draw(t, "declared"), HasArgs: true, Args: []byte(policytest.Args().Draw(t, "args")),
			Repaired: rapid.IntRange(0, 4).Draw(t, "repaired") == 0, NoSchema: rapid.IntRange(0, 4).Draw(t, "no schema") == 0,
		}
		if rapid.IntRange(0, 3).Draw(t, "narrowed") == 0 {
			f.ToolIDs = rapid.SliceOf(policytest.Tools()).Draw(t, "tool ids")
		}
		return f
	})
}
