package workflows_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// repairPolicy allows every call without an approval, and lets Pawl repair the arguments of all tools.
const repairPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: yolo
    repair: ["core__*"]
    noSchemaMode: ask
    rules: [{tool: "core__*", decision: allow}]
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// outcomes returns the outcomes of lists of hydrations.
func outcomes(lists ...[]contract.Hydration) (list []toolspec.HydrationOutcome) {
	for _, hydrations := range lists {
		for _, h := range hydrations {
			list = append(list, h.Provenance.Outcome)
		}
	}
	return list
}

// TestRepairedCallsAreAskedAbout: a repaired call needs an approval in every mode, even if a rule allows the call. The approver sees the
// repaired arguments, and the tool runs with them. If policy allows no repair, or no repair is necessary, nobody is asked.
func TestRepairedCallsAreAskedAbout(t *testing.T) {
	strict := `
version: 1
tenants:
  acme:
    allowedTools: ["core__*"]
    mode: yolo
`
	for _, tc := range []struct {
		name, policy, tool, args string
		asks                     bool
		code                     toolspec.Code
		want                     string
	}{
		{"a type", repairPolicy, "core__read", `{"text":7}`, true, "", "7"},
		{"a type, of a tool with a claim", repairPolicy, "core__mail", `{"text":7}`, true, "", "7"},
		{"syntax", repairPolicy, "core__read", `"{text: 'hello',}"`, true, "", "hello"},
		{"nothing to mend", repairPolicy, "core__read", `{"text":"hello"}`, false, "", "hello"},
		{"a tolerance is no repair", repairPolicy, "core__read", `"{'text':'hello'}"`, false, "", "hello"},
		{"beyond mending", repairPolicy, "core__read", `{"txt":"hello"}`, false, toolspec.CodeValidation, ""},
		{"cut off", repairPolicy, "core__read", `"{\"text\":\"hel"`, false, toolspec.CodeInvalidJSON, ""},
		{"not allowed to mend", strict, "core__read", `{"text":7}`, false, toolspec.CodeValidation, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: tc.policy})
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
			result := r.run(call(tc.tool, tc.args))
			if result.ErrorCode != tc.code {
				t.Fatalf("ended with %+v", result)
			}
			if asked := len(r.records.requests) > 0; asked != tc.asks {
				t.Fatalf("asked %t", asked)
			}
			settled := r.records.settled[0]
			all := settled.Hydrations
			if tc.asks {
				row := r.records.requests[0].row
				all = append(row.Hydrations, all...)
				if string(row.View.Args) != `{"text":"`+tc.want+`"}` || row.PolicyRule != "repaired call" {
					t.Errorf("asked about %s by %s", row.View.Args, row.PolicyRule)
				}
				if len(settled.Hydrations) != 0 {
					t.Errorf("settle brings again what the request has written: %+v", settled.Hydrations)
				}
			}
			if len(all) != 1 || all[0].Provenance.Repaired != tc.asks || all[0].Seq != 1 || all[0].Provenance.ToolID != tc.tool || all[0].Provenance.ToolDigest == "" {
				t.Errorf("hydrations %+v", all)
			}
			var out echoOut
			if tc.code == "" && (json.Unmarshal(result.Value, &out) != nil || out.Text != tc.want) {
				t.Errorf("the tool got %s", result.Value)
			}
		})
	}
}

// TestEditsOfRepairedCalls: arguments that a person has edited are validated and never repaired, and need another request. Each hydration is
// recorded once.
func TestEditsOfRepairedCalls(t *testing.T) {
	r := newRig(t, rigOptions{policy: repairPolicy})
	edit := func(args string) func(*toolspec.Decision) {
		return func(d *toolspec.Decision) { d.EditedArgs = json.RawMessage(args) }
	}
	r.decideAfter(time.Minute, 1, toolspec.Edit, "user:bob", edit(`{"text":8}`))
	r.decideAfter(2*time.Minute, 1, toolspec.Edit, "user:bob", edit(`{"text":"eight"}`))
	r.decideAfter(3*time.Minute, 2, toolspec.Approve, "user:cid")
	result := r.run(call("core__read", `{"text":7}`))
	if !result.OK || string(result.Value) != `{"text":"eight"}` {
		t.Fatalf("ended with %+v", result)
	}
	if len(r.records.requests) != 2 {
		t.Fatalf("%d requests", len(r.records.requests))
	}
	got := outcomes(r.records.requests[0].row.Hydrations, r.records.requests[1].row.Hydrations, r.records.settled[0].Hydrations)
	if !reflect.DeepEqual(got, []toolspec.HydrationOutcome{"success", "success"}) {
		t.Errorf("hydrations %v", got)
	}
}

// TestCallsWithoutSchema: policy denies the calls of a tool without a schema. With noSchemaMode: ask, as in repairPolicy, these calls need an approval, even
// with a low risk (SP-24).
func TestCallsWithoutSchema(t *testing.T) {
	open := toolspec.Define(toolspec.Definition{
		ID: "core__open", Description: "test tool", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Fast: true,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}}, AllowNoSchema: true, NoSchemaMode: toolspec.NoSchemaAsk,
	}, func(_ context.Context, in json.RawMessage, _ toolspec.Call) (echoOut, error) {
		return echoOut{Text: string(in)}, nil
	})
	for _, tc := range []struct {
		name, policy string
		code         toolspec.Code
		asks         bool
	}{
		{"asked about", repairPolicy, "", true},
		{"denied", testPolicy, toolspec.CodePolicyDenied, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: tc.policy, tools: []toolspec.Tool{open}})
			r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
			result := r.run(call("core__open", `{"anything":[1]}`))
			if result.ErrorCode != tc.code || (len(r.records.requests) == 1) != tc.asks {
				t.Fatalf("%d requests, ended with %+v", len(r.records.requests), result)
			}
			if tc.asks {
				if p := r.records.requests[0].row.Hydrations[0].Provenance; p.Validator != nil || p.Outcome != toolspec.HydrationSuccess {
					t.Errorf("provenance %+v", p)
				}
			}
		})
	}
}

// TestRefusedCallsHaveProvenance: a call whose arguments are refused does not run its tool, and still records one hydration.
func TestRefusedCallsHaveProvenance(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		want toolspec.HydrationOutcome
	}{
		"parse": {`"{"`, toolspec.HydrationParse}, "validate": {`{"text":1}`, toolspec.HydrationValidate}, "success": {`{"text":"a"}`, toolspec.HydrationSuccess},
	} {
		t.Run(name, func(t *testing.T) {
			ran := ""
			spy := hook.New("spy", hook.WillExecute.Do(func(context.Context, *hook.Attempt) error { ran = "yes"; return nil }))
			r := newRig(t, rigOptions{hooks: []hook.Hook{spy}})
			inv := call("core__read", tc.args)
			inv.Provider = &toolspec.Provider{Name: "openai", ToolCall: json.RawMessage(`{"id":"call_9","function":{"name":"core__read","arguments":"x"}}`)}
			r.run(inv)
			list := r.records.settled[0].Hydrations
			if len(list) != 1 || list[0].Provenance.Outcome != tc.want || (ran != "") != (tc.want == toolspec.HydrationSuccess) {
				t.Fatalf("hydrations %+v, ran %q", list, ran)
			}
			p := list[0].Provenance
			if p.Provider != "openai" || p.ProviderToolID != "core__read" || p.ProviderCallID != "call_9" || p.SourceBytes == 0 || p.OriginalBytes != len(tc.args) || p.SchemaHash == "" {
				t.Errorf("provenance %+v", p)
			}
		})
	}
}
