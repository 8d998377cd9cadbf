package gate_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/activities/gate"
	judging "github.com/pawl-run/pawl/activities/judge"
	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// otherEngine returns the decision of a test, and keeps the facts that it gets.
type otherEngine struct {
	decision policy.Decision
	err      error
	asked    []policy.Facts
}

func (e *otherEngine) Decide(_ context.Context, f policy.Facts) (policy.Decision, error) {
	e.asked = append(e.asked, f)
	return e.decision, e.err
}

// TestAnotherPolicyEngineDecides: the engine of the worker decides for the version of the call. The policy
// itself says the opposite, and does not count.
func TestAnotherPolicyEngineDecides(t *testing.T) {
	const allows = "    rules: [{tool: core__tool, decision: allow}]\n"
	const denies = "    rules: [{tool: core__tool, decision: deny}]\n"
	for _, tc := range []struct {
		name, tenant string
		decision     policy.Decision
		// authorize and consent are the outcomes at the two stages.
		authorize, consent hook.Outcome
		rule               string
	}{
		{"denies", allows, policy.Decision{Verb: policy.Deny, Rule: "central 7", Message: "not today"}, hook.Failed, hook.Failed, "central 7"},
		{"asks", allows, policy.Decision{Verb: policy.RequireApproval, Rule: "central 8"}, "", hook.Asked, "central 8"},
		{"allows", denies, policy.Decision{Verb: policy.Allow, Rule: "central 9"}, "", "", "central 9"},
		{"gives no verdict", allows, policy.Decision{Rule: "central 10"}, hook.Failed, hook.Failed, "policy engine"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := judgetest.Parse(t, approvals+tc.tenant)
			engine := &otherEngine{decision: tc.decision}
			var versions []string
			steps := gate.Steps(gate.Parts{
				Policies: judgetest.Policies{p.Digest(): p}, Engine: authztest.AllowAll{}, Tools: catalog.NewRegistry(toolspec.Capabilities{}),
				Log: slog.New(slog.DiscardHandler),
				PolicyEngines: func(version *policy.Policy) policy.Engine {
					versions = append(versions, version.Digest())
					return engine
				},
			})
			facts := hook.Facts{
				ToolID: "core__tool", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, PolicyDigest: p.Digest(),
				Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Args: json.RawMessage(`{"n":1}`),
			}
			for i, at := range []struct {
				stage   hook.Stage
				outcome hook.Outcome
				hasArgs bool
			}{{hook.WillAuthorize.Stage(), tc.authorize, false}, {hook.WillCheckConsent.Stage(), tc.consent, true}} {
				v, err := steps[at.stage].Before(t.Context(), hook.StageInput{AnyWorker: true, Stage: at.stage, Facts: facts})
				if err != nil {
					t.Fatal(err)
				}
				if v.Outcome != at.outcome || v.Delta.Rule != tc.rule {
					t.Errorf("%s: %q by %q, want %q by %q", at.stage, v.Outcome, v.Delta.Rule, at.outcome, tc.rule)
				}
				if v.Failure != nil && v.Failure.Code != toolspec.CodePolicyDenied {
					t.Errorf("%s: %+v", at.stage, v.Failure)
				}
				if len(engine.asked) != i+1 || len(versions) != i+1 || versions[i] != p.Digest() {
					t.Fatalf("%s: asked %d times, of the versions %v", at.stage, len(engine.asked), versions)
				}
				if f := engine.asked[i]; f.TenantID != "acme" || f.ActorID != "user:ann" || f.ToolID != "core__tool" || f.HasArgs != at.hasArgs {
					t.Errorf("%s: asked about %+v", at.stage, f)
				}
			}
		})
	}
}

// TestNoEngineDenies: a call is denied if there is no engine for the version of the policy.
func TestNoEngineDenies(t *testing.T) {
	version, err := policy.Parse("test", []byte("version: 1\ntenants: {acme: {allowedTools: [core__tool], mode: yolo}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	facts := policy.Facts{TenantID: "acme", ToolID: "core__tool", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk}
	if d := version.Decide(facts); d.Verb != policy.Allow {
		t.Fatalf("%+v", d)
	}
	engines := policy.Engines(func(*policy.Policy) policy.Engine { return nil })
	if d, err := judging.Decide(t.Context(), engines, version, facts); err != nil || d.Verb != policy.Deny {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestNoPolicyDeniesWithAnyEngine: without an active policy no engine is asked.
func TestNoPolicyDeniesWithAnyEngine(t *testing.T) {
	engine := &otherEngine{decision: policy.Decision{Verb: policy.Allow}}
	engines := policy.Engines(func(*policy.Policy) policy.Engine { return engine })
	if d, err := judging.Decide(t.Context(), engines, nil, policy.Facts{TenantID: "acme", ToolID: "core__tool"}); err != nil || d.Verb != policy.Deny || len(engine.asked) != 0 {
		t.Errorf("%+v, %v, asked %d times", d, err, len(engine.asked))
	}
}

// TestAFailedEngineIsAskedAgain: an error of the engine decides nothing, and its text stays out of logs.
func TestAFailedEngineIsAskedAgain(t *testing.T) {
	p := judgetest.Parse(t, "")
	engine := &otherEngine{err: errors.New("hunter2"), decision: policy.Decision{Verb: policy.Allow}}
	steps := gate.Steps(gate.Parts{
		Policies: judgetest.Policies{p.Digest(): p}, Engine: authztest.AllowAll{}, Tools: catalog.NewRegistry(toolspec.Capabilities{}),
		Log: slog.New(slog.DiscardHandler), PolicyEngines: func(*policy.Policy) policy.Engine { return engine },
	})
	facts := hook.Facts{
		ToolID: "core__tool", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, PolicyDigest: p.Digest(),
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"},
	}
	v, err := steps[hook.WillAuthorize.Stage()].Before(t.Context(), hook.StageInput{AnyWorker: true, Stage: hook.WillAuthorize.Stage(), Facts: facts})
	if !errs.IsTransient(err) || v.Outcome != "" || strings.Contains(errs.Reason(err), "hunter2") {
		t.Errorf("%+v, %v", v, err)
	}
}

// shadowEngine panics, or waits for the end of its context, for a version, and is Pawl's own engine for each other version.
type shadowEngine struct{ waits bool }

func (e shadowEngine) Decide(ctx context.Context, _ policy.Facts) (policy.Decision, error) {
	if !e.waits {
		panic("a rule of another kind")
	}
	<-ctx.Done()
	return policy.Decision{}, ctx.Err()
}

// TestShadowHasNoEffect: an engine that panics or does not answer for the shadow policy does not change the verdict, and
// delays it by a short time.
func TestShadowHasNoEffect(t *testing.T) {
	t.Parallel()
	p := judgetest.Parse(t, approvals+"    rules: [{tool: core__tool, decision: allow}]\n")
	shadow := judgetest.Parse(t, approvals+"    rules: [{tool: core__tool, decision: deny}]\n")
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			steps := gate.Steps(gate.Parts{
				Policies: judgetest.Policies{p.Digest(): p, shadow.Digest(): shadow}, Engine: authztest.AllowAll{}, Tools: catalog.NewRegistry(toolspec.Capabilities{}),
				Log: slog.New(slog.DiscardHandler), Shadow: func() *policy.Policy { return shadow },
				PolicyEngines: func(version *policy.Policy) policy.Engine {
					if version == shadow {
						return shadowEngine{waits}
					}
					return &otherEngine{decision: policy.Decision{Verb: policy.Allow, Rule: "central 9"}}
				},
			})
			facts := hook.Facts{
				ToolID: "core__tool", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, PolicyDigest: p.Digest(),
				Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Args: json.RawMessage(`{"n":1}`),
			}
			began := time.Now()
			v, err := steps[hook.WillCheckConsent.Stage()].Before(t.Context(), hook.StageInput{AnyWorker: true, Stage: hook.WillCheckConsent.Stage(), Facts: facts})
			if err != nil || v.Outcome != "" || v.Delta.Rule != "central 9" || len(v.Notes) != 0 {
				t.Errorf("waits %t: %+v, %v", waits, v, err)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("the verdict took %s", took)
			}
		})
	}
}
