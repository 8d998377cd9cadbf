package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// The failures of others that this package must not have. Each test is named
// after what it prevents.

// An approver edits the arguments, and they are not judged by the rules of the
// tool again, or are judged as another text than what the tool gets.
func TestEditedArgumentsThatEscapeTheTargetToolsRules(t *testing.T) {
	p := mustParse(t, acme(`
    allowedTools: [core__*]
    mode: yolo
    rules:
      - {tool: core__write_file, when: args.path.startsWith("/etc/"), decision: deny}
      - {tool: core__write_file, when: args.path.startsWith("/srv/"), decision: require_approval}
      - {tool: core__write_file, decision: allow}
`))
	f := call()
	for _, c := range []struct {
		args string
		want Verb
	}{
		{`{"path":"/srv/x"}`, RequireApproval},
		{`{"path":"/etc/x"}`, Deny},
		{`{"path":"\/etc\/x"}`, Deny},
		{`{"path":"\u002fetc\u002fx"}`, Deny},
		{"{\n \"path\" : \"/etc/x\" }", Deny},
		{`{"p\u0061th":"/etc/x"}`, Deny},
		{`{"path":"/tmp","path":"/etc/x"}`, Deny}, // hydrate refuses it; the last one counts for a tool
		{`{"Path":"/tmp"}`, Deny},                 // path is not there, so nobody knows
		{`{"path":["/tmp"]}`, Deny},
		{`{"path":{"startsWith":true}}`, Deny},
		{`"{\"path\":\"/tmp\"}"`, Deny}, // a text is no object
		{``, Deny},
		{`{"path":"/tmp/x"}`, Allow},
	} {
		f.Args = json.RawMessage(c.args)
		if d := p.Decide(f); d.Verb != c.want {
			t.Errorf("%s: %s by %s", c.args, d.Verb, d.Rule)
		}
	}
	// For another tool, they are judged by its rules.
	f.ToolID, f.Args = "core__read_file", json.RawMessage(`{"path":"/etc/x"}`)
	wantVerb(t, p.Decide(f), Allow, "mode yolo, risk medium")
}

// A remembered "always allow", written first, is found first.
func TestADenyRuleThatAnEarlierAlwaysAllowHides(t *testing.T) {
	allows := []string{`{tool: "*", decision: allow}`, `{tool: core__write_file, decision: allow}`, `{tool: core__write_file, when: 'true', decision: allow}`}
	denies := []string{`{tool: "*", decision: deny}`, `{tool: core__write_file, when: args.path == "/x", decision: deny}`, `{tool: core__*, risks: [medium], decision: deny}`}
	for _, allow := range allows {
		for _, deny := range denies {
			for mode, pair := range map[string][2]string{"yolo": {allow, deny}, "ask": {deny, allow}} {
				p := mustParse(t, acme(fmt.Sprintf("    allowedTools: [core__*]\n    mode: %s\n    rules:\n      - %s\n      - %s\n", mode, pair[0], pair[1])))
				f := call()
				f.Args = json.RawMessage(`{"path":"/x"}`)
				if d := p.Decide(f); d.Verb != Deny {
					t.Errorf("%v: %s by %s", pair, d.Verb, d.Rule)
				}
				// Nor is the call let through before its arguments are known.
				f.HasArgs = false
				if d := p.Decide(f); d.Verb == Allow {
					t.Errorf("%v: allowed without arguments by %s", pair, d.Rule)
				}
			}
		}
	}
}

// A rule is stored in another form than it was meant in: as a pattern that its
// own call does not match, or that others match too.
func TestASavedRuleThatNeverMatchesOrMatchesTooMuch(t *testing.T) {
	others := []string{"core__write", "core__write_file2", "core__write_files", "core__write-file", "Core__write_file", "xcore__write_file", "web__core__write_file"}
	for _, c := range []struct {
		rule    string
		matches []string
	}{
		{`{tool: core__write_file, decision: deny}`, nil},
		{`{tool: "core__write_file*", decision: deny}`, []string{"core__write_file2", "core__write_files"}},
		{`{tool: "core__write_*", decision: deny}`, []string{"core__write_file2", "core__write_files"}},
		{`{tool: core__write_file, when: 'tool.id == "core__write_file"', decision: deny}`, nil},
		{`{tool: "*", when: 'tool.id.matches("^core__write_file$")', decision: deny}`, nil},
	} {
		written := mustParse(t, acme("    allowedTools: [\"*\"]\n    mode: yolo\n    rules:\n      - "+c.rule+"\n"))
		saved := mustParse(t, string(written.Source()))
		for _, p := range []*Policy{written, saved} {
			if d := p.Decide(call()); d.Verb != Deny {
				t.Errorf("%s does not match the call that it was saved for: %s", c.rule, d.Rule)
			}
			for _, id := range others {
				f := call()
				f.ToolID = id
				if want := slices.Contains(c.matches, id); (p.Decide(f).Verb == Deny) != want {
					t.Errorf("%s and %s: %s", c.rule, id, p.Decide(f).Rule)
				}
			}
		}
	}
	// What cannot match anything is refused; review.Lint finds what matches no tool.
	for _, bad := range []string{`{tool: "core__*_file", decision: deny}`, `{tool: "core__[a-z]*", decision: deny}`, `{tool: "core__write file", decision: deny}`, `{tool: ".*", decision: deny}`} {
		if _, err := Parse("policy.yaml", []byte(acme("    allowedTools: [\"*\"]\n    rules: ["+bad+"]\n"))); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
