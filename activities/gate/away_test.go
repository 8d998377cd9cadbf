package gate_test

import (
	"log/slog"
	"testing"

	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestWithoutTheTool: a worker without the tool leaves the call to workers that have it, because it does not
// know the tags for which a rule may ask. A kill switch stops the call on any worker. So does a rule, for a
// call whose tool runs.
func TestWithoutTheTool(t *testing.T) {
	p := judgetest.Parse(t, "    rules: [{tool: core__tool, when: '\"danger\" in tool.tags', decision: deny}]\n")
	steps := gate.Steps(gate.Parts{
		Policies: judgetest.Policies{p.Digest(): p}, Engine: authztest.AllowAll{}, Tools: catalog.NewRegistry(toolspec.Capabilities{}), Log: slog.New(slog.DiscardHandler),
	})
	for _, s := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
		in := hook.StageInput{Stage: s, Facts: hook.Facts{
			ToolID: "core__tool", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, PolicyDigest: p.Digest(),
			Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"},
		}}
		judged := func() hook.Verdict {
			t.Helper()
			v, err := steps[s].Before(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		if v := judged(); v.Outcome != hook.Missing || v.By != "tool core__tool" || v.Unread {
			t.Errorf("%s: %+v", s, v)
		}
		in.AnyWorker = true
		if v := judged(); v.Outcome != hook.Failed || v.Failure.Code != toolspec.CodePolicyDenied {
			t.Errorf("%s, while the tool runs: %+v", s, v)
		}
		in.AnyWorker, in.Facts.Kills = false, []hook.Kill{{}}
		if v := judged(); v.Outcome != hook.Failed || v.Failure.Code != toolspec.CodePolicyDenied {
			t.Errorf("%s, killed: %+v", s, v)
		}
	}
}
