package gate_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const createIssue = "mcp__github__create_issue"

var definitionDigest = strings.Repeat("a", 64)

// reviewing returns a policy that allows everything to acme, with a review of createIssue.
func reviewing(t *testing.T, digest string) *policy.Policy {
	t.Helper()
	doc := "version: 1\ntenants: {acme: {allowedTools: ['*'], mode: yolo, rules: [{tool: '*', decision: allow}]}}\n"
	if digest != "" {
		doc += "mcp: {github: {create_issue: {digest: " + digest + ", effect: state_change, risk: low, allow: [/text]}}}\n"
	}
	p, err := policy.Parse("policy.yaml", []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDiscoveredToolsAtTheGate: a discovered tool needs its review at both stages, with Pawl's own policy and
// with every other engine, even at a worker that does not have the tool. An approval does not replace the
// review.
func TestDiscoveredToolsAtTheGate(t *testing.T) {
	trusted := reviewing(t, definitionDigest)
	review, _ := trusted.Review("github", "create_issue")
	followed := &toolspec.Discovered{Digest: definitionDigest, Review: review.ReviewDigest()}
	permissive := func(*policy.Policy) policy.Engine {
		return &otherEngine{decision: policy.Decision{Verb: policy.Allow, Rule: "central 1"}}
	}
	for _, tc := range []struct {
		name   string
		policy *policy.Policy
		// here is the definition at this worker. If it is nil, the call has the definition recorded.
		here, recorded *toolspec.Discovered
		outcome        hook.Outcome
	}{
		{"no review", reviewing(t, ""), followed, followed, hook.Failed},
		{"no review, of a tool elsewhere", reviewing(t, ""), nil, followed, hook.Failed},
		{"another definition", reviewing(t, strings.Repeat("b", 64)), followed, followed, hook.Failed},
		{"another definition, recorded as reviewed", trusted, &toolspec.Discovered{Digest: strings.Repeat("c", 64), Review: review.ReviewDigest()}, followed, hook.Failed},
		{"not yet followed", trusted, &toolspec.Discovered{Digest: definitionDigest}, followed, hook.Missing},
		{"not yet followed, elsewhere", trusted, nil, &toolspec.Discovered{Digest: definitionDigest}, hook.Missing},
		{"reviewed", trusted, followed, &toolspec.Discovered{Digest: definitionDigest}, hook.Continue},
		{"reviewed, elsewhere", trusted, nil, followed, hook.Continue},
	} {
		for engine, engines := range map[string]policy.Engines{"own": nil, "other": permissive} {
			for _, at := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
				t.Run(tc.name+"/"+engine+"/"+string(at), func(t *testing.T) {
					tools := catalog.NewRegistry(toolspec.Capabilities{})
					if tc.here != nil {
						err := tools.Add("mcp", toolspec.Define(toolspec.Definition{
							ID: createIssue, Description: "x", Effect: toolspec.StateChange, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Discovered: tc.here,
						}, func(context.Context, in, toolspec.Call) (out, error) { return out{}, nil }))
						if err != nil {
							t.Fatal(err)
						}
					}
					steps := gate.Steps(gate.Parts{
						Policies: judgetest.Policies{tc.policy.Digest(): tc.policy}, Engine: authztest.AllowAll{}, Tools: tools, Log: slog.New(slog.DiscardHandler), PolicyEngines: engines,
					})
					v, err := steps[at].Before(t.Context(), hook.StageInput{AnyWorker: true, Stage: at, Facts: hook.Facts{
						ToolID: createIssue, Effect: toolspec.StateChange, Risk: toolspec.LowRisk, PolicyDigest: tc.policy.Digest(), ToolDigest: "td", Discovered: tc.recorded,
						Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Args: json.RawMessage(`{}`),
						Approval: &hook.GrantedApproval{ApprovalID: "inv.1", ToolDigest: "td", Effect: toolspec.StateChange, Risk: toolspec.LowRisk, Approver: "user:bob"},
					}})
					if err != nil || v.Outcome != tc.outcome {
						t.Fatalf("%+v, %v, want %q", v, err, tc.outcome)
					}
					switch v.Outcome {
					case hook.Failed:
						if v.Failure.Code != toolspec.CodePolicyDenied || v.Failure.Details.Rule != "mcp" || !strings.Contains(v.Failure.SafeMessage, "pawl mcp review "+createIssue) {
							t.Errorf("%+v", v.Failure)
						}
					case hook.Missing:
						// The workflow reads the active policy again before the next try.
						if !v.Unread || v.By != "the reviewed definition of "+createIssue || v.Delta.Rule != "" {
							t.Errorf("%+v", v)
						}
					default:
					}
				})
			}
		}
	}
}
