package policy_test

import (
	"fmt"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
)

func ExamplePolicy_Decide() {
	p, err := policy.Parse("policy.yaml", []byte(`
version: 1
tenants:
  acme:
    allowedTools: [core__*]
    mode: auto
    rules:
      - {tool: core__shell, decision: deny, message: no shells here}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range []policy.Facts{
		{ToolID: "core__read_file", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk},
		{ToolID: "core__write_file", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk},
		{ToolID: "core__shell", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk},
		{ToolID: "mail__send", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk},
	} {
		f.TenantID = "acme"
		d := p.Decide(f)
		fmt.Printf("%s: %s by %s\n", f.ToolID, d.Verb, d.Rule)
	}
	// Output:
	// core__read_file: allow by mode auto, risk low
	// core__write_file: require_approval by mode auto, risk medium
	// core__shell: deny by tenants.acme.rules[0]
	// mail__send: deny by allowedTools
}

func ExampleParse() {
	_, err := policy.Parse("policy.yaml", []byte("version: 1\ntenants:\n  acme:\n    allowedTools: [core__*]\n    mode: always\n"))
	fmt.Println(err)
	// Output: policy.yaml:5:11: tenants.acme.mode: must be yolo, auto or ask
}
