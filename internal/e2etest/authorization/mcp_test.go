package authorization

import (
	"fmt"
	"strings"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/worker"
)

const discoveredTool = "mcp__github__create_issue"

// mcpPolicy returns a policy that allows the tenant acme the tools of a pattern with as few restrictions as possible. It
// has these reviews of tools of the server github.
func mcpPolicy(allowed, reviews string) string {
	return fmt.Sprintf(`version: 1
tenants:
  acme:
    allowedTools: [%q]
    mode: yolo
    rules: [{tool: "*", decision: allow}]
    overrides: [{tool: %q, mode: yolo}]
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true, allowSelfApproval: true}
mcp: {github: {%s}}
`, allowed, discoveredTool, reviews)
}

func mcpReview(digest, risk string) string {
	return "create_issue: {digest: " + digest + ", effect: external_side_effect, risk: " + risk + ", allow: [/text]}"
}

// TestDiscoveredToolNeedsItsReview: a tool that a server offers is denied and hidden until policy allows its id and
// has a review of its definition. When its definition changes, it is denied and hidden again. No restart is
// needed (MCP_UNTRUSTED_BY_DEFAULT, MC-02, MC-05, TS-13).
func TestDiscoveredToolNeedsItsReview(t *testing.T) {
	t.Parallel()
	digest, other := strings.Repeat("a", 64), strings.Repeat("b", 64)
	trusted, err := policy.Parse("policy.yaml", []byte(mcpPolicy("*", mcpReview(digest, "low"))))
	if err != nil {
		t.Fatal(err)
	}
	review, _ := trusted.Review("github", "create_issue")
	w := e2etest.NewWorld(t, mcpPolicy("*", ""))
	var effects e2etest.Ledger
	w.Work(worker.Tools(e2etest.Tool(discoveredTool, effects.Counted(e2etest.Echo), e2etest.Once, func(d *toolspec.Definition) {
		d.Discovered = &toolspec.Discovered{Digest: digest, Review: review.ReviewDigest()}
	})))
	own := pawl.New(w.Temporal, pawl.Options{Outputs: w.Store, Catalogs: w.Store})
	w.Until(func() bool {
		specs, err := w.Store.Specs(t.Context())
		return err == nil && len(specs) > 0
	}, "the worker has published its tools")

	for i, c := range []struct{ name, rules, denied string }{
		{"no review", mcpPolicy("*", ""), "mcp"},
		{"the server is there, the tool is not", mcpPolicy("mcp__github__*", "close_issue: {digest: "+digest+", effect: read_only, risk: low, allow: [/text]}"), "mcp"},
		{"a rule of its own", strings.Replace(mcpPolicy("*", ""), `{tool: "*", decision: allow}`, "{tool: "+discoveredTool+", decision: allow}", 1), "mcp"},
		{"an approval for everything", strings.Replace(mcpPolicy("*", ""), "decision: allow", "decision: require_approval", 1), "mcp"},
		{"a review, but no right of the tenant", mcpPolicy("core__*", mcpReview(digest, "low")), "allowedTools"},
		{"both", mcpPolicy(discoveredTool, mcpReview(digest, "low")), ""},
		{"another definition", mcpPolicy(discoveredTool, mcpReview(other, "low")), "mcp"},
		{"reviewed again", mcpPolicy(discoveredTool, mcpReview(digest, "low")), ""},
	} {
		w.Apply(c.rules)
		inv := e2etest.Invocation(fmt.Sprintf("call-%d", i), discoveredTool, `{"text":"hello"}`)
		offered, err := own.Catalog(t.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor})
		if err != nil {
			t.Fatal(err)
		}
		if _, visible := offered.Get(discoveredTool); visible != (c.denied == "") {
			t.Errorf("%s: visible: %v", c.name, visible)
		}
		r := w.Invoke(inv)
		if c.denied == "" {
			e2etest.WantText(t, r, "hello")
			continue
		}
		e2etest.WantCode(t, r, toolspec.CodePolicyDenied)
		if r.Details == nil || r.Details.Rule != c.denied || effects.Of(inv.ToolCallID) != 0 {
			t.Errorf("%s: %+v, %d effects", c.name, r.Details, effects.Of(inv.ToolCallID))
		}
	}

	t.Run("quarantined while it waits for an approval", func(t *testing.T) {
		asks := strings.Replace(mcpPolicy(discoveredTool, mcpReview(digest, "low")), "decision: allow", "decision: require_approval", 1)
		w.Apply(asks)
		call := w.Start(e2etest.Invocation("waiting", discoveredTool, `{"text":"hello"}`))
		w.Waiting(call.WorkflowID)
		w.Apply(strings.Replace(asks, digest, other, 1))
		if r := w.Result(call); r.Details == nil || r.Details.Rule != "mcp" || effects.Of("waiting") != 0 {
			t.Errorf("%+v, %d effects", r, effects.Of("waiting"))
		}
	})
	t.Run("reviewed, and not followed yet", func(t *testing.T) {
		w.Apply(mcpPolicy(discoveredTool, mcpReview(digest, "high")))
		if offered, err := own.Catalog(t.Context(), catalog.Viewer{TenantID: "acme", ActorID: e2etest.Actor}); err != nil || len(offered.List()) != 0 {
			t.Errorf("%+v, %v", offered, err)
		}
		call := w.Start(e2etest.Invocation("early", discoveredTool, `{"text":"hello"}`))
		w.Until(func() bool {
			return e2etest.CountEvents(w.History(call.WorkflowID, ""), enumspb.EVENT_TYPE_TIMER_STARTED) > 0
		}, "the call waits for the definition")
		w.Apply(mcpPolicy(discoveredTool, mcpReview(digest, "low")))
		e2etest.WantText(t, w.Result(call), "hello")
		w.Replay(call.WorkflowID)
	})
}
