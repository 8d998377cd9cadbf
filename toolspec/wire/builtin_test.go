package wire_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/pawl-run/pawl/tools"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire"
	"github.com/pawl-run/pawl/toolspec/wire/internal/codectest"
)

// goldenTools are the tools whose form is compared with testdata/builtin. A new tool does not change these files.
var goldenTools = []string{"core__get_current_time", "core__tool_output_cache_grep"}

// TestBuiltinTools writes the built-in tools in every format: all of them, in
// their order, and goldenTools with exactly the members of testdata/builtin (WF-02, RG-09).
// Rewrite them with -update.
func TestBuiltinTools(t *testing.T) {
	t.Parallel()
	registry, err := catalog.Describe("builtin", tools.All()...)
	if err != nil {
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
	var golden []wire.Tool
	for i, tool := range offered {
		// Ids are names: nothing is shortened, and each name means its tool.
		if got, err := offer.Resolve(tool.Name); err != nil || tool.Name != specs[i].Name || got.ToolID != specs[i].Name {
			t.Errorf("%s is offered as %s, which is %s, %v", specs[i].Name, tool.Name, got.ToolID, err)
		}
		if slices.Contains(goldenTools, tool.Name) {
			golden = append(golden, tool)
		}
	}
	for _, f := range formats {
		encoded, err := f.codec.Tools(offered)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range offered {
			at := bytes.Index(encoded, []byte(strconv.Quote(tool.Name)))
			if at < 0 {
				t.Fatalf("%s: %s is missing, or is not after the tools before it", f.codec.Format(), tool.Name)
			}
			encoded = encoded[at:]
		}
		if encoded, err = f.codec.Tools(golden); err != nil {
			t.Fatal(err)
		}
		codectest.GoldenJSON(t, filepath.Join("testdata", "builtin", f.codec.Format()+".json"), encoded)
	}
}
