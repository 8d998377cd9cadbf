package policy

import (
	"os"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/rogpeppe/go-internal/txtar"
)

// FuzzParse: no text makes Parse panic; every fault has a position; what is
// accepted comes back the same from its stored form.
func FuzzParse(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/errors.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		f.Add(file.Data)
	}
	f.Add([]byte(DevelopmentYAML()))
	f.Add([]byte(plainDoc))
	f.Add([]byte(plainSource))
	f.Add([]byte(withRoles))
	if table, err := os.ReadFile("testdata/decisions.yaml"); err == nil {
		f.Add(table)
	}
	f.Add([]byte("version: 1\ntenants: {a: {allowedTools: [\"*\"], budgets: {deadlineMs: 1}, approvals: {expiresAfter: 1d, approvers: [\"u*\"]}}}"))
	f.Fuzz(func(t *testing.T, doc []byte) {
		p, err := Parse("policy.yaml", doc)
		if err != nil {
			policytest.CheckPositions(t, err, string(doc))
			return
		}
		again, err := Parse("stored", p.Source())
		if err != nil {
			t.Fatalf("the stored form is refused: %v\n%s", err, p.Source())
		}
		if string(again.Source()) != string(p.Source()) || again.Digest() != p.Digest() {
			t.Fatalf("the stored form changed:\n%s\n%s", p.Source(), again.Source())
		}
		for id := range p.tenants {
			facts := call()
			facts.TenantID = id
			if !reflect.DeepEqual(p.Decide(facts), again.Decide(facts)) {
				t.Fatal("the stored form decides otherwise")
			}
		}
	})
}
