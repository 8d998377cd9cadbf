package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestDeltas: the changes of all hooks of a call share one bound, because the server would end
// a workflow with more data.
func TestDeltas(t *testing.T) {
	kilobytes := func(name string, n int) hook.Hook {
		put := func(v interface{ Put(string, any) }) {
			for i := range n / 50 {
				v.Put(fmt.Sprint(name, i), strings.Repeat("x", 50<<10))
			}
		}
		return hook.New(name,
			hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error { put(v); return nil }),
			hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error { put(v); return nil }))
	}
	for _, tc := range []struct {
		name string
		kb   int
		code toolspec.Code
		want string
	}{
		{"within", 500, "", ""},
		{"beyond, together", 550, toolspec.CodeInternal, "the hooks of this call changed more than 1 MiB"},
		{"beyond, at once", 1050, toolspec.CodeInternal, "hook large failed at willAuthorize"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{kilobytes("large", tc.kb)}})
			if result := r.run(call("core__read", args)); result.ErrorCode != tc.code || result.SafeMessage != tc.want {
				t.Errorf("got %+v, want %q, %q", result, tc.code, tc.want)
			}
			if audit := r.records.settled[0].Audit; len(audit) != 1 || audit[0].Kind != contract.CallAudit {
				t.Errorf("the audit lines are %+v", audit)
			}
		})
	}
}

// TestAuditLineWithoutItsStage: a call has its audit line also if a hook of a user makes the stage willAudit fail, or uses up its time.
func TestAuditLineWithoutItsStage(t *testing.T) {
	fails := func(context.Context, *hook.Audit) error { return errs.Transient(errors.New("the collector is away")) }
	hangs := func(ctx context.Context, _ *hook.Audit) error { <-ctx.Done(); return ctx.Err() }
	for name, h := range map[string]hook.Hook{
		"fails":          hook.New("mine", hook.WillAudit.Do(fails)),
		"fails, durable": hook.New("mine", hook.Durable(time.Minute), hook.WillAudit.Do(fails)),
		"hangs, durable": hook.New("mine", hook.Durable(time.Second), hook.WillAudit.Do(hangs)),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{h}})
			if result := r.run(call("core__read", args)); !result.OK {
				t.Fatalf("got %+v", result)
			}
			audit := r.records.settled[0].Audit
			if len(audit) != 1 || audit[0].Kind != contract.CallAudit || !strings.Contains(string(audit[0].Detail), `"toolId":"core__read"`) || !strings.Contains(string(audit[0].Detail), `"ok":true`) {
				t.Errorf("the audit lines are %+v, and the stages were %s", audit, r.stages())
			}
		})
	}
}

// TestScratchpadCrossesStages: a hook can read an entry of the scratchpad that another hook
// wrote at an earlier stage (CX-05).
func TestScratchpadCrossesStages(t *testing.T) {
	var got []string
	r := newRig(t, rigOptions{hooks: []hook.Hook{
		hook.New("writer", hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error { v.Put("a", "gate"); v.Put("b", 1); return nil }),
			hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error { v.Put("a", "output"); return nil })),
		hook.New("reader", hook.WillCheckFeatureFlags.Do(func(_ context.Context, v *hook.Check) error { return read(v, &got) }),
			hook.OnMetrics.Do(func(_ context.Context, v *hook.Report) error { return read(v, &got) })),
	}})
	if result := r.run(call("core__read", args)); !result.OK {
		t.Errorf("got %+v", result)
	}
	if s := strings.Join(got, ", "); s != "gate 1, output 1" {
		t.Errorf("read %s", s)
	}
}

func read(v interface {
	Data(string, any) (bool, error)
}, got *[]string) error {
	var a string
	var b int
	if _, err := v.Data("a", &a); err != nil {
		return err
	}
	if _, err := v.Data("b", &b); err != nil {
		return err
	}
	*got = append(*got, fmt.Sprint(a, " ", b))
	return nil
}

// TestHistories: each change of the arguments or the output adds an entry to their history,
// after the hydrated arguments and the redacted value of the tool (CX-03, CX-04).
func TestHistories(t *testing.T) {
	set := func(text string) func(context.Context, *hook.Input) error {
		return func(_ context.Context, v *hook.Input) error { v.SetArgs(echoIn{Text: text}); return nil }
	}
	var argsSeen, outputSeen string
	join := func(list []json.RawMessage) string {
		parts := make([]string, len(list))
		for i, raw := range list {
			parts[i] = string(raw)
		}
		return strings.Join(parts, " ")
	}
	r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{
		hook.New("h", hook.WillParseInput.Do(set("one")), hook.WillValidateInput.Do(set("two")), hook.WillNormalizeInput.Do(set("three")),
			hook.WillExecute.Do(func(_ context.Context, v *hook.Attempt) error { argsSeen = join(v.ArgsHistory()); return nil }),
			hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
				v.SetOutput(echoOut{Text: "shaped", Hidden: "canary"})
				return nil
			}),
			hook.OnMetrics.Do(func(_ context.Context, v *hook.Report) error { outputSeen = join(v.OutputHistory()); return nil })),
	}})
	result := r.run(call("core__read", `{"text":"zero"}`))
	if string(result.Value) != `{"text":"shaped"}` {
		t.Errorf("got %+v", result)
	}
	if want := `{"text":"zero"} {"text":"one"} {"text":"two"} {"text":"three"}`; argsSeen != want {
		t.Errorf("arguments %s, want %s", argsSeen, want)
	}
	if !strings.HasPrefix(outputSeen, `{"text":"three"} `) || !strings.HasSuffix(outputSeen, ` {"text":"shaped"}`) || strings.Contains(outputSeen, "canary") || strings.Contains(outputSeen, "hidden") {
		t.Errorf("outputs %s", outputSeen)
	}
}

// TestChangedArgumentsAreValidated: the call ends if the tool does not accept the arguments
// that a hook has set.
func TestChangedArgumentsAreValidated(t *testing.T) {
	for name, tc := range map[string]struct {
		args any
		code toolspec.Code
	}{
		"fit":           {echoIn{Text: "x"}, ""},
		"do not fit":    {map[string]any{"text": 7}, toolspec.CodeValidation},
		"unknown field": {map[string]any{"text": "", "more": 1}, toolspec.CodeValidation},
		"no object":     {[]int{1}, toolspec.CodeValidation},
	} {
		r := newRig(t, rigOptions{policy: freePolicy, hooks: []hook.Hook{
			hook.New("h", hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error { v.SetArgs(tc.args); return nil })),
		}})
		if result := r.run(call("core__read", args)); result.ErrorCode != tc.code || (r.ran() == 1) != (tc.code == "") {
			t.Errorf("%s: got %+v", name, result)
		}
	}
}

// TestBudgetsBound: budgets that policy has tightened bound the attempt.
func TestBudgetsBound(t *testing.T) {
	small := strings.Replace(freePolicy, "mode: auto", "mode: auto\n    budgets: {maxResultBytes: 15}", 1)
	r := newRig(t, rigOptions{policy: small})
	if result := r.run(call("core__read", args)); result.ErrorCode != toolspec.CodeResultTooLarge {
		t.Errorf("got %+v", result)
	}
	quick := strings.Replace(freePolicy, "mode: auto", "mode: auto\n    budgets: {maxRuntimeMs: 10000}", 1)
	var budget time.Duration
	r = newRig(t, rigOptions{policy: quick, tools: []toolspec.Tool{patientMail(func(ctx context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
		deadline, _ := ctx.Deadline()
		budget = time.Until(deadline)
		return echoOut{Text: in.Text}, nil
	})}})
	if result := r.run(call("core__patient_mail", args)); !result.OK || budget > 10*time.Second {
		t.Errorf("got %+v with a budget of %s", result, budget)
	}
}

// TestLargeOutput: the workflow has the short form of a large value, and a hook that shapes the output gets the whole value.
func TestLargeOutput(t *testing.T) {
	large := call("core__read", `{"text":"x","mode":"large"}`)
	tool := toolspec.Define(toolspec.Definition{
		ID: "core__large", Description: "test tool", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(context.Context, echoIn, toolspec.Call) (echoOut, error) {
		return echoOut{Text: strings.Repeat("x", toolspec.MaxInline)}, nil
	})
	large.ToolID = "core__large"
	r := newRig(t, rigOptions{tools: []toolspec.Tool{tool}})
	if result := r.run(large); !result.OK || result.OutputRef != "output-1" || !result.Truncated || result.Bytes != toolspec.MaxInline+11 || len(result.Value) > 32<<10 || r.records.outputs != 1 {
		t.Errorf("got %+v", result)
	}
	r = newRig(t, rigOptions{tools: []toolspec.Tool{tool}, hooks: []hook.Hook{
		hook.New("h", hook.WillTransformOutput.Do(func(_ context.Context, v *hook.Output) error {
			v.SetOutput(map[string]any{"text": fmt.Sprintf("of %d", len(v.Output())), "hidden": "canary"})
			return nil
		})),
	}})
	if result := r.run(large); !result.OK || string(result.Value) != `{"text":"of 65547"}` || result.Truncated || result.OutputRef != "" {
		t.Errorf("got %.300s, %s", result.Value, result.SafeMessage)
	}
}

// TestUndecodableInput: a workflow whose input does not decode completes, without a record and without settle.
func TestUndecodableInput(t *testing.T) {
	for name, input := range map[string]any{
		"nothing": nil, "a text": "canary", "a number": 7, "an array": []int{1}, "unknown fields": map[string]any{"tool": "canary"},
		"bytes": []byte("canary"), "no tenant": map[string]any{"toolId": "core__read", "toolCallId": "call-1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rigOptions{})
			r.env.SetStartWorkflowOptions(startOptions("tool:acme:run-1:call-1"))
			early := r.update(0, decision(1, toolspec.Approve, "user:bob"))
			r.env.ExecuteWorkflow(toolspec.WorkflowType, input)
			result := r.result()
			if result.ErrorCode != toolspec.CodeValidation || result.OK || strings.Contains(fmt.Sprintf("%+v", result), "canary") {
				t.Errorf("got %+v", result)
			}
			if len(r.records.refused) != 1 || r.records.admits != 0 || r.records.settles != 0 {
				t.Errorf("%d refused, %d admits, %d settles", len(r.records.refused), r.records.admits, r.records.settles)
			}
			if early.answer != nil && early.answer.Counted {
				t.Errorf("a decision counted: %+v", early.answer)
			}
		})
	}
}

// TestForeignWorkflowID: a workflow whose id belongs to another call writes nothing into the record.
func TestForeignWorkflowID(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.env.SetStartWorkflowOptions(startOptions("tool:acme:run-1:call-2"))
	r.env.ExecuteWorkflow(toolspec.WorkflowType, call("core__read", args))
	result := r.result()
	if result.ErrorCode != toolspec.CodeValidation || result.Details.Kind != "foreign_workflow_id" || !strings.Contains(result.SafeMessage, "tool:acme:run-1:call-1") || r.ran() != 0 {
		t.Errorf("got %+v", result)
	}
	if r.records.admits != 0 || len(r.records.refused) != 1 {
		t.Errorf("%d admits", r.records.admits)
	}
}

// TestCancel: a cancel ends a call between two attempts, and while it waits for an approval.
func TestCancel(t *testing.T) {
	for _, tc := range []struct {
		name  string
		tool  string
		after time.Duration
		fail  func(int) error
		code  toolspec.Code
	}{
		{"between attempts", "core__remote", 30 * time.Second, func(int) error { return errPlain }, toolspec.CodeCancelled},
		{"between attempts in the local lane", "core__read", 30 * time.Second, func(int) error { return errPlain }, toolspec.CodeCancelled},
		{"while it waits", "core__write", time.Minute, nil, toolspec.CodeCancelled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := &recorder{}
			r := newRig(t, rigOptions{policy: slowRetries, fail: tc.fail, hooks: []hook.Hook{rec.hook()}})
			r.env.RegisterDelayedCallback(r.env.CancelWorkflow, tc.after)
			if result := r.run(call(tc.tool, args)); result.ErrorCode != tc.code || len(r.records.settled) != 1 {
				t.Errorf("got %+v", result)
			}
			checkPath(t, rec.seen, true)
		})
	}
}

// TestStepsGetBytes: a local activity cannot change the call by writing into its input. The SDK passes arguments of local activities by
// reference, and an activity that timed out may still run beside the workflow.
func TestStepsGetBytes(t *testing.T) {
	r := newRig(t, rigOptions{})
	r.env.RegisterDelayedCallback(func() {
		seen := r.records.requests[0].row.View.Args
		for i := range seen {
			seen[i] = 'X'
		}
	}, 30*time.Second)
	r.decideAfter(time.Minute, 1, toolspec.Approve, "user:bob")
	r.run(call("core__write", args))
	if got := string(r.records.settled[0].SafeArgs); got != args {
		t.Errorf("the call's arguments are %s, want %s", got, args)
	}
}
