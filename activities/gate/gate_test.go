package gate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities/gate"
	"github.com/pawl-run/pawl/activities/judge/judgetest"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const canary = judgetest.Canary

const approvals = "    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}\n"

// judge runs the gate at a stage.
func judge(t *testing.T, p *policy.Policy, s hook.Stage, change func(*hook.Facts)) (hook.Verdict, string) {
	t.Helper()
	v, log, err := judgeWith(t, p, authztest.AllowAll{}, s, change)
	if err != nil {
		t.Fatal(err)
	}
	return v, log
}

// judgeWith does the work of judge with another authorization engine.
func judgeWith(t *testing.T, p *policy.Policy, engine authz.Port, s hook.Stage, change func(*hook.Facts)) (hook.Verdict, string, error) {
	t.Helper()
	return judgeIn(t, p, engine, catalog.NewRegistry(toolspec.Capabilities{}), s, change)
}

// judgeIn does the work of judgeWith in a worker that has these tools.
func judgeIn(t *testing.T, p *policy.Policy, engine authz.Port, tools *catalog.Registry, s hook.Stage, change func(*hook.Facts)) (hook.Verdict, string, error) {
	t.Helper()
	var log bytes.Buffer
	steps := gate.Steps(gate.Parts{
		Policies: judgetest.Policies{p.Digest(): p}, Engine: engine, Tools: tools, Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	f := hook.Facts{
		InvocationID: "inv", ToolID: "core__tool", ToolCallID: "call-1", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, ToolDigest: "td", PolicyDigest: p.Digest(),
		Args: json.RawMessage(`{"text":"` + canary + `"}`),
	}
	if change != nil {
		change(&f)
	}
	v, failed := steps[s].Before(t.Context(), hook.StageInput{Stage: s, Facts: f, AnyWorker: true})
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text)+log.String(), canary) {
		t.Errorf("the canary leaves the gate: %s, %s", text, &log)
	}
	return v, log.String(), failed
}

// TestPolicyVerdicts: the verdicts of policy at the two stages of the gate. Before the arguments are known,
// only a deny has an effect.
func TestPolicyVerdicts(t *testing.T) {
	const deny, allow = `    rules: [{tool: core__tool, decision: deny, message: not today}]` + "\n", `    rules: [{tool: core__tool, decision: allow}]` + "\n"
	for _, tc := range []struct {
		name, tenant       string
		change             func(*hook.Facts)
		authorize, consent string
		rule               string
	}{
		{"asks", approvals, nil, "", "ask", "mode auto, risk medium"},
		{"low risk", approvals, func(f *hook.Facts) { f.Risk = toolspec.LowRisk }, "", "", "mode auto, risk low"},
		{"allow rule", approvals + allow, nil, "", "", "tenants.acme.rules[0]"},
		{"deny rule", approvals + deny, nil, "policy_denied not today", "policy_denied not today", "tenants.acme.rules[0]"},
		{"approvals off", "    approvals: {enabled: false}\n", nil, "policy_denied it needs an approval, and approvals are off: mode auto asks for calls of risk medium",
			"policy_denied it needs an approval, and approvals are off: mode auto asks for calls of risk medium", "mode auto, risk medium"},
		{"another tool", approvals, func(f *hook.Facts) { f.ToolID = "mail__send" }, "policy_denied the tool is not allowed for this tenant",
			"policy_denied the tool is not allowed for this tenant", "allowedTools"},
		{"another tenant", approvals, func(f *hook.Facts) { f.Context.TenantID = "other" }, "policy_denied the tenant has no policy", "policy_denied the tenant has no policy", "tenants"},
		{"not among the run's tools", approvals, func(f *hook.Facts) { f.Context.ToolIDs = []string{"core__other"} }, "policy_denied the tool is not among the tools of this run",
			"policy_denied the tool is not among the tools of this run", "toolIds"},
		{"no policy at all", approvals, func(f *hook.Facts) { f.PolicyDigest = "" }, "policy_denied no policy is active", "policy_denied no policy is active", "no policy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, at := range []struct {
				stage hook.Stage
				want  string
			}{{hook.WillAuthorize.Stage(), tc.authorize}, {hook.WillCheckConsent.Stage(), tc.consent}} {
				v, log := judge(t, judgetest.Parse(t, tc.tenant), at.stage, tc.change)
				got := string(v.Outcome)
				if v.Failure != nil {
					got = string(v.Failure.Code) + " " + v.Failure.SafeMessage
					if v.Failure.Details.Rule != tc.rule {
						t.Errorf("%s: details %+v", at.stage, v.Failure.Details)
					}
				}
				if got != at.want || v.Delta.Rule != tc.rule {
					t.Errorf("%s: got %q by %q, want %q by %q", at.stage, got, v.Delta.Rule, at.want, tc.rule)
				}
				// Each denial writes one warning with the ids of the call.
				if denied := v.Failure != nil; strings.Contains(log, `"level":"WARN","msg":"policy denied a call"`) != denied ||
					denied && !strings.Contains(log, `"toolCallId":"call-1","invocationId":"inv"`) {
					t.Errorf("%s: logged %s", at.stage, log)
				}
			}
		})
	}
}

// TestPolicyKnowsUncheckedArguments: policy gets the facts that arguments were repaired, or that no schema has
// checked them.
func TestPolicyKnowsUncheckedArguments(t *testing.T) {
	p := judgetest.Parse(t, approvals+"    rules: [{tool: core__tool, decision: allow}]\n")
	v, _ := judge(t, p, hook.WillCheckConsent.Stage(), func(f *hook.Facts) { f.Repaired = true })
	if v.Outcome != hook.Asked || v.Delta.Rule != "repaired call" {
		t.Errorf("repaired arguments: %+v", v)
	}
	v, _ = judge(t, p, hook.WillCheckConsent.Stage(), func(f *hook.Facts) { f.NoSchema = true })
	if v.Failure == nil || v.Delta.Rule != "noSchemaMode" {
		t.Errorf("arguments without a schema: %+v", v)
	}
}

// TestPolicyKnowsProvedSubjects: a condition sees the subject only if a key has proved who submitted the call.
func TestPolicyKnowsProvedSubjects(t *testing.T) {
	p := judgetest.Parse(t, approvals+"    rules: [{tool: core__tool, when: 'subject == \"user:sue\"', decision: allow}]\n")
	for _, tc := range []struct {
		name      string
		submitter *hook.Submitter
		want      hook.Outcome
	}{
		{"proved", &hook.Submitter{KeyID: "key"}, hook.Continue}, {"not proved", &hook.Submitter{}, hook.Asked}, {"no submitter", nil, hook.Asked},
	} {
		v, _ := judge(t, p, hook.WillCheckConsent.Stage(), func(f *hook.Facts) { f.Context.SubjectID, f.Submitter = "user:sue", tc.submitter })
		if v.Outcome != tc.want {
			t.Errorf("%s: %+v", tc.name, v)
		}
	}
}

// TestPolicyKnowsTags: a rule matches the tags of the tool, before its arguments are known and after. A worker
// without the tool knows no tags, so a condition on tags denies there.
func TestPolicyKnowsTags(t *testing.T) {
	p := judgetest.Parse(t, approvals+`    rules: [{tool: "*", when: '"pii" in tool.tags', decision: deny, message: not this}]`+"\n")
	for _, tc := range []struct {
		name   string
		tool   bool
		tags   []string
		denied bool
	}{{"tagged", true, []string{"files", "pii"}, true}, {"another tag", true, []string{"files"}, false}, {"no tag", true, nil, false}, {"no tool", false, nil, true}} {
		source := catalog.NewRegistry(toolspec.Capabilities{})
		if tc.tool {
			err := source.Add("test", toolspec.Define(toolspec.Definition{
				ID: "core__tool", Description: "A tool.", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Tags: tc.tags, Redaction: toolspec.Redaction{Allow: []string{"/text"}},
			}, func(context.Context, in, toolspec.Call) (out, error) { return out{}, nil }))
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, at := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
			v, _, err := judgeIn(t, p, authztest.AllowAll{}, source, at, func(f *hook.Facts) { f.Risk = toolspec.LowRisk })
			if err != nil {
				t.Fatal(err)
			}
			if denied := v.Failure != nil && v.Failure.Code == toolspec.CodePolicyDenied; denied != tc.denied {
				t.Errorf("%s at %s: %+v", tc.name, at, v)
			}
		}
	}
}

func TestPolicyAsks(t *testing.T) {
	v, _ := judge(t, judgetest.Parse(t, approvals), hook.WillCheckConsent.Stage(), nil)
	if v.Outcome != hook.Asked || *v.Ask != (hook.Ask{Message: "mode auto asks for calls of risk medium", Rule: "mode auto, risk medium"}) {
		t.Errorf("got %+v, %+v", v, v.Ask)
	}
}

func TestPolicyAway(t *testing.T) {
	p := judgetest.Parse(t, approvals)
	for _, s := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
		v, _, err := judgeWith(t, p, authztest.AllowAll{}, s, func(f *hook.Facts) { f.PolicyDigest = judgetest.Away })
		if !errs.IsTransient(err) {
			t.Errorf("%s: %+v, %v", s, v, err)
		}
	}
}

// TestStaleness: an approval covers the call that was approved. A new policy version with the same verdict does
// not make it stale.
func TestStaleness(t *testing.T) {
	p := judgetest.Parse(t, approvals)
	rule := policy.ApprovalRule{Enabled: true, ExpiresAfterMs: 3_600_000, AllowUnsigned: true}
	granted := hook.GrantedApproval{ApprovalID: "inv.1", ToolDigest: "td", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk, RuleDigest: rule.Digest(), Approver: "user:bob"}
	longer := "    approvals: {enabled: true, expiresAfter: 2h, allowUnsigned: true}\n"
	for _, tc := range []struct {
		name   string
		policy *policy.Policy
		change func(*hook.Facts)
		want   string
	}{
		{"as it was", p, func(*hook.Facts) {}, ""},
		{"another policy, the same rule", judgetest.Parse(t, longer+"    rules: [{tool: core__other, decision: deny}]\n"), func(*hook.Facts) {}, ""},
		{"the tool", p, func(f *hook.Facts) { f.ToolDigest = "other" }, "approval_stale What was approved has changed: the tool"},
		{"the effect", p, func(f *hook.Facts) { f.Effect = toolspec.ExternalSideEffect }, "approval_stale What was approved has changed: its effect"},
		{"the risk", p, func(f *hook.Facts) { f.Risk = toolspec.HighRisk }, "approval_stale What was approved has changed: its risk"},
		{"the risk, by a rule", judgetest.Parse(t, approvals+"    rules: [{tool: core__tool, risk: high}]\n"), func(*hook.Facts) {}, "approval_stale What was approved has changed: its risk"},
		{"who may approve", judgetest.Parse(t, "    approvals: {enabled: true, approvers: [\"lead:*\"], allowUnsigned: true}\n"), func(*hook.Facts) {}, "approval_stale What was approved has changed: who may approve it"},
		{"the connection", p, func(f *hook.Facts) { f.Connection = &hook.Connection{Generation: 1} }, "approval_stale What was approved has changed: its connection"},
		{"policy denies now", judgetest.Parse(t, approvals+"    rules: [{tool: core__tool, decision: deny, message: not today}]\n"), func(*hook.Facts) {}, "policy_denied not today"},
		{"policy allows now", judgetest.Parse(t, approvals+"    rules: [{tool: core__tool, decision: allow}]\n"), func(f *hook.Facts) { f.ToolDigest = "other" }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, _ := judge(t, tc.policy, hook.WillCheckConsent.Stage(), func(f *hook.Facts) {
				f.PolicyDigest, f.Approval = tc.policy.Digest(), &granted
				tc.change(f)
			})
			got := string(v.Outcome)
			if v.Failure != nil {
				got = string(v.Failure.Code) + " " + v.Failure.SafeMessage
				if v.Failure.Code == toolspec.CodeApprovalStale && v.Failure.Details.ApprovalID != "inv.1" {
					t.Errorf("details %+v", v.Failure.Details)
				}
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBudgetsAreTightened(t *testing.T) {
	p := judgetest.Parse(t, approvals+"    budgets: {maxRuntimeMs: 5000, maxResultBytes: 1000, deadlineMs: 60000}\n")
	for _, s := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
		v, _ := judge(t, p, s, nil)
		if v.Delta.Budgets == nil || *v.Delta.Budgets != (hook.Budgets{MaxRuntimeMs: 5000, MaxResultBytes: 1000, DeadlineMs: 60_000}) {
			t.Errorf("%s: %+v", s, v.Delta.Budgets)
		}
	}
}

type in struct {
	Text string `json:"text,omitempty"`
	Note string `json:"note,omitempty"`
}

type out struct {
	Text   string `json:"text"`
	Hidden string `json:"hidden,omitempty"`
}

// TestMasks: the gate denies a call only if policy masks a text that the output schema restricts.
func TestMasks(t *testing.T) {
	type outputs struct {
		Text  string `json:"text"`
		Short string `json:"short" jsonschema:"maxLength=10"`
	}
	tools := catalog.NewRegistry(toolspec.Capabilities{})
	tool := toolspec.Define(toolspec.Definition{
		ID: "core__tool", Description: "x", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{""}},
	}, func(context.Context, in, toolspec.Call) (outputs, error) { return outputs{}, nil })
	if err := tools.Add("worker", tool); err != nil {
		t.Fatal(err)
	}
	for masks, denied := range map[string]bool{
		`{tool: core__tool, path: /text, with: email}`:    false,
		`{tool: core__tool, path: /missing, with: email}`: false,
		`{tool: core__other, path: /short, with: email}`:  false,
		`{tool: core__tool, path: /short, with: email}`:   true,
		`{tool: "core__*", path: "", with: email}`:        true,
	} {
		p := judgetest.Parse(t, approvals+"    mask: ["+masks+"]\n")
		v, _, err := judgeIn(t, p, authztest.AllowAll{}, tools, hook.WillAuthorize.Stage(), func(f *hook.Facts) { f.Risk = toolspec.LowRisk })
		if err != nil || (v.Failure != nil) != denied {
			t.Errorf("%s: %+v, %v", masks, v.Failure, err)
		}
		if denied && (v.Failure.Code != toolspec.CodePolicyDenied || !strings.HasPrefix(v.Failure.Details.Rule, "mask ")) {
			t.Errorf("%s: %+v", masks, v.Failure)
		}
	}
}

// TestDemand: the gate demands the stages of limits and features only for calls that have limits or features.
func TestDemand(t *testing.T) {
	const features, quota, semaphore = hook.Stage("willCheckFeatureFlags"), hook.Stage("willAcquireQuota"), hook.Stage("willAcquireSemaphore")
	for tenant, want := range map[string][]hook.Stage{
		"": nil,
		"    limits: [{tool: core__other, concurrent: 1}]\n":                                              nil,
		"    limits: [{tool: core__tool, concurrent: 1}]\n":                                               {semaphore},
		"    limits: [{tool: core__tool, quota: {tokens: 1, every: 1h}}]\n":                               {quota},
		"    features: {x: {tools: [core__other], enabled: false}}\n":                                     nil,
		"    features: {x: {tools: [core__tool], enabled: true}}\n":                                       {features},
		"    limits: [{tool: \"*\", concurrent: 1}, {tool: core__tool, quota: {tokens: 1, every: 1h}}]\n": {quota, semaphore},
	} {
		for _, s := range []hook.Stage{"willAuthorize", "willCheckConsent"} {
			if v, _ := judge(t, judgetest.Parse(t, approvals+tenant), s, nil); !reflect.DeepEqual(v.Delta.Needs, want) {
				t.Errorf("%s with %q needs %v, want %v", s, tenant, v.Delta.Needs, want)
			}
		}
	}
}
