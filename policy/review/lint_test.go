package review

import (
	"slices"
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

// TestLintWithRelations: a role that a relation gives has holders whom the policy does not name, and each tenant of * has its own.
func TestLintWithRelations(t *testing.T) {
	p := mustParse(t, acme("    allowedTools: [\"*\"]\n    roles: {lead: [user:ann]}\n    approvals: {approvers: [\"role:lead\", \"role:cfo\"], quorum: 2}\n")+
		"  \"*\":\n    allowedTools: [\"*\"]\n    approvals: {approvers: [\"role:cfo\"]}\n")
	const some = "tenants.*.approvals.approvers: role:cfo has no members in roles, so only a relation can give it"
	for name, tc := range map[string]struct {
		related func(tenantID, role string) bool
		want    []string
	}{
		"not known":       {nil, []string{"tenants.acme.approvals.approvers: role:cfo has no members in roles, so only a relation can give it", some}},
		"of another role": {func(_, role string) bool { return role == "lead" }, []string{"tenants.acme.approvals.approvers: nobody has role:cfo: it has no members in roles, and no relation gives it", some}},
		"of the role":     {func(tenantID, role string) bool { return tenantID == "acme" && role == "cfo" }, []string{some}},
	} {
		var got []string
		for _, found := range LintWithRelations(p, nil, tc.related) {
			got = append(got, found.Path+": "+found.Reason)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
	const few = "    allowedTools: [\"*\"]\n    roles: {lead: [user:ann]}\n    approvals: {approvers: [\"role:lead\"], quorum: 2}\n"
	for name, tc := range map[string]struct {
		related func(tenantID, role string) bool
		want    string
	}{
		"not known": {nil, "unless a relation gives a role to more people, no call can be approved"},
		"no":        {func(string, string) bool { return false }, "is one person: no call can be approved"},
		"yes":       {func(string, string) bool { return true }, ""},
	} {
		got := ""
		for _, found := range LintWithRelations(mustParse(t, acme(few)), nil, tc.related) {
			got += found.Reason
		}
		if (got == "") != (tc.want == "") || !strings.HasSuffix(got, tc.want) {
			t.Errorf("a quorum, given %s: got %q", name, got)
		}
	}
}
