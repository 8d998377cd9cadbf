package hooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/activities/hooks"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/authz"
	"github.com/pawl-run/pawl/policy/authz/authztest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
)

const canary = "canary-4711"

// policies holds versions by digest.
type policies map[string]*policy.Policy

func (p policies) Policy(_ context.Context, digest string) (*policy.Policy, error) {
	if digest == "away" {
		return nil, hook.Transient(errors.New(canary))
	}
	return p[digest], nil
}

func parse(t *testing.T, tenant string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("test.yaml", []byte("version: 1\ntenants:\n  acme:\n    allowedTools: [\"core__*\"]\n    mode: auto\n"+tenant))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const approvals = "    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}\n"

// gate runs the policy hook at a stage.
func gate(t *testing.T, p *policy.Policy, s hook.Stage, change func(*hook.Facts)) (hook.Verdict, string) {
	t.Helper()
	v, log, err := gateOf(t, p, authztest.AllowAll{}, s, change)
	if err != nil {
		t.Fatal(err)
	}
	return v, log
}

// gateOf is gate with another engine.
func gateOf(t *testing.T, p *policy.Policy, engine authz.Port, s hook.Stage, change func(*hook.Facts)) (hook.Verdict, string, error) {
	t.Helper()
	return gateIn(t, p, engine, catalog.NewRegistry(toolspec.Capabilities{}), s, change)
}

// gateIn is gateOf in a worker with tools.
func gateIn(t *testing.T, p *policy.Policy, engine authz.Port, source activities.Source, s hook.Stage, change func(*hook.Facts)) (hook.Verdict, string, error) {
	t.Helper()
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	r, err := hook.NewRegistry(logger, []hook.Hook{hooks.Policy(policies{p.Digest(): p}, engine, source, logger)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := hook.Facts{
		InvocationID: "inv", ToolID: "core__tool", ToolCallID: "call-1", Effect: toolspec.StateChange, Risk: toolspec.MediumRisk,
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, ToolDigest: "td", PolicyDigest: p.Digest(),
		Args: json.RawMessage(`{"text":"` + canary + `"}`),
	}
	if change != nil {
		change(&f)
	}
	v, failed := r.Run(t.Context(), hook.StageInput{Stage: s, Hooks: []string{"policy"}, Facts: f})
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text)+log.String(), canary) {
		t.Errorf("the canary leaves the hook: %s, %s", text, &log)
	}
	return v, log.String(), failed
}

// TestPolicyVerdicts: what policy says at each of its two stages. Without the
// arguments only a deny is acted upon.
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
				v, log := gate(t, parse(t, tc.tenant), at.stage, tc.change)
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
				// Every denial is one loud line with the ids (ER-01).
				if denied := v.Failure != nil; strings.Contains(log, `"level":"WARN","msg":"policy denied a call"`) != denied ||
					denied && !strings.Contains(log, `"toolCallId":"call-1","invocationId":"inv"`) {
					t.Errorf("%s: logged %s", at.stage, log)
				}
			}
		})
	}
}

// TestPolicyKnowsTags: a rule goes by what the tool is tagged with, before its arguments are known and with them. A worker without the tool
// knows no tags, and a condition on them then denies (SP-25).
func TestPolicyKnowsTags(t *testing.T) {
	p := parse(t, approvals+`    rules: [{tool: "*", when: '"pii" in tool.tags', decision: deny, message: not this}]`+"\n")
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
			v, _, err := gateIn(t, p, authztest.AllowAll{}, source, at, func(f *hook.Facts) { f.Risk = toolspec.LowRisk })
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
	v, _ := gate(t, parse(t, approvals), hook.WillCheckConsent.Stage(), nil)
	if v.Outcome != hook.Asked || *v.Ask != (hook.Ask{Message: "mode auto asks for calls of risk medium", Rule: "mode auto, risk medium"}) || v.By != "policy" {
		t.Errorf("got %+v, %+v", v, v.Ask)
	}
}

func TestPolicyAway(t *testing.T) {
	r, err := hook.NewRegistry(slog.New(slog.DiscardHandler), []hook.Hook{hooks.Policy(policies{}, authztest.AllowAll{}, catalog.NewRegistry(toolspec.Capabilities{}), slog.New(slog.DiscardHandler))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
		if v, err := r.Run(t.Context(), hook.StageInput{Stage: s, Hooks: []string{"policy"}, Facts: hook.Facts{PolicyDigest: "away"}}); !hook.IsTransient(err) {
			t.Errorf("%s: %+v, %v", s, v, err)
		}
	}
}

// TestStaleness: an approval covers what was asked. A new policy version with the
// same verdict changes nothing.
func TestStaleness(t *testing.T) {
	p := parse(t, approvals)
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
		{"another policy, the same rule", parse(t, longer+"    rules: [{tool: core__other, decision: deny}]\n"), func(*hook.Facts) {}, ""},
		{"the tool", p, func(f *hook.Facts) { f.ToolDigest = "other" }, "approval_stale What was approved has changed: the tool"},
		{"the effect", p, func(f *hook.Facts) { f.Effect = toolspec.ExternalSideEffect }, "approval_stale What was approved has changed: its effect"},
		{"the risk", p, func(f *hook.Facts) { f.Risk = toolspec.HighRisk }, "approval_stale What was approved has changed: its risk"},
		{"the risk, by a rule", parse(t, approvals+"    rules: [{tool: core__tool, risk: high}]\n"), func(*hook.Facts) {}, "approval_stale What was approved has changed: its risk"},
		{"who may approve", parse(t, "    approvals: {enabled: true, approvers: [\"lead:*\"], allowUnsigned: true}\n"), func(*hook.Facts) {}, "approval_stale What was approved has changed: who may approve it"},
		{"policy denies now", parse(t, approvals+"    rules: [{tool: core__tool, decision: deny, message: not today}]\n"), func(*hook.Facts) {}, "policy_denied not today"},
		{"policy allows now", parse(t, approvals+"    rules: [{tool: core__tool, decision: allow}]\n"), func(f *hook.Facts) { f.ToolDigest = "other" }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v, _ := gate(t, tc.policy, hook.WillCheckConsent.Stage(), func(f *hook.Facts) {
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
	p := parse(t, approvals+"    budgets: {maxRuntimeMs: 5000, maxResultBytes: 1000, deadlineMs: 60000}\n")
	for _, s := range []hook.Stage{hook.WillAuthorize.Stage(), hook.WillCheckConsent.Stage()} {
		v, _ := gate(t, p, s, nil)
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

func redaction(t *testing.T, s hook.Stage, f hook.Facts) (hook.Verdict, error) {
	t.Helper()
	source := catalog.NewRegistry(toolspec.Capabilities{})
	err := source.Add("test", toolspec.Define(toolspec.Definition{
		ID: "core__tool", Description: "A tool.", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}, MaskInput: []string{"/note"}},
	}, func(context.Context, in, toolspec.Call) (out, error) { return out{}, nil }))
	if err != nil {
		t.Fatal(err)
	}
	var _ activities.Source = source
	r, err := hook.NewRegistry(slog.New(slog.DiscardHandler), hooks.Redaction(source), nil)
	if err != nil {
		t.Fatal(err)
	}
	name := "redact-output"
	if s == hook.WillRedactInput.Stage() {
		name = "redact-input"
	}
	return r.Run(t.Context(), hook.StageInput{Stage: s, Hooks: []string{name}, Facts: f})
}

func TestRedaction(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	for _, tc := range []struct {
		name  string
		stage hook.Stage
		facts hook.Facts
		want  hook.Delta
		code  toolspec.Code
	}{
		{"arguments", hook.WillRedactInput.Stage(), hook.Facts{Args: raw(`{"note":"x","text":"a"}`)}, hook.Delta{SafeArgs: raw(`{"note":"***","text":"a"}`)}, ""},
		{"what hooks made of them", hook.WillRedactInput.Stage(), hook.Facts{Args: raw(`{"note":"x","text":"a"}`), SafeArgs: raw(`{"note":"y","text":"*"}`)},
			hook.Delta{SafeArgs: raw(`{"note":"***","text":"*"}`)}, ""},
		{"what is no JSON", hook.WillRedactInput.Stage(), hook.Facts{Args: raw(`{`)}, hook.Delta{}, toolspec.CodeRedactionFailed},
		{"output", hook.WillRedactOutput.Stage(), hook.Facts{Output: raw(`{"text":"a","hidden":"x"}`)}, hook.Delta{Output: raw(`{"text":"a"}`)}, ""},
		{"broken output", hook.WillRedactOutput.Stage(), hook.Facts{Output: raw(`{`)}, hook.Delta{}, toolspec.CodeRedactionFailed},
		{"a challenge", hook.WillRedactOutput.Stage(), hook.Facts{Output: raw(`{"consent":"x"}`), Challenge: true}, hook.Delta{}, ""},
		{"valid", hook.WillValidateOutput.Stage(), hook.Facts{Output: raw(`{"text":"a"}`)}, hook.Delta{}, ""},
		{"invalid", hook.WillValidateOutput.Stage(), hook.Facts{Output: raw(`{"text":1}`)}, hook.Delta{}, toolspec.CodeOutputValidation},
		{"not redacted", hook.WillValidateOutput.Stage(), hook.Facts{Output: raw(`{"text":"a","hidden":"x"}`)}, hook.Delta{}, toolspec.CodeOutputValidation},
		{"an invalid challenge", hook.WillValidateOutput.Stage(), hook.Facts{Output: raw(`{"consent":"x"}`), Challenge: true}, hook.Delta{}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.facts.ToolID = "core__tool"
			v, err := redaction(t, tc.stage, tc.facts)
			if err != nil {
				t.Fatal(err)
			}
			code := toolspec.Code("")
			if v.Failure != nil {
				code = v.Failure.Code
			}
			if !reflect.DeepEqual(v.Delta, tc.want) || code != tc.code {
				t.Errorf("got %+v, %q, want %+v, %q", v.Delta, code, tc.want, tc.code)
			}
			tc.facts.ToolID = "core__gone"
			if _, err := redaction(t, tc.stage, tc.facts); !hook.IsTransient(err) && !tc.facts.Challenge {
				t.Errorf("without the tool: %v", err)
			}
		})
	}
}

// TestSeats: the built-in hooks stand where they must, whatever others say of
// their priority.
func TestSeats(t *testing.T) {
	others := hook.New("other", hook.Priority(1<<30),
		hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return nil }),
		hook.WillRedactInput.Do(func(context.Context, *hook.Input) error { return nil }),
		hook.WillTransformOutput.Do(func(context.Context, *hook.Output) error { return nil }),
		hook.WillAudit.Do(func(context.Context, *hook.Audit) error { return nil }))
	log := slog.New(slog.DiscardHandler)
	builtin := append([]hook.Hook{hooks.Policy(policies{}, authztest.AllowAll{}, catalog.NewRegistry(toolspec.Capabilities{}), log), hooks.Audit()}, hooks.Redaction(catalog.NewRegistry(toolspec.Capabilities{}))...)
	names := func(hs []hook.Hook, s hook.Stage) string {
		r, err := hook.NewRegistry(log, hs, nil)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(r.Names(s, "core__tool"), " ")
	}
	with := append([]hook.Hook{others}, builtin...)
	for s, want := range map[hook.Stage]string{
		hook.WillAuthorize.Stage(): "policy other", hook.WillRedactInput.Stage(): "other redact-input", hook.WillRedactOutput.Stage(): "redact-output",
		hook.WillValidateOutput.Stage(): "redact-output", hook.WillTransformOutput.Stage(): "other", hook.WillAudit.Stage(): "audit other",
	} {
		if got := names(with, s); got != want {
			t.Errorf("%s: %s, want %s", s, got, want)
		}
	}
	for s, want := range map[hook.Stage]string{
		hook.WillAuthorize.Stage(): "policy", hook.WillRedactInput.Stage(): "", hook.WillRedactOutput.Stage(): "", hook.WillValidateOutput.Stage(): "",
	} {
		if got := names(builtin, s); got != want {
			t.Errorf("alone, %s: %s, want %s", s, got, want)
		}
	}
}

// TestAudit: one line per call with ids and codes only.
func TestAudit(t *testing.T) {
	r, err := hook.NewRegistry(slog.New(slog.DiscardHandler), []hook.Hook{hooks.Audit()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := hook.Facts{
		ToolID: "core__tool", ToolDigest: "td", Effect: toolspec.StateChange, Risk: toolspec.HighRisk, PolicyDigest: "pd", Attempts: 2,
		Context: toolspec.Context{TenantID: "acme", RunID: "run-1", ActorID: "user:ann"}, Args: json.RawMessage(`"` + canary + `"`), Output: json.RawMessage(`"` + canary + `"`),
		Failure: &hook.Failure{Code: toolspec.CodeTimeout, SafeMessage: canary}, Approval: &hook.GrantedApproval{ApprovalID: "inv.1", Approver: "user:bob", Digest: "d"},
	}
	v, err := r.Run(t.Context(), hook.StageInput{Stage: hook.WillAudit.Stage(), Hooks: []string{"audit"}, Facts: f})
	if err != nil || len(v.Delta.Audit) != 1 || len(v.Notes) != 0 {
		t.Fatalf("got %+v, %v", v, err)
	}
	want := `{"toolId":"core__tool","toolDigest":"td","effect":"state_change","risk":"high","context":{"tenantId":"acme","runId":"run-1","actorId":"user:ann"},` +
		`"policyDigest":"pd","ok":false,"errorCode":"timeout","attempts":2,"approvalId":"inv.1","approvedBy":"user:bob","digest":"d"}`
	if got := v.Delta.Audit[0]; got.Kind != "invocation" || string(got.Detail) != want {
		t.Errorf("got %s %s", got.Kind, got.Detail)
	}
}
