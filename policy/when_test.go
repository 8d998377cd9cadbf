package policy

import (
	"encoding/json"
	"testing"
)

// The rules of a policy with conditions: what is not known or cannot be judged
// makes nothing easier.
func TestWhenDecides(t *testing.T) {
	doc := func(mode, rule string) *Policy {
		return mustParse(t, acme("    allowedTools: [core__*]\n    mode: "+mode+"\n    rules:\n      - "+rule+"\n"))
	}
	for _, c := range []struct {
		mode, rule, args string
		verb             Verb
		by               string
	}{
		{"yolo", `{tool: "*", when: 'args.path == "/x"', decision: deny}`, `{"path":"/x"}`, Deny, "tenants.acme.rules[0]"},
		{"yolo", `{tool: "*", when: 'args.path == "/x"', decision: deny}`, `{"path":"/y"}`, Allow, "mode yolo, risk medium"},
		{"yolo", `{tool: "*", when: 'args.path == "/x"', decision: deny}`, `{}`, Deny, "tenants.acme.rules[0] (its condition failed)"},
		{"yolo", `{tool: "*", when: 'args.path == "/x"', decision: require_approval}`, `{}`, RequireApproval, "tenants.acme.rules[0] (its condition failed)"},
		{"ask", `{tool: "*", when: 'args.path == "/x"', decision: allow}`, `{"path":"/x"}`, Allow, "tenants.acme.rules[0]"},
		{"ask", `{tool: "*", when: 'args.path == "/x"', decision: allow}`, `{}`, RequireApproval, "mode ask, risk medium"},
		{"yolo", `{tool: core__read_file, when: 'args.path == "/x"', decision: deny}`, `{}`, Allow, "mode yolo, risk medium"},
		{"auto", `{tool: "*", when: 'args.n > 100', risk: high}`, `{"n":101}`, RequireApproval, "mode auto, risk high"},
		{"auto", `{tool: "*", when: 'args.n > 100', risk: high}`, `{}`, RequireApproval, "mode auto, risk high"},
		{"yolo", `{tool: "*", when: 'args.n > 100', decision: require_approval, risk: high}`, `{"n":100.5}`, RequireApproval, "tenants.acme.rules[0]"},
	} {
		f := call()
		f.Args = json.RawMessage(c.args)
		wantVerb(t, doc(c.mode, c.rule).Decide(f), c.verb, c.by)
	}
	f := call()
	f.Args, f.HasArgs = nil, false
	d := doc("yolo", `{tool: "*", when: 'args.path == "/x"', decision: deny}`).Decide(f)
	if !d.Undetermined || d.Verb != RequireApproval {
		t.Errorf("before hydration: %+v", d)
	}
}
