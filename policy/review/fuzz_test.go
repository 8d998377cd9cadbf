package review

import (
	"os"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/policy/strictyaml"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzReview: each policy that is accepted can be checked, compared and explained, and everything
// that is found in it has a position.
func FuzzReview(f *testing.F) {
	for _, file := range []string{"testdata/check.txtar", "testdata/lint.txtar"} {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range archive.Files {
			f.Add(part.Data)
		}
	}
	table, err := os.ReadFile("../testdata/decisions.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(table)
	f.Add([]byte(policy.DevelopmentYAML()))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := policy.Parse("policy.yaml", doc)
		if err != nil {
			return
		}
		specs := []toolspec.Spec{{Name: "core__write_file", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, InputSchema: anyInput}}
		if err := Check(p, specs); err != nil {
			policytest.CheckPositions(t, err, string(doc))
		}
		for _, found := range Lint(p, specs) {
			policytest.CheckPositions(t, strictyaml.Errors{found}, string(doc))
		}
		if changes := Diff(p, p); changes != nil {
			t.Fatalf("differs from itself: %+v", changes)
		}
		Warnings(p)
		for _, id := range p.Tenants() {
			facts := policy.Facts{TenantID: id, ActorID: "agent:a", HasArgs: true, Args: []byte(`{}`)}.Of(specs[0])
			if x := Explain(p, facts); x.Text() == "" || x.Decision.Rule != p.Decide(facts).Rule {
				t.Fatalf("explains %+v", x)
			}
		}
	})
}
