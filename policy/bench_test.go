package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// manyRules is a policy of 200 rules, of which 40 match the tool of call and
// evaluate a condition that does not hold.
func manyRules() string {
	var b strings.Builder
	b.WriteString("version: 1\ntenants:\n  acme:\n    allowedTools: [core__*]\n    mode: auto\n    roles: {admin: [\"user:*\"], bot: [\"agent:*\"]}\n    rules:\n")
	conditions := []string{
		`args.path.startsWith("/etc/%d")`, `args.content.size() > 100000 && args.path == "/%d"`, `"admin" in roles && args.path.endsWith("%d")`,
		`args.path.matches("^/secret/%d/[a-z]+$")`, `has(args.mode) && args.mode == %d`,
	}
	for i := range 200 {
		decision := []string{"deny", "require_approval", "allow", "deny"}[i%4]
		if i%5 != 0 {
			fmt.Fprintf(&b, "      - {tool: web__tool_%d*, decision: %s}\n", i, decision)
			continue
		}
		fmt.Fprintf(&b, "      - {tool: core__write_*, decision: %s, when: '%s'}\n", decision, fmt.Sprintf(conditions[i/5%len(conditions)], i))
	}
	return b.String()
}

// BenchmarkDecide: 200 rules, of which 40 match the tool and evaluate a condition
// (at most 20 µs).
func BenchmarkDecide(b *testing.B) {
	p := mustParse(b, manyRules())
	f := call()
	f.Args = json.RawMessage(`{"path":"/home/ann/notes.txt","content":"` + strings.Repeat("hello ", 40) + `"}`)
	if d := p.Decide(f); d.Verb != RequireApproval || d.Rule != "mode auto, risk medium" {
		b.Fatalf("%+v", d)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Decide(f)
	}
}
