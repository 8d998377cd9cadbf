package worker

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

// TestUnconfiguredTools: a built-in tool whose capability is not configured is left out, and the log says why,
// once. The log does not name a tool that is turned off.
func TestUnconfiguredTools(t *testing.T) {
	t.Parallel()
	provided, err := toolspec.NewCapabilities(toolspec.NewCapability[any]("clock").Provide(nil))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	on := newSwitch([]string{"test__off"})
	var ids []string
	for _, tool := range on.runnable(on.enabled([]toolspec.Tool{
		tool("test__pure"), tool("test__time", "clock"), tool("test__search", "clock", "search", "clients"), tool("test__shell", "shell"), tool("test__off", "nothing"),
	}), provided, slog.New(slog.NewTextHandler(&log, nil))) {
		ids = append(ids, tool.Definition().ID)
	}
	if !slices.Equal(ids, []string{"test__pure", "test__time"}) {
		t.Errorf("the worker has %v", ids)
	}
	if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, `tools="[test__search (search, clients) test__shell (shell)]"`) {
		t.Errorf("the log says %s", text)
	}
	if !on.isOff("test__shell") || !on.isOff("test__off") || on.isOff("test__pure") || on.isOff("test__unknown") {
		t.Error("a tool that is not configured is not turned off")
	}
}

// TestUnusedConfiguration: a fault in configuration that only disabled tools use does not stop the start.
func TestUnusedConfiguration(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		disabled      []string
		added         []toolspec.Tool
		shell, search bool
	}{
		{nil, nil, true, true},
		{[]string{"core__shell"}, nil, false, true},
		{[]string{"core__web_*"}, nil, true, false},
		{[]string{"core__*"}, nil, false, false},
		{[]string{"core__*"}, []toolspec.Tool{tool("test__runs", capability.CommandsKey.Name())}, true, false},
		{[]string{"core__*", "test__*"}, []toolspec.Tool{tool("test__runs", capability.CommandsKey.Name())}, false, false},
	} {
		config := Config{DisabledTools: c.disabled, Shell: Shell{On: true}, Web: Web{Search: "searxng"}}.withoutUnused(c.added)
		if config.Shell.On != c.shell || (config.Web.Search != "") != c.search {
			t.Errorf("without %v, the worker has %+v, %+v", c.disabled, config.Shell, config.Web)
		}
	}
}

// TestDisabledTools: a tool that is turned off needs no capabilities and is not published, and nobody can call
// it.
func TestDisabledTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PolicyFile = w.file("policy.yaml", rules)
	// The second disabled tool has no contract, and the third has an id that another tool has.
	broken := toolspec.Define[struct{}, struct{}](toolspec.Definition{ID: "test__broken"}, nil)
	needy := Tools(tool("test__needy", "credentials"), tool("test__plain"), broken, tool("core__write_file"))
	w.start(needy).expectError("test__needy", "credentials")
	w.config.DisabledTools = []string{"test__needy", "test__broken", "core__wr*", "core__lss"}
	r := w.start(needy)
	r.waitForLog(runs)
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
	seen, err := w.open().Catalog(t.Context(), catalog.Viewer{TenantID: "acme", ActorID: "agent:reader"})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := seen.Get("test__plain"); !ok || slices.ContainsFunc(seen.Pick(catalog.Query{Text: "a tool of a test: needy", K: 50}), func(m catalog.Match) bool {
		return m.Name == "test__needy"
	}) {
		t.Errorf("the catalog is %+v", seen.List())
	}
	if result, _ := w.invoke("test__needy", "needy", `{}`); result.OK || result.ErrorCode != toolspec.CodePolicyDenied {
		t.Errorf("called, it ends with %+v", result)
	}
	if result, _ := w.invoke("test__unknown", "unknown", `{}`); result.OK || result.ErrorCode != toolspec.CodeUnavailable {
		t.Errorf("a tool that nobody has ends with %+v", result)
	}
	text := w.log.String()
	if !strings.Contains(text, "core__write_file core__write_todos test__needy test__broken]\"") || !strings.Contains(text, "pattern=core__lss") || strings.Contains(text, "pattern=test__needy") {
		t.Errorf("the log says\n%s", text)
	}
}
