package toolspec_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func TestCheckToolID(t *testing.T) {
	for _, tc := range []struct{ id, want string }{
		{"core__read_file", ""},
		{"mcp__server-1__Tool_2", ""},
		{"a__" + strings.Repeat("b", 61), ""},
		{"a__" + strings.Repeat("b", 62), "is longer than 64 characters"},
		{"", "is missing"},
		{"read_file", "must be namespaced"},
		{"core_read", "must be namespaced"},
		{"__read", "must be namespaced"},
		{"core__", "must be namespaced"},
		{"core:read", "may hold only"},
		{"core.read", "may hold only"},
		{"core__read file", "may hold only"},
		{"core__réad", "may hold only"},
		{"core__read/", "may hold only"},
	} {
		sameError(t, toolspec.CheckToolID(tc.id), tc.want)
	}
}

// TestMCPToolID: a name that fits is kept, every other one gets a suffix that tells it from the names it would be mistaken for.
func TestMCPToolID(t *testing.T) {
	long := strings.Repeat("x", 47)
	for _, tc := range []struct{ server, tool, want string }{
		{"github", "create_issue", "mcp__github__create_issue"},
		{"github", "a__b", "mcp__github__a__b"},
		{"github", "files/read", "mcp__github__files_read_2b733164"},
		{"github", "files_read", "mcp__github__files_read"},
		{"github", "größe", ""}, {"github", "", ""},
		{"abc", long + "1234567", "mcp__abc__" + long + "1234567"}, {"abc", long + "12345678", ""},
		{strings.Repeat("s", 32), strings.Repeat("t", 128), ""},
	} {
		got := toolspec.MCPToolID(tc.server, tc.tool)
		if err := toolspec.CheckToolID(got); err != nil {
			t.Errorf("%s of %s: %q %v", tc.tool, tc.server, got, err)
		}
		if tc.want != "" && got != tc.want {
			t.Errorf("%s of %s: %q, want %q", tc.tool, tc.server, got, tc.want)
		}
	}
}

func TestCheckServerID(t *testing.T) {
	for id, want := range map[string]string{
		"github": "", "a_b-C1": "", strings.Repeat("a", 32): "",
		"": "is missing", strings.Repeat("a", 33): "is longer than 32", "a__b": "may not hold '__'", "_a": "may not hold '__'", "a_": "may not hold '__'",
		"a.b": "may hold only", "ä": "may hold only",
	} {
		sameError(t, toolspec.CheckServerID(id), want)
	}
}

func TestBareName(t *testing.T) {
	for id, want := range map[string]string{
		"core__ls": "ls", "shop__a__c": "a__c", "mcp__github__create_issue": "create_issue", "mcp__github__a__b": "a__b", "mcp__x": "x", "ls": "", "": "",
	} {
		if got := toolspec.BareName(id); got != want {
			t.Errorf("%q has the bare name %q, want %q", id, got, want)
		}
	}
}
