package policy

import (
	"encoding/json"
	"testing"
)

// TestAskedIdentifiesTheRules: a remembered approval covers the rules that asked for it, so that
// other rules, one more rule and another mode have other digests, and other arguments have not.
func TestAskedIdentifiesTheRules(t *testing.T) {
	asked := func(mode, rules, args string) string {
		t.Helper()
		f := call()
		f.Args = json.RawMessage(args)
		d := mustParse(t, acme("    allowedTools: [core__*]\n    mode: "+mode+"\n    approvals: {remember: {for: 7d}}\n    rules: ["+rules+"]\n")).Decide(f)
		if d.Verb != RequireApproval || d.Asked == "" {
			t.Fatalf("decision %+v", d)
		}
		return d.Asked
	}
	const large = `{tool: "*", when: 'args.n > 100', decision: require_approval}`
	const huge = `{tool: "*", when: 'args.n > 1000', decision: require_approval}`
	one := asked("yolo", large+","+huge, `{"n":101}`)
	for name, same := range map[string]string{
		"other arguments": asked("yolo", large+","+huge, `{"n":999}`),
		"another mode":    asked("ask", large+","+huge, `{"n":101}`),
	} {
		if same != one {
			t.Errorf("%s: the digest differs", name)
		}
	}
	for name, other := range map[string]string{
		"one more rule":            asked("yolo", large+","+huge, `{"n":1001}`),
		"another rule":             asked("yolo", huge, `{"n":1001}`),
		"one more rule that fails": asked("yolo", large+`,{tool: "*", when: 'args.m > 1', decision: require_approval}`, `{"n":101}`),
		"the mode":                 asked("ask", large, `{"n":1}`),
		"the other mode":           asked("auto", large, `{"n":1}`),
	} {
		if other == one {
			t.Errorf("%s: the digest is the same", name)
		}
	}
	if asked("ask", large, `{"n":1}`) == asked("auto", large, `{"n":1}`) {
		t.Error("two modes have the same digest")
	}
}
