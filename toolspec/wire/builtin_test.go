package wire_test

import (
	"path/filepath"
	"testing"

	"github.com/pawl-run/pawl/internal/clock"
	"github.com/pawl-run/pawl/internal/files"
	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
)

// TestBuiltinTools writes the built-in tools in every format: all of them, in
// their order, with exactly the members of testdata/builtin (WF-02, RG-09).
// Rewrite them with -update.
func TestBuiltinTools(t *testing.T) {
	t.Parallel()
	workspace, err := files.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = workspace.Close() })
	provided, err := toolspec.NewCapabilities(capability.ClockKey.Provide(clock.System{}), capability.FilesKey.Provide(workspace), capability.OutputsKey.Provide(nil),
		capability.CommandsKey.Provide(nil), capability.ProgressKey.Provide(nil))
	if err != nil {
		t.Fatal(err)
	}
	registry := catalog.NewRegistry(provided)
	if err := registry.Add("builtin", tools.All()...); err != nil {
		t.Fatal(err)
	}
	specs := registry.Specs()
	offer, offered, err := wire.NewOffer(specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(offered) != len(tools.All()) {
		t.Errorf("%d tools are offered", len(offered))
	}
	for i, tool := range offered {
		// Ids are names: nothing is shortened, and each name means its tool.
		if got, err := offer.Resolve(tool.Name); err != nil || tool.Name != specs[i].Name || got.ToolID != specs[i].Name {
			t.Errorf("%s is offered as %s, which is %s, %v", specs[i].Name, tool.Name, got.ToolID, err)
		}
	}
	for _, f := range formats {
		encoded, err := f.codec.Tools(offered)
		if err != nil {
			t.Fatal(err)
		}
		codectest.GoldenJSON(t, filepath.Join("testdata", "builtin", f.codec.Format()+".json"), encoded)
	}
}
