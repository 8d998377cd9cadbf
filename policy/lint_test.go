package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/rogpeppe/go-internal/txtar"
	"pgregory.net/rapid"
)

// testdata/lint.txtar holds triples of a policy and what is found in it.
func TestLint(t *testing.T) {
	const file = "testdata/lint.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	specs := readSpecs(t, archive.Files[0].Data)
	for i, f := range archive.Files {
		name, isPolicy := strings.CutSuffix(f.Name, ".yaml")
		if !isPolicy {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := mustParse(t, string(f.Data))
			for j, known := range [][]toolspec.Spec{nil, specs} {
				var got strings.Builder
				for _, e := range p.Lint(known) {
					got.WriteString(e.Error() + "\n")
				}
				if want := &archive.Files[i+1+j]; *update {
					want.Data = []byte(got.String())
				} else if got.String() != string(want.Data) {
					t.Errorf("%s: got\n%swant\n%s", want.Name, got.String(), want.Data)
				}
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A rule of which Lint says that it never decides never does, whatever the call.
func TestLintIsRight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, f := genDocument().Draw(t, "doc"), genFacts().Draw(t, "facts")
		p := parsed(t, d)
		decided := p.Decide(f)
		for _, found := range p.Lint(nil) {
			rule, _, _ := strings.Cut(decided.Rule, " (")
			if found.Path == rule && strings.HasPrefix(found.Reason, "never decides") {
				t.Fatalf("%s decided: %v", decided.Rule, found)
			}
		}
	})
}
