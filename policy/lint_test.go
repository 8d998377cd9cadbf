package policy

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

// testdata/lint.txtar holds triples of a policy and what is found in it.
func TestLint(t *testing.T) {
	g := readGoldens(t, "testdata/lint.txtar", "yaml", "plain", "tools")
	specs := readSpecs(t, g.Files[0].Data)
	g.each(t, func(t *testing.T, doc []byte) (found []string) {
		p := mustParse(t, string(doc))
		for _, known := range [][]toolspec.Spec{nil, specs} {
			var got strings.Builder
			for _, e := range p.Lint(known) {
				got.WriteString(e.Error() + "\n")
			}
			found = append(found, got.String())
		}
		return found
	})
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
