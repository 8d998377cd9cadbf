package policy

import (
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

const commandRules = `version: 1
tenants:
  auto:
    allowedTools: [core__*]
    mode: auto
    approvals: {remember: {for: 1h, anyArgs: true}}
    rules:
      - {tool: "*", decision: allow}
      - {tool: core__shell, when: 'true', decision: allow}
      - {tool: core__*, commands: [git status, go test *], decision: allow}
      - {tool: core__*, commands: [make], when: 'args.cwd == "sub"', decision: allow}
      - {tool: core__shell, when: 'args.?command.orValue("") == "go test secret"', decision: deny}
  ask: {allowedTools: [core__*]}
  yolo: {allowedTools: [core__*], mode: yolo}
`

// TestCommands (PO-17): the question about a script is lifted by the mode yolo, and by an allow rule that names all of its commands, and by
// nothing else; other tools do not see rules that name commands.
func TestCommands(t *testing.T) {
	t.Parallel()
	p := mustParse(t, commandRules)
	shell := toolspec.Spec{Name: "core__shell", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk, ScriptArg: "command"}
	plain := toolspec.Spec{Name: "core__plain", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk}
	for _, c := range []struct {
		tenant string
		tool   toolspec.Spec
		args   string
		want   Verb
		rule   string
	}{
		{"auto", shell, `{"command":"git status"}`, Allow, "tenants.auto.rules[2]"},
		{"auto", shell, `{"command":"go test ./... && git status"}`, Allow, "tenants.auto.rules[2]"},
		{"auto", shell, `{"command":"git status; rm -rf x"}`, RequireApproval, "mode auto, risk high"},
		{"auto", shell, `{"command":"git status > x"}`, RequireApproval, "mode auto, risk high"},
		{"auto", shell, `{"command":"make","cwd":"sub"}`, Allow, "tenants.auto.rules[3]"},
		{"auto", shell, `{"command":"make","cwd":"other"}`, RequireApproval, "mode auto, risk high"},
		{"auto", shell, `{"command":"make"}`, RequireApproval, "mode auto, risk high"}, // its condition fails
		{"auto", shell, `{"command":["git","status"]}`, RequireApproval, "mode auto, risk high"},
		{"auto", shell, `{}`, RequireApproval, "mode auto, risk high"},
		{"auto", shell, `{"command":"go test secret"}`, Deny, "tenants.auto.rules[4]"},
		{"auto", plain, `{"command":"rm -rf x"}`, Allow, "tenants.auto.rules[0]"},
		{"ask", shell, `{"command":"git status"}`, RequireApproval, "mode ask, risk high"},
		{"yolo", shell, `{"command":"rm -rf x"}`, Allow, "mode yolo, risk high"},
	} {
		d := p.Decide(Facts{TenantID: c.tenant, ActorID: "agent:a", Args: json.RawMessage(c.args), HasArgs: true}.Of(c.tool))
		if d.Verb != c.want || d.Rule != c.rule {
			t.Errorf("%s, %s %s: %s by %s, want %s by %s", c.tenant, c.tool.Name, c.args, d.Verb, d.Rule, c.want, c.rule)
		}
		if d.Approval.RememberAnyArgs != (c.tenant == "auto" && c.tool.ScriptArg == "") {
			t.Errorf("%s, %s: an approval may be remembered for other arguments: %v", c.tenant, c.tool.Name, d.Approval.RememberAnyArgs)
		}
	}
	by := catalog.Viewer{TenantID: "auto", ActorID: "agent:a"}
	if v := p.Visible(by, shell); v != catalog.VisibleDepending {
		t.Errorf("before its script is known, the shell is %v", v)
	}
}

// TestLegalScriptArg: a tool that runs scripts asks by its risk.
func TestLegalScriptArg(t *testing.T) {
	t.Parallel()
	d := toolspec.Definition{
		ID: "a__b", Description: "x", Effect: toolspec.ReadOnly, Risk: toolspec.MediumRisk, MaxAttempts: 1, MaxArgsBytes: 1, MaxResultBytes: 1, ScriptArg: "command",
		Redaction: toolspec.Redaction{Allow: []string{"/x"}},
	}
	if d.Check() == nil {
		t.Error("a tool of medium risk runs scripts")
	}
	if d.Risk = toolspec.HighRisk; d.Check() != nil {
		t.Error(d.Check())
	}
}
