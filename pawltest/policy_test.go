package pawltest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestCases: a file of cases is judged by the real schemas of the tools, whatever it declares.
func TestCases(t *testing.T) {
	t.Parallel()
	type address struct {
		To string `json:"to" jsonschema:"pattern=^[^<]*$"`
	}
	send := toolspec.Define(toolspec.Definition{
		ID: "mail__send", Description: "Sends a mail.", Version: "1", Effect: toolspec.ExternalSideEffect, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/to"}},
	}, func(_ context.Context, to address, _ toolspec.Call) (address, error) { return to, nil })
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("policy.yaml", `
version: 1
tenants:
  acme: {allowedTools: [core__*, mail__*], mode: ask, rules: [{tool: mail__send, decision: allow, when: 'args.to.endsWith("@acme.example")'}]}
`)
	right := write("right.yaml", `
policy: policy.yaml
tenant: acme
actor: agent:test
cases:
  - {tool: core__ls, args: {}, verdict: require_approval}
  - {name: at home, tool: mail__send, args: {to: ann@acme.example}, verdict: allow}
`)
	Cases(t, right, send)
	// A case without a tenant has that of the command line, and one without an actor is named by its tool.
	none := write("none.yaml", "policy: policy.yaml\ncases: [{tool: core__ls, verdict: require_approval}]\n")
	Cases(t, none, send)
	if list := trials(t, none, []toolspec.Tool{send}); list[0].name != "core__ls" {
		t.Errorf("the name is %q", list[0].name)
	}
	wrong := trials(t, write("wrong.yaml", `
policy: policy.yaml
tenant: acme
actor: agent:test
tools:
  mail__send: {effect: external_side_effect, risk: low}
cases:
  - {tool: mail__send, args: {to: "<eve@evil.example> ann@acme.example"}, verdict: allow}
  - {tool: mail__send, args: {to: eve@evil.example}, verdict: allow}
  - {tool: mail__read, verdict: deny}
`), []toolspec.Tool{send})
	for i, want := range []string{"wrong.yaml:8: the arguments are not valid for mail__send", "wrong.yaml:9: the verdict is require_approval, want allow", `no worker has published "mail__read"`} {
		if got := strings.Join(wrong[i].problems, "\n"); !strings.Contains(got, want) {
			t.Errorf("case %d: %q, want %q", i, got, want)
		}
	}
}
