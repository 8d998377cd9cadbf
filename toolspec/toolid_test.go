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

func TestBareName(t *testing.T) {
	for id, want := range map[string]string{
		"core__ls": "ls", "shop__a__c": "a__c", "mcp__github__create_issue": "create_issue", "mcp__github__a__b": "a__b", "mcp__x": "x", "ls": "", "": "",
	} {
		if got := toolspec.BareName(id); got != want {
			t.Errorf("%q has the bare name %q, want %q", id, got, want)
		}
	}
}
