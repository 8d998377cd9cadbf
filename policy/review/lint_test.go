package review

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy/policytest"
	"github.com/pawl-run/pawl/toolspec"
	"pgregory.net/rapid"
)

// testdata/lint.txtar holds triples of a policy and what is found in it.
func TestLint(t *testing.T) {
	g := policytest.ReadGoldens(t, "testdata/lint.txtar", "yaml", "plain", "tools")
	specs := readSpecs(t, g.Files[0].Data)
	g.Each(t, func(t *testing.T, doc []byte) (found []string) {
		p := mustParse(t, string(doc))
		for _, known := range [][]toolspec.Spec{nil, specs} {
			var got strings.Builder
			for _, e := range Lint(p, known) {
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
		d, f := policytest.Documents().Draw(t, "doc"), genFacts().Draw(t, "facts")
		p := compiled(t, d)
		decided := p.Decide(f)
		for _, found := range Lint(p, nil) {
			rule, _, _ := strings.Cut(decided.Rule, " (")
			if found.Path == rule && strings.HasPrefix(found.Reason, "never decides") {
				t.Fatalf("%s decided: %v", decided.Rule, found)
			}
		}
	})
}

// Reviews of an MCP server that no worker has are found, and those of others are not.
func TestLintFindsAServerThatNoWorkerHas(t *testing.T) {
	specs := []toolspec.Spec{{Name: "mcp__files__read", ProvidedBy: "files", Discovered: &toolspec.Discovered{Digest: anyDigest}}}
	review := "{read: {digest: " + anyDigest + ", effect: read_only, risk: low, allow: [/content]}}"
	p := mustParse(t, acme("    allowedTools: [mcp__files__read]\n")+"mcp: {files: "+review+", fils: "+review+"}\n")
	if found := Lint(p, specs); len(found) != 1 || !strings.Contains(found[0].Error(), "mcp.fils: no worker has a tool of this MCP server") {
		t.Errorf("a server that no worker has: %v", found)
	}
	if found := Lint(p, nil); len(found) != 0 {
		t.Errorf("without known tools: %v", found)
	}
}

// A rule that was saved for a tool which is named otherwise is found.
func TestLintFindsARuleForNoTool(t *testing.T) {
	specs := []toolspec.Spec{{Name: "core__write_file", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk}}
	p := mustParse(t, acme("    allowedTools: [\"*\"]\n    rules: [{tool: core__writefile, decision: deny}]\n"))
	if found := Lint(p, specs); len(found) != 1 {
		t.Errorf("a rule for no tool: %v", found)
	}
}
