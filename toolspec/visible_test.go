package toolspec_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestVisible: a name that could be taken for another one, or for more than one, is refused; other scripts and single spaces are not.
func TestVisible(t *testing.T) {
	for _, ok := range []string{"user:ann", "agent:a b", "oidc:corp:ann@example.com", "user:Änne-✓", "user:安", "user:آن", "🦊", strings.Repeat("a", 200)} {
		if err := toolspec.CheckIdentity(ok); err != nil {
			t.Errorf("%q: %v", ok, err)
		}
	}
	for name, bad := range map[string]string{
		"empty": "", "leading space": " user:ann", "trailing space": "user:ann ", "two spaces": "agent:x  approved by user:ceo",
		"tab": "user:\tann", "line": "user:ann\n", "return": "user:ann\r", "escape": "user:\x1b[31m", "delete": "user:\x7f", "C1": "user:\u009b",
		"no-break space": "user:a\u00a0b", "em space": "user:a\u2003b", "ideographic space": "user:\u3000", "line separator": "user:\u2028",
		"right to left": "user:\u202etxt", "isolate": "user:\u2066a", "mark": "user:\u200fa", "Arabic letter mark": "user:\u061ca",
		"zero width": "user:a\u200bnn", "joiner": "user:a\u200dnn", "byte order mark": "user:\ufeffann", "word joiner": "user:\u2060",
		"soft hyphen": "user:a\u00adnn", "grapheme joiner": "user:a\u034fnn", "Hangul filler": "user:\u3164", "half filler": "user:\uffa0",
		"Khmer": "user:\u17b4", "variation": "a\ufe0f", "variation supplement": "a\U000e0100", "tag": "a\U000e0041", "blank": "user:\u2800",
		"not UTF-8": "user:\xff", "too long": strings.Repeat("a", 201),
	} {
		if err := toolspec.CheckIdentity(bad); err == nil {
			t.Errorf("%s: %q passes", name, bad)
		}
	}
}

// TestNamesEnter: every way that a name takes into a call holds it to that.
func TestNamesEnter(t *testing.T) {
	const posing = "agent:x  approved by user:ceo"
	for field, set := range map[string]func(*toolspec.Context){
		"actorId": func(c *toolspec.Context) { c.ActorID = posing }, "subjectId": func(c *toolspec.Context) { c.SubjectID = posing },
		"sessionId": func(c *toolspec.Context) { c.SessionID = posing }, "requestId": func(c *toolspec.Context) { c.RequestID = posing },
		"graphId": func(c *toolspec.Context) { c.GraphID = posing }, "connectionId": func(c *toolspec.Context) { c.ConnectionID = posing },
		"virtualKeyId": func(c *toolspec.Context) { c.VirtualKeyID = posing },
	} {
		inv := toolspec.Invocation{
			ToolID: "core__read", ToolCallID: "call-1", Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "agent:x"},
		}
		if err := inv.Check(); err != nil {
			t.Fatal(err)
		}
		set(&inv.Context)
		if err := inv.Check(); err == nil || !strings.Contains(err.Error(), "context."+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	d := toolspec.Decision{ApprovalID: toolspec.ApprovalID("a1977ae8-3a27-8980-8077-ad5b5a00e08d", 1), Decision: toolspec.Approve, Approver: posing}
	if err := d.Check(); err == nil || !strings.Contains(err.Error(), "approver") {
		t.Errorf("a decision: %v", err)
	}
	if err := d.CheckForm(); err != nil {
		t.Errorf("the form, which histories depend on: %v", err)
	}
	if err := toolspec.CheckConnectionID(posing); err == nil {
		t.Error("a connection passes")
	}
}

// TestQuoted: a name cannot pose as the words around it.
func TestQuoted(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "user:ann": "user:ann", "oidc:corp:ann@example.com": "oidc:corp:ann@example.com", "a/b_c.d-e": "a/b_c.d-e",
		"agent:x approved by user:ceo": `"agent:x approved by user:ceo"`, "user:anna, counted": `"user:anna, counted"`, "Änne": `"Änne"`,
		`a"b\c`: `"a\"b\\c"`, "a\u202eb": `"a\u202eb"`, "a\x1bb": `"a\u001bb"`, "\U000e0041": `"\U000e0041"`, "\xff": `"\xff"`, "a\ufffdb": `"a` + "\ufffd" + `b"`,
	} {
		if got := toolspec.Quoted(name); got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
	}
}
