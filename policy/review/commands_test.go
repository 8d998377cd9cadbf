package review

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

// TestScripts: lint points out allow rules that do not reach scripts, and explain says why a rule is not for a script.
func TestScripts(t *testing.T) {
	t.Parallel()
	p, err := policy.Parse("p.yaml", []byte(`version: 1
tenants:
  acme:
    allowedTools: [core__*]
    mode: auto
    rules:
      - {tool: core__*, decision: allow}
      - {tool: core__read, commands: [git status], decision: allow}
      - {tool: core__shell, commands: [git status], decision: allow}
`))
	if err != nil {
		t.Fatal(err)
	}
	shell := toolspec.Spec{Name: "core__shell", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk, ScriptArg: "command"}
	read := toolspec.Spec{Name: "core__read", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk}
	var found []string
	for _, fault := range Lint(p, []toolspec.Spec{shell, read}) {
		found = append(found, fault.Error())
	}
	if len(found) != 2 || !strings.Contains(found[0], "rules[0]: does not allow core__shell, which runs scripts") || !strings.Contains(found[1], "rules[1]: never decides: it names commands") {
		t.Errorf("lint finds\n%s", strings.Join(found, "\n"))
	}
	for args, want := range map[string]string{
		`{"command":"git status"}`: "its commands cover the script", `{"command":"git push"}`: "its commands do not cover the script", ``: "its commands need the arguments",
	} {
		x := Explain(p, policy.Facts{TenantID: "acme", ActorID: "agent:a", Args: json.RawMessage(args), HasArgs: args != ""}.Of(shell))
		if text := x.Text(); !strings.Contains(text, want) || !strings.Contains(text, "the tool runs scripts, and the rule names no commands") {
			t.Errorf("of %s it explains\n%s", args, text)
		}
	}
}
