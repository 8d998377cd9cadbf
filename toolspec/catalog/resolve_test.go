package catalog_test

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestResolve (C-09): a bare name means the only visible tool with that name. Hidden tools do not
// count.
func TestResolve(t *testing.T) {
	c := catalog.New([]toolspec.Spec{
		spec("core__glob", "a"), spec("core__ls", "a"), spec("mcp__github__create_issue", "a"), spec("mcp__jira__create_issue", "a"),
		spec("mcp__github__a__b", "a"), spec("shop__a__c", "a"), spec("hidden__ls", "a"), spec("hidden__only", "a"),
	}, func(s toolspec.Spec) catalog.Visibility {
		if s.Name == "hidden__ls" || s.Name == "hidden__only" {
			return catalog.Hidden
		}
		return catalog.Visible
	})
	for name, want := range map[string]string{
		"core__glob": "core__glob", "glob": "core__glob", "ls": "core__ls", "mcp__jira__create_issue": "mcp__jira__create_issue",
		"a__b": "mcp__github__a__b", "a__c": "shop__a__c",
		"create_issue": "", "jira__create_issue": "", "b": "", "only": "", "hidden__only": "", "GLOB": "", "": "", "none": "",
	} {
		got, ok := c.Resolve(name)
		if ok != (want != "") || got.Name != want {
			t.Errorf("%q means %q, %v, want %q", name, got.Name, ok, want)
		}
	}
}
