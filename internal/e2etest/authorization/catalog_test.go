package authorization

import (
	"fmt"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/worker"
)

const catalogPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    rules:
      - {tool: test__secret, decision: deny, message: not for you}
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
  globex:
    allowedTools: [test__read, test__asks]
    mode: auto
    approvals: {enabled: false}
`

// TestCatalog checks which tools a caller is offered, and that the gate denies exactly the tools that it is not offered, if it calls them by their id (RG-13).
func TestCatalog(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, catalogPolicy)
	var effects e2etest.Ledger
	run := effects.Counted(e2etest.Echo)
	w.Work(worker.Tools(
		e2etest.Tool("test__read", run, e2etest.Fast), e2etest.Tool("test__asks", run, e2etest.Risky),
		e2etest.Tool("test__secret", run, e2etest.Fast), e2etest.Tool("test__stopped", run, e2etest.Once),
		e2etest.Tool("other__read", run, e2etest.Fast),
	))
	own := pawl.New(w.Temporal, pawl.Options{Outputs: w.Store, Catalogs: w.Store})
	w.Until(func() bool {
		specs, err := w.Store.Specs(t.Context())
		return err == nil && len(specs) > 0
	}, "the worker has published its tools")
	killOn(w, policies.KillScope{TenantID: "acme", Tool: "test__stop*", Effect: toolspec.ExternalSideEffect})

	for i, c := range []struct {
		by   catalog.Viewer
		want map[string]string // by the id of the tool
	}{
		{catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor}, map[string]string{"test__read": "runs", "test__asks": "asks"}},
		{catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor, ToolIDs: []string{"test__read", "test__secret"}},
			map[string]string{"test__read": "runs"}},
		// A tenant without approvals does not see the tools that need one.
		{catalog.Viewer{TenantID: "globex", ActorID: e2etest.Actor}, map[string]string{"test__read": "runs"}},
		{catalog.Viewer{TenantID: "nobody", ActorID: e2etest.Actor}, nil},
	} {
		offered, err := own.Catalog(t.Context(), c.by)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{"test__read", "test__asks", "test__secret", "test__stopped", "other__read"} {
			access := ""
			if e, seen := offered.Get(id); seen {
				if access = "runs"; e.NeedsApproval {
					access = "asks"
				}
			}
			if access != c.want[id] {
				t.Errorf("%+v is offered %s: %q, want %q", c.by, id, access, c.want[id])
			}
			inv := e2etest.Invocation(fmt.Sprintf("call-%d-%s", i, id), id, `{"text":"hello"}`)
			inv.Context.TenantID, inv.Context.ActorID, inv.Context.ToolIDs = c.by.TenantID, c.by.ActorID, c.by.ToolIDs
			call := w.Start(inv)
			switch c.want[id] {
			case "runs":
				e2etest.WantText(t, w.Result(call), "hello")
			case "asks":
				w.Waiting(call.WorkflowID)
			default:
				e2etest.WantCode(t, w.Result(call), toolspec.CodePolicyDenied)
				if effects.Of(inv.ToolCallID) != 0 {
					t.Errorf("%+v: the hidden tool %s ran", c.by, id)
				}
			}
		}
	}
	if _, err := w.Pawl.Catalog(t.Context(), catalog.Viewer{TenantID: "acme"}); err == nil {
		t.Error("a client without a way to the catalog has one")
	}
}
