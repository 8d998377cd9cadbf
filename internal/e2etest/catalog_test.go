package e2etest

import (
	"fmt"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
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

// TestCatalog: what callers are offered, and that the gate denies exactly what they are not, called by its id all the same (RG-13).
func TestCatalog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, catalogPolicy)
	var effects ledger
	run := effects.counted(echo)
	w.work(worker.Tools(
		tool("test__read", run, fast), tool("test__asks", run, risky), tool("test__secret", run, fast), tool("test__stopped", run, once), tool("other__read", run, fast),
	))
	own := pawl.New(w.temporal, pawl.Options{Outputs: w.store, Catalogs: w.store})
	w.until(func() bool {
		specs, err := w.store.Specs(t.Context())
		return err == nil && len(specs) > 0
	}, "the worker has published its tools")
	w.killOn(postgres.KillScope{TenantID: "acme", Tool: "test__stop*", Effect: toolspec.ExternalSideEffect})

	for i, c := range []struct {
		by   catalog.Viewer
		want map[string]string // of the tools of this test
	}{
		{catalog.Viewer{TenantID: "acme", ActorID: actor}, map[string]string{"test__read": "runs", "test__asks": "asks"}},
		{catalog.Viewer{TenantID: "acme", ActorID: actor, ToolIDs: []string{"test__read", "test__secret"}}, map[string]string{"test__read": "runs"}},
		// Where nobody may be asked, what would be asked is hidden.
		{catalog.Viewer{TenantID: "globex", ActorID: actor}, map[string]string{"test__read": "runs"}},
		{catalog.Viewer{TenantID: "nobody", ActorID: actor}, nil},
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
			inv := invocation(fmt.Sprintf("call-%d-%s", i, id), id, `{"text":"hello"}`)
			inv.Context.TenantID, inv.Context.ActorID, inv.Context.ToolIDs = c.by.TenantID, c.by.ActorID, c.by.ToolIDs
			call := w.start(inv)
			switch c.want[id] {
			case "runs":
				wantText(t, w.result(call), "hello")
			case "asks":
				w.waiting(call.WorkflowID)
			default:
				wantCode(t, w.result(call), toolspec.CodePolicyDenied)
				if effects.of(inv.ToolCallID) != 0 {
					t.Errorf("%+v: the hidden tool %s ran", c.by, id)
				}
			}
		}
	}
	if _, err := w.pawl.Catalog(t.Context(), catalog.Viewer{TenantID: "acme"}); err == nil {
		t.Error("a client without a way to the catalog has one")
	}
}
