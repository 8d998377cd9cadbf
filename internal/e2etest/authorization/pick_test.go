package authorization

import (
	"fmt"
	"slices"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/worker"
)

// TestUnpickedTools (PT-05): tools are picked only from the tools that the caller
// can see, and picking gives and takes no rights. A call of a tool that was not
// picked runs, needs an approval or is denied, as policy says. A run can use only
// the picked tools if it lists them as its toolIds.
func TestUnpickedTools(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, catalogPolicy)
	var effects e2etest.Ledger
	run := effects.Counted(e2etest.Echo)
	described := func(what string) func(*toolspec.Definition) {
		return func(d *toolspec.Definition) { d.Description = what }
	}
	w.Work(worker.Tools(
		e2etest.Tool("test__read", run, e2etest.Fast, described("Reads a file of the archive.")),
		e2etest.Tool("test__time", run, e2etest.Fast, described("Tells the time.")),
		e2etest.Tool("test__asks", run, e2etest.Risky, described("Writes a file of the archive.")),
		e2etest.Tool("test__secret", run, e2etest.Fast, described("Reads the archive of secret files.")),
		e2etest.Tool("other__read", run, e2etest.Fast, described("Reads a file of the archive.")),
	))
	own := pawl.New(w.Temporal, pawl.Options{Outputs: w.Store, Catalogs: w.Store})
	w.Until(func() bool {
		specs, err := w.Store.Specs(t.Context())
		return err == nil && len(specs) > 0
	}, "the worker has published its tools")

	by := catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor}
	picked, err := own.PickTools(t.Context(), by, catalog.Query{Text: "read the archive file", K: 1})
	if err != nil {
		t.Fatal(err)
	}
	if len(picked) != 1 || picked[0].Name != "test__read" {
		t.Fatalf("picked %+v", picked)
	}
	every, err := own.PickTools(t.Context(), by, catalog.Query{Text: "read the archive file", K: 100})
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(every, func(m catalog.Match) bool { return m.Name == "test__secret" || m.Name == "other__read" }) {
		t.Errorf("hidden tools are picked: %+v", every)
	}
	for i, c := range []struct {
		tool    string
		toolIDs []string
		want    string
	}{
		{"test__time", nil, "runs"}, // not picked, and allowed
		{"test__asks", nil, "asks"},
		{"test__secret", nil, "denied"},
		{"other__read", nil, "denied"},
		{"test__read", []string{"test__read"}, "runs"},
		{"test__time", []string{"test__read"}, "denied"}, // the run lists its tools
	} {
		inv := e2etest.Invocation(fmt.Sprintf("call-%d", i), c.tool, `{"text":"hello"}`)
		inv.Context.TenantID, inv.Context.ActorID, inv.Context.ToolIDs = by.TenantID, by.ActorID, c.toolIDs
		switch call := w.Start(inv); c.want {
		case "runs":
			e2etest.WantText(t, w.Result(call), "hello")
		case "asks":
			w.Waiting(call.WorkflowID)
		default:
			e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
			if effects.Of(inv.ToolCallID) != 0 {
				t.Errorf("%s ran", c.tool)
			}
		}
	}
	if _, err := w.Pawl.PickTools(t.Context(), by, catalog.Query{}); err == nil {
		t.Error("a client without a way to the catalog picks from one")
	}
}
