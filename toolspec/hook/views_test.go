package hook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestReads: the methods of every view return the facts.
func TestReads(t *testing.T) {
	f := facts()
	run(t, hook.WillFinalizeInvoke.Stage(), f, at("h", hook.WillFinalizeInvoke, func(v *hook.Report) error {
		var k string
		ok, err := v.Data("k", &k)
		none, noErr := v.Data("none", &k)
		for what, pair := range map[string][2]any{
			"InvocationID": {v.InvocationID(), "inv"}, "ToolID": {v.ToolID(), "core__a"}, "ToolCallID": {v.ToolCallID(), "call-1"},
			"Context": {v.Context(), f.Context}, "Effect": {v.Effect(), toolspec.StateChange}, "Risk": {v.Risk(), toolspec.MediumRisk},
			"ToolDigest": {v.ToolDigest(), "td"}, "PolicyDigest": {v.PolicyDigest(), "pd"}, "Round": {v.Round(), 2},
			"IdempotencyKey": {v.IdempotencyKey(), "inv/willFinalizeInvoke/h/2"},
			"StartedAt":      {v.StartedAt(), time.UnixMilli(1000).UTC()}, "Now": {v.Now(), time.UnixMilli(2000).UTC()},
			"Data": {fmt.Sprint(k, " ", ok, err, none, noErr), "v true <nil> false <nil>"}, "SafeArgs": {v.SafeArgs(), f.SafeArgs},
			"Output": {v.Output(), f.Output}, "OutputHistory": {v.OutputHistory(), f.OutputHistory}, "Source": {v.Source(), toolspec.SourceExecuted},
			"Failure": {v.Failure(), f.Failure}, "ErrorCode": {v.ErrorCode(), toolspec.CodeExecution}, "OK": {v.OK(), false},
			"Attempts": {v.Attempts(), 4}, "AuditIDs": {v.AuditIDs(), f.AuditIDs}, "Approval": {v.Approval(), f.Approval},
		} {
			if !reflect.DeepEqual(pair[0], pair[1]) {
				t.Errorf("%s is %v, want %v", what, pair[0], pair[1])
			}
		}
		return nil
	}))
	run(t, hook.WillCheckConsent.Stage(), f, at("h", hook.WillCheckConsent, func(v *hook.Consent) error {
		if string(v.Args()) != `{"a":1}` || !v.Approved() || !reflect.DeepEqual(v.ArgsHistory(), f.ArgsHistory) || !reflect.DeepEqual(v.Granted(), f.Approval) {
			t.Errorf("args %s, approved %v, history %s, granted %v", v.Args(), v.Approved(), v.ArgsHistory(), v.Granted())
		}
		return nil
	}))
	run(t, hook.DidCacheHit.Stage(), f, at("h", hook.DidCacheHit, func(v *hook.Cached) error {
		if string(v.Value()) != `{"c":1}` {
			t.Errorf("found %s", v.Value())
		}
		return nil
	}))
	run(t, hook.OnRetry.Stage(), f, at("h", hook.OnRetry, func(v *hook.Attempt) error {
		if v.Attempt() != 3 {
			t.Errorf("attempt %d", v.Attempt())
		}
		return nil
	}))
	run(t, hook.WillRedactOutput.Stage(), f, at("h", hook.WillRedactOutput, func(v *hook.Output) error {
		if !v.IsChallenge() {
			t.Error("not a challenge")
		}
		return nil
	}))
}

// TestNothingYet: the views of a call that has just started are empty.
func TestNothingYet(t *testing.T) {
	run(t, hook.WillFinalizeInvoke.Stage(), hook.Facts{}, at("h", hook.WillFinalizeInvoke, func(v *hook.Report) error {
		if !v.OK() || v.ErrorCode() != "" || v.Failure() != nil || v.Approval() != nil || v.Output() != nil || len(v.AuditIDs()) != 0 {
			t.Errorf("%+v", v)
		}
		return nil
	}))
	run(t, hook.WillCheckConsent.Stage(), hook.Facts{}, at("h", hook.WillCheckConsent, func(v *hook.Consent) error {
		if v.Approved() || v.Granted() != nil || v.Args() != nil {
			t.Errorf("%+v", v)
		}
		return nil
	}))
}

// TestLaterHooksSeeEarlierChanges: a hook sees the changes of earlier hooks, in its own stage too.
func TestLaterHooksSeeEarlierChanges(t *testing.T) {
	v := run(t, hook.WillNormalizeInput.Stage(), facts(),
		at("first", hook.WillNormalizeInput, func(v *hook.Input) error {
			v.SetArgs(map[string]int{"a": 2})
			v.SetSafeArgs(map[string]string{"a": "two"})
			v.Put("k", "new")
			v.Put("n", 1)
			return nil
		}),
		at("second", hook.WillNormalizeInput, func(v *hook.Input) error {
			var k string
			var n int
			if _, err := v.Data("k", &k); err != nil {
				t.Error(err)
			}
			if _, err := v.Data("n", &n); err != nil {
				t.Error(err)
			}
			if string(v.Args()) != `{"a":2}` || string(v.SafeArgs()) != `{"a":"two"}` || k != "new" || n != 1 {
				t.Errorf("the second hook sees %s, %s, %s, %d", v.Args(), v.SafeArgs(), k, n)
			}
			v.Put("n", n+1)
			return nil
		}))
	want := hook.Delta{Args: raw(`{"a":2}`), SafeArgs: raw(`{"a":"two"}`), Data: []hook.Entry{{Key: "k", Value: raw(`"new"`)}, {Key: "n", Value: raw("2")}}}
	if !reflect.DeepEqual(v.Delta, want) {
		t.Errorf("delta %+v, want %+v", v.Delta, want)
	}
	v = run(t, hook.WillTransformOutput.Stage(), facts(),
		at("first", hook.WillTransformOutput, func(v *hook.Output) error { v.SetOutput(raw(`{"o":2}`)); return nil }),
		at("second", hook.WillTransformOutput, func(v *hook.Output) error {
			if string(v.Output()) != `{"o":2}` {
				t.Errorf("the second hook sees %s", v.Output())
			}
			return nil
		}))
	if string(v.Delta.Output) != `{"o":2}` {
		t.Errorf("delta %+v", v.Delta)
	}
}

// TestFailingHookLeavesNothing: the changes of a failing hook are dropped, and the changes of
// earlier hooks stay, even the changes that the failing hook replaced.
func TestFailingHookLeavesNothing(t *testing.T) {
	v := run(t, hook.WillCheckConsent.Stage(), facts(),
		at("good", hook.WillCheckConsent, func(v *hook.Consent) error {
			v.Put("n", 1)
			v.Tighten(hook.Budgets{MaxRuntimeMs: 100})
			return nil
		}),
		at("bad", hook.WillCheckConsent, func(v *hook.Consent) error {
			v.Put("n", canary)
			v.Put("m", canary)
			v.Tighten(hook.Budgets{MaxRuntimeMs: 1, MaxResultBytes: 1})
			v.Explain(canary)
			panic(canary)
		}))
	want := hook.Delta{Data: []hook.Entry{{Key: "n", Value: raw("1")}}, Budgets: &hook.Budgets{MaxRuntimeMs: 100}}
	if !reflect.DeepEqual(v.Delta, want) {
		t.Errorf("delta %+v, want %+v", v.Delta, want)
	}
}

// TestAbortKeepsItsChanges: the changes of a hook that aborts the call are kept.
func TestAbortKeepsItsChanges(t *testing.T) {
	v := run(t, hook.WillAuthorize.Stage(), facts(), at("h", hook.WillAuthorize, func(v *hook.Gate) error { v.Put("why", 1); return v.Abort("x") }))
	if len(v.Delta.Data) != 1 || v.Outcome != hook.Failed {
		t.Errorf("got %+v", v)
	}
}

func TestBudgetsTighten(t *testing.T) {
	for _, tc := range []struct{ a, b, want hook.Budgets }{
		{hook.Budgets{}, hook.Budgets{MaxRuntimeMs: 5}, hook.Budgets{MaxRuntimeMs: 5}},
		{hook.Budgets{MaxRuntimeMs: 5}, hook.Budgets{}, hook.Budgets{MaxRuntimeMs: 5}},
		{hook.Budgets{MaxRuntimeMs: 5, MaxResultBytes: 5, DeadlineMs: 5}, hook.Budgets{MaxRuntimeMs: 6, MaxResultBytes: 4, DeadlineMs: 6}, hook.Budgets{MaxRuntimeMs: 5, MaxResultBytes: 4, DeadlineMs: 5}},
		{hook.Budgets{DeadlineMs: 5}, hook.Budgets{DeadlineMs: -1}, hook.Budgets{DeadlineMs: 5}},
	} {
		if got := tc.a.Tighten(tc.b); got != tc.want {
			t.Errorf("%+v by %+v is %+v, want %+v", tc.a, tc.b, got, tc.want)
		}
	}
}

func TestDeltaSize(t *testing.T) {
	d := hook.Delta{Args: raw("12"), SafeArgs: raw("123"), Output: raw("1234"), Cached: raw("12345"),
		Data: []hook.Entry{{Key: "12", Value: raw("1")}}, Audit: []hook.AuditEntry{{Kind: "12", Detail: raw("12")}}}
	if got := d.Size(); got != 2+3+4+5+3+4 {
		t.Errorf("size %d", got)
	}
}

func TestFound(t *testing.T) {
	v := run(t, hook.WillReadCache.Stage(), facts(), at("found", hook.WillReadCache, func(v *hook.Lookup) error { v.Found(map[string]int{"x": 1}); return nil }))
	if string(v.Delta.Cached) != `{"x":1}` {
		t.Errorf("delta %+v", v.Delta)
	}
}

// TestMutatingHook: a hook that writes into all data that it can reach changes nothing for later hooks or
// for the call.
func TestMutatingHook(t *testing.T) {
	overwrite := func(list ...json.RawMessage) {
		for _, raw := range list {
			for i := range raw {
				raw[i] = 'X'
			}
		}
	}
	mutatingHook := func(_ context.Context, f hook.Facts) (bool, error) {
		overwrite(f.Args, f.SafeArgs, f.Output, f.Cached, f.Data[0].Value, f.Bindings[0].Args, f.Discovered.Annotations)
		overwrite(f.ArgsHistory...)
		overwrite(f.OutputHistory...)
		f.ArgsHistory[0], f.OutputHistory[0], f.Data[0].Key = nil, nil, "X"
		f.Failure.Code, f.Failure.Details.Rule, f.Failure.Details.Problems[0].Path = "X", "X", "X"
		f.Approval.Approver, f.AuditIDs[0], f.Context.ToolIDs[0] = "X", "X", "X"
		f.Submitter.KeyID, f.Discovered.Digest, f.Connection.Status = "X", "X", "X"
		f.Connection.Scopes[0], f.Connection.Grants[0].Scopes[0], f.Connection.Grants[0].Grantee = "X", "X", "X"
		return true, nil
	}
	f := facts()
	v := run(t, hook.WillFinalizeInvoke.Stage(), f, at("h", hook.WillFinalizeInvoke, func(v *hook.Report) error {
		overwrite(v.SafeArgs(), v.Output())
		overwrite(v.OutputHistory()...)
		v.OutputHistory()[0], v.Context().ToolIDs[0], v.AuditIDs()[0] = nil, "X", "X"
		v.Failure().Code, v.Failure().Details.Rule, v.Failure().Details.Problems[0].Path = "X", "X", "X"
		v.Approval().Approver = "X"
		var data json.RawMessage
		if _, err := v.Data("k", &data); err != nil {
			t.Error(err)
		}
		overwrite(data)
		return nil
	}, hook.Filter(mutatingHook)))
	if !reflect.DeepEqual(f, facts()) || !reflect.DeepEqual(v, hook.Verdict{}) {
		t.Errorf("the facts are %+v, the verdict %+v", f, v)
	}
	v = run(t, hook.WillNormalizeInput.Stage(), f, at("h", hook.WillNormalizeInput, func(v *hook.Input) error {
		own := raw(`{"a":2}`)
		v.SetArgs(own)
		v.SetSafeArgs(own)
		v.Put("p", own)
		overwrite(own, v.Args(), v.SafeArgs())
		overwrite(v.ArgsHistory()...)
		return nil
	}, hook.Filter(mutatingHook)))
	if !reflect.DeepEqual(f, facts()) || string(v.Delta.Args) != `{"a":2}` || string(v.Delta.SafeArgs) != `{"a":2}` || string(v.Delta.Data[0].Value) != `{"a":2}` {
		t.Errorf("the facts are %+v, the verdict %+v", f, v)
	}
	run(t, hook.WillCheckConsent.Stage(), f, at("h", hook.WillCheckConsent, func(v *hook.Consent) error { v.Granted().Approver = "X"; return nil }))
	run(t, hook.DidCacheHit.Stage(), f, at("h", hook.DidCacheHit, func(v *hook.Cached) error { overwrite(v.Value()); return nil }))
	if !reflect.DeepEqual(f, facts()) {
		t.Errorf("the facts are %+v", f)
	}
	all := []string{"h"}
	r, _ := registry(t, hook.New("h", hook.Filter(mutatingHook),
		hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
			value, err := v.Next()
			overwrite(value, v.Args())
			return err
		}),
		hook.WillExecute.Do(func(_ context.Context, v *hook.Attempt) error { overwrite(v.Args()); return nil }),
		hook.DidExecute.Do(func(_ context.Context, v *hook.Executed) error { overwrite(v.RawOutput()); return nil })))
	out := r.Attempt(t.Context(), hook.AttemptInput{Around: all, WillExecute: all, DidExecute: all, Facts: f}, value(`{"raw":1}`))
	if out.Outcome != hook.Continue || string(out.Value) != `{"raw":1}` || !reflect.DeepEqual(f, facts()) {
		t.Errorf("the facts are %+v, the verdict %+v", f, out)
	}
}
