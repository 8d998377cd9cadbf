package worker

import (
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestDisabledTools (RG-21): a tool that is turned off needs nothing of what it declares, is not published, and is nobody's to call.
func TestDisabledTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile = w.file("policy.yaml", rules)
	needy := Tools(tool("test__needy", "credentials"), tool("test__plain"))
	w.start(needy).refused("test__needy", "credentials")
	w.config.DisabledTools = []string{"test__needy", "core__wr*", "core__lss"}
	r := w.start(needy)
	r.logged(runs)
	specs, err := w.open().LiveSpecs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, s := range specs {
		ids = append(ids, s.Name)
	}
	if !slices.Contains(ids, "test__plain") || !slices.Contains(ids, "core__ls") || slices.Contains(ids, "test__needy") || slices.Contains(ids, "core__write_file") {
		t.Errorf("published are %v", ids)
	}
	if result, _ := w.invoke("test__needy", "needy", `{}`); result.OK || result.ErrorCode != toolspec.CodePolicyDenied {
		t.Errorf("called, it ends with %+v", result)
	}
	if result, _ := w.invoke("test__unknown", "unknown", `{}`); result.OK || result.ErrorCode != toolspec.CodeUnavailable {
		t.Errorf("a tool that nobody has ends with %+v", result)
	}
	text := w.log.String()
	if !strings.Contains(text, "toolIds=\"[core__write_file test__needy]\"") || !strings.Contains(text, "pattern=core__lss") || strings.Contains(text, "pattern=test__needy") {
		t.Errorf("the log says\n%s", text)
	}
}
