package toolspec_test

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/toolspec"
)

func TestWorkflowID(t *testing.T) {
	for _, tc := range []struct {
		name, call, part string
	}{
		{"plain", "call-1", "call-1"},
		{"every allowed character", "aZ09_.-", "aZ09_.-"},
		{"a provider's invention", "functions.f:0", "~kuyvqhu3fzozgw4v2tw4c4jkoz"},
		{"a slash", "a/b", "~ywc3wubtkxjwgpnlododzynoc"},
		{"not ASCII", "wörk-✓", ""},
		{"120 characters", strings.Repeat("a", 120), strings.Repeat("a", 120)},
		{"121 characters", strings.Repeat("a", 121), ""},
		{"128 characters", strings.Repeat("a", 128), ""},
		{"what looks hashed is hashed", "~abc", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id := toolspec.Identity{TenantID: "acme", RunID: "run-1", ToolCallID: tc.call}
			want := tc.call
			if tc.part != tc.call {
				sum := sha256.Sum256([]byte(tc.call))
				want = "~" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
			}
			if got := id.WorkflowID(); got != "tool:acme:run-1:"+want {
				t.Errorf("got %s, want the call part %s", got, want)
			}
			if err := id.Check(); err != nil {
				t.Errorf("refused: %v", err)
			}
		})
	}
}

func TestIdentityCheck(t *testing.T) {
	fits := toolspec.Identity{TenantID: strings.Repeat("t", 48), RunID: strings.Repeat("r", 64), ToolCallID: strings.Repeat("é", 128)}
	for _, tc := range []struct {
		name   string
		change func(*toolspec.Identity)
		want   string
	}{
		{"the longest of everything", func(*toolspec.Identity) {}, ""},
		{"no tenant", func(id *toolspec.Identity) { id.TenantID = "" }, "context.tenantId is missing"},
		{"tenant of 49", func(id *toolspec.Identity) { id.TenantID += "t" }, "context.tenantId is longer than 48 characters"},
		{"tenant with a colon", func(id *toolspec.Identity) { id.TenantID = "a:b" }, "context.tenantId may hold only"},
		{"tenant with a slash", func(id *toolspec.Identity) { id.TenantID = "a/b" }, "context.tenantId may hold only"},
		{"tenant with NUL", func(id *toolspec.Identity) { id.TenantID = "a\x00b" }, "context.tenantId may hold only"},
		{"no run", func(id *toolspec.Identity) { id.RunID = "" }, "context.runId is missing"},
		{"run of 65", func(id *toolspec.Identity) { id.RunID += "r" }, "context.runId is longer than 64 characters"},
		{"run not ASCII", func(id *toolspec.Identity) { id.RunID = "é" }, "context.runId may hold only"},
		{"no call", func(id *toolspec.Identity) { id.ToolCallID = "" }, "toolCallId is missing"},
		{"call of 129", func(id *toolspec.Identity) { id.ToolCallID += "é" }, "toolCallId must be at most 128 characters"},
		{"call with a line end", func(id *toolspec.Identity) { id.ToolCallID = "a\nb" }, "toolCallId may hold only printable"},
		{"call that turns the text around", func(id *toolspec.Identity) { id.ToolCallID = "a\u202eb" }, "toolCallId may hold only printable"},
		{"call not UTF-8", func(id *toolspec.Identity) { id.ToolCallID = "\xff" }, "toolCallId must be"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id := fits
			tc.change(&id)
			sameError(t, id.Check(), tc.want)
		})
	}
}

// sameError checks that err begins with want; "" wants none.
func sameError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("got %q, want %q", err, want)
	}
}

var uuid8 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// TestIdentityProperties: an id that is accepted gives a workflow id that fits
// Temporal's column and needs no escaping, and an invocation id that is the
// masked hash of its parts.
func TestIdentityProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := toolspec.Identity{
			TenantID:   rapid.StringMatching(`[A-Za-z0-9_.-]{1,48}`).Draw(t, "tenant"),
			RunID:      rapid.StringMatching(`[A-Za-z0-9_.-]{1,64}`).Draw(t, "run"),
			ToolCallID: rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9_.:/ -]{1,128}`), rapid.StringN(1, 128, -1)).Draw(t, "call"),
		}
		if id.Check() != nil {
			t.Skip("not an identity")
		}
		wid := id.WorkflowID()
		if len(wid) > 255 || strings.Count(wid, ":") != 3 || strings.Contains(wid, "/") {
			t.Fatalf("workflow id %q of %d bytes", wid, len(wid))
		}
		sum := sha256.Sum256([]byte(id.TenantID + "\x00" + id.RunID + "\x00" + id.ToolCallID))
		u := fmt.Sprintf("%x-%x-8%s-", sum[:4], sum[4:6], fmt.Sprintf("%x", sum[6:8])[1:])
		inv := id.InvocationID()
		if !strings.HasPrefix(inv, u) || !strings.HasSuffix(inv, fmt.Sprintf("%x", sum[10:16])) || !uuid8.MatchString(inv) {
			t.Fatalf("invocation id %s, want %s…", inv, u)
		}
		if b := sum[8]&0x3f | 0x80; inv[19:23] != fmt.Sprintf("%02x%02x", b, sum[9]) {
			t.Fatalf("variant of %s, want %02x%02x", inv, b, sum[9])
		}
		if !toolspec.IsInvocationID(inv) {
			t.Fatalf("%s is not an invocation id to us", inv)
		}
		n := rapid.IntRange(1, 1<<31-1).Draw(t, "n")
		back, m, ok := toolspec.SplitApprovalID(toolspec.ApprovalID(inv, n))
		if !ok || back != inv || m != n {
			t.Fatalf("approval id of (%s, %d) came back as (%s, %d, %v)", inv, n, back, m, ok)
		}
	})
}

// TestPartsDoNotRunTogether: moving a character from one part to the next is
// another call.
func TestPartsDoNotRunTogether(t *testing.T) {
	a := toolspec.Identity{TenantID: "ab", RunID: "c", ToolCallID: "d"}
	for _, b := range []toolspec.Identity{{"a", "bc", "d"}, {"ab", "cd", "d"}, {"ab", "c", "D"}, {"c", "ab", "d"}} {
		if a.InvocationID() == b.InvocationID() || a.WorkflowID() == b.WorkflowID() {
			t.Errorf("%v and %v are one", a, b)
		}
	}
}

func TestSplitApprovalID(t *testing.T) {
	inv := toolspec.Identity{TenantID: "acme", RunID: "run-1", ToolCallID: "call-1"}.InvocationID()
	for _, tc := range []struct {
		id string
		n  int
	}{
		{inv + ".1", 1},
		{inv + ".12", 12},
		{inv + ".2147483647", 2147483647},
		{inv, 0},
		{inv + ".", 0},
		{inv + ".0", 0},
		{inv + ".01", 0},
		{inv + ".+1", 0},
		{inv + ".-1", 0},
		{inv + ". 1", 0},
		{inv + ".1 ", 0},
		{inv + ".1.1", 0},
		{inv + ".1e3", 0},
		{inv + ".0x1", 0},
		{inv + ".1_0", 0},
		{inv + ".１", 0},
		{inv + ".99999999999999999999", 0},
		{strings.ToUpper(inv) + ".1", 0},
		{inv[:35] + ".1", 0},
		{inv + "a.1", 0},
		{strings.ReplaceAll(inv, "-", "0") + ".1", 0},
		{"." + inv, 0},
		{".1", 0},
		{"", 0},
	} {
		got, n, ok := toolspec.SplitApprovalID(tc.id)
		if ok != (tc.n > 0) || n != tc.n || ok && got != inv || !ok && got != "" {
			t.Errorf("%q: got (%q, %d, %v), want %d", tc.id, got, n, ok, tc.n)
		}
	}
}

func TestSplitResultRef(t *testing.T) {
	inv := toolspec.Identity{TenantID: "acme", RunID: "run-1", ToolCallID: "call-1"}.InvocationID()
	for ref, want := range map[string]string{
		toolspec.ResultRef(inv): inv, inv: "", ".result": "", "": "", inv + ".out.1": "", inv[1:] + ".result": "", inv + ".result.result": "",
	} {
		if got, ok := toolspec.SplitResultRef(ref); got != want || ok != (want != "") {
			t.Errorf("%q: got (%q, %v), want %q", ref, got, ok, want)
		}
	}
}

func TestAuditID(t *testing.T) {
	if got := toolspec.AuditID("x", 3); got != "x/audit/3" {
		t.Errorf("got %s", got)
	}
}
