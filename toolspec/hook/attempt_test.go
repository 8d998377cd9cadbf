package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
)

func value(v string) func(context.Context) (json.RawMessage, error) {
	return func(context.Context) (json.RawMessage, error) { return raw(v), nil }
}

var errTool = errors.New(canary)

func fails(context.Context) (json.RawMessage, error) { return nil, errTool }

// try runs one attempt with the hooks at all their stages.
func try(t *testing.T, tool func(context.Context) (json.RawMessage, error), hooks ...hook.Hook) hook.AttemptVerdict {
	t.Helper()
	r, log := registry(t, hooks...)
	v := r.Attempt(t.Context(), hook.AttemptInput{
		Around: r.Names(hook.AroundExecute.Stage(), "core__a"), WillExecute: r.Names(hook.WillExecute.Stage(), "core__a"),
		DidExecute: r.Names(hook.DidExecute.Stage(), "core__a"), Facts: facts(),
	}, tool)
	if strings.Contains(log.String(), canary) {
		t.Errorf("the log holds the canary: %s", log)
	}
	return v
}

// TestNesting: outer enter, inner enter, willExecute, execute, didExecute, inner
// exit, outer exit (LC-20, HK-08).
func TestNesting(t *testing.T) {
	var log []string
	note := func(s string) { log = append(log, s) }
	around := func(name string, priority int) hook.Hook {
		return hook.New(name, hook.Priority(priority),
			hook.AroundExecute.Do(func(_ context.Context, v *hook.Around) error {
				note(name + " enters")
				out, err := v.Next()
				note(name + " leaves with " + string(out))
				return err
			}),
			hook.WillExecute.Do(func(_ context.Context, v *hook.Attempt) error { note(name + " will"); return nil }),
			hook.DidExecute.Do(func(_ context.Context, v *hook.Executed) error {
				note(name + " did " + string(v.RawOutput()))
				return nil
			}))
	}
	v := try(t, func(context.Context) (json.RawMessage, error) { note("tool"); return raw(`1`), nil }, around("inner", 10), around("outer", 100))
	want := "outer enters, inner enters, outer will, inner will, tool, inner did 1, outer did 1, inner leaves with 1, outer leaves with 1"
	if got := strings.Join(log, ", "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	var trace []string
	for _, s := range v.Trace {
		trace = append(trace, fmt.Sprint(s.Stage, " ", s.OK))
	}
	if got := strings.Join(trace, ", "); got != "aroundExecute true, aroundExecute true, willExecute true, didExecute true" {
		t.Errorf("trace %s", got)
	}
	if v.Outcome != hook.Continue || string(v.Value) != "1" || v.Err != nil || v.Failure != nil {
		t.Errorf("got %+v", v)
	}
}

func passes(v *hook.Around) error { _, err := v.Next(); return err }

func TestAttemptOutcomes(t *testing.T) {
	internal := func(stage hook.Stage) *hook.Failure {
		return &hook.Failure{Code: toolspec.CodeInternal, SafeMessage: "hook h failed at " + string(stage), Details: &toolspec.Details{Stage: string(stage)}}
	}
	aborted := &hook.Failure{Code: toolspec.CodeAborted, SafeMessage: "why", Details: &toolspec.Details{Code: "own"}}
	around, will, did := hook.AroundExecute, hook.WillExecute, hook.DidExecute
	outer := at("outer", around, passes, hook.Priority(1))
	for _, tc := range []struct {
		name  string
		hooks []hook.Hook
		fails bool
		ran   int
		want  hook.AttemptVerdict
	}{
		{"no hooks", nil, false, 1, hook.AttemptVerdict{Value: raw(`1`)}},
		{"no hooks, the tool fails", nil, true, 1, hook.AttemptVerdict{Err: errTool}},
		{"the tool's error goes through", []hook.Hook{outer, at("h", around, passes)}, true, 1, hook.AttemptVerdict{Err: errTool}},
		{"a swallowed error stays one", []hook.Hook{at("h", around, func(v *hook.Around) error { _, _ = v.Next(); return nil })}, true, 1, hook.AttemptVerdict{Err: errTool}},
		{"an error of the hook's own hides no error", []hook.Hook{at("h", around, func(v *hook.Around) error { _, _ = v.Next(); return errors.New(canary) })},
			true, 1, hook.AttemptVerdict{Err: errTool}},
		{"next is not called", []hook.Hook{outer, at("h", around, func(*hook.Around) error { return nil })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(around.Stage())}},
		{"next is called twice", []hook.Hook{at("h", around, func(v *hook.Around) error { _, _ = v.Next(); return passes(v) })}, false, 1,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(around.Stage())}},
		{"next is called again after a failure", []hook.Hook{at("h", around, func(v *hook.Around) error { _, _ = v.Next(); return passes(v) })}, true, 1,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(around.Stage())}},
		{"respond instead", []hook.Hook{outer, at("h", around, func(v *hook.Around) error { return v.Respond(7) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Responded, By: "h", Value: raw(`7`)}},
		{"respond after", []hook.Hook{outer, at("h", around, func(v *hook.Around) error { _, _ = v.Next(); return v.Respond(7) })}, false, 1,
			hook.AttemptVerdict{Outcome: hook.Responded, By: "h", Value: raw(`7`)}},
		{"a challenge instead", []hook.Hook{at("h", around, func(v *hook.Around) error { return v.RespondChallenge(7) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Responded, By: "h", Value: raw(`7`), Challenge: true}},
		{"abort in around", []hook.Hook{outer, at("h", around, func(v *hook.Around) error { return v.Abort("why", hook.Code("own")) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: aborted}},
		{"abort in willExecute", []hook.Hook{outer, at("h", will, func(v *hook.Attempt) error { return v.Abort("why", hook.Code("own")) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: aborted}},
		{"abort with a secret as the code", []hook.Hook{at("h", will, func(v *hook.Attempt) error { return v.Abort("why", hook.Code(secret)) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: &hook.Failure{Code: toolspec.CodeAborted, SafeMessage: "why", Details: &toolspec.Details{}}}},
		{"an abort that an outer hook swallows", []hook.Hook{at("swallows", around, func(v *hook.Around) error { _, _ = v.Next(); return nil }),
			at("h", will, func(v *hook.Attempt) error { return v.Abort("why", hook.Code("own")) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: aborted}},
		{"abort in didExecute", []hook.Hook{outer, at("h", did, func(v *hook.Executed) error { return v.Abort("why", hook.Code("own")) })}, false, 1,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: aborted}},
		{"no didExecute after a failure", []hook.Hook{at("h", did, func(v *hook.Executed) error { return v.Abort("why") })}, true, 1, hook.AttemptVerdict{Err: errTool}},
		{"plain error in willExecute", []hook.Hook{at("h", will, func(*hook.Attempt) error { return errors.New(canary) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(will.Stage())}},
		{"panic in didExecute", []hook.Hook{at("h", did, func(*hook.Executed) error { panic(canary) })}, false, 1,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(did.Stage())}},
		{"panic in around", []hook.Hook{at("h", around, func(*hook.Around) error { panic(canary) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(around.Stage())}},
		{"a verb that is not returned", []hook.Hook{at("h", around, func(v *hook.Around) error { _ = v.Abort("x"); return passes(v) })}, false, 1,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(around.Stage())}},
		{"an error that passes, in willExecute", []hook.Hook{outer, at("h", will, func(*hook.Attempt) error { return errs.Transient(errors.New(canary)) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(will.Stage()), Transient: true}},
		{"an error that passes, in didExecute", []hook.Hook{outer, at("h", did, func(*hook.Executed) error { return errs.Transient(errors.New(canary)) })}, false, 1,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(did.Stage()), Transient: true}},
		{"an error that passes, in around", []hook.Hook{outer, at("h", around, func(*hook.Around) error { return errs.Transient(errors.New(canary)) })}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(around.Stage()), Transient: true}},
		{"an error that passes, and an answer in its place", []hook.Hook{
			at("h", around, func(v *hook.Around) error { _, _ = v.Next(); return v.Respond(7) }),
			at("i", will, func(*hook.Attempt) error { return errs.Transient(errors.New(canary)) }),
		}, false, 0, hook.AttemptVerdict{Outcome: hook.Responded, By: "h", Value: raw(`7`)}},
		{"a filter skips around", []hook.Hook{at("h", around, func(*hook.Around) error { panic("runs") }, no), outer}, false, 1, hook.AttemptVerdict{Value: raw(`1`)}},
		{"a filter skips willExecute", []hook.Hook{at("h", will, func(*hook.Attempt) error { panic("runs") }, no)}, false, 1, hook.AttemptVerdict{Value: raw(`1`)}},
		{"a filter that fails", []hook.Hook{at("h", around, passes, hook.Filter(func(context.Context, hook.Facts) (bool, error) { return true, errors.New(canary) }))}, false, 0,
			hook.AttemptVerdict{Outcome: hook.Failed, By: "h", Failure: internal(around.Stage())}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ran := 0
			got := try(t, func(ctx context.Context) (json.RawMessage, error) {
				ran++
				if tc.fails {
					return fails(ctx)
				}
				return raw(`1`), nil
			}, tc.hooks...)
			if !errors.Is(got.Err, tc.want.Err) || tc.want.Err == nil && got.Err != nil {
				t.Errorf("the error is %v, want %v", got.Err, tc.want.Err)
			}
			got.Trace, got.Err, tc.want.Err = nil, nil, nil
			if !sameVerdict(got, tc.want) || ran != tc.ran || got.Ran != (tc.ran > 0) {
				t.Errorf("got %+v after %d runs, want %+v after %d", got, ran, tc.want, tc.ran)
			}
		})
	}
}

// TestToolShapesItsCall: a tool can respond and abort as hooks can. didExecute then does not run,
// and no outer hook can replace the outcome with a value (CF-02, LC-48).
func TestToolShapesItsCall(t *testing.T) {
	did := at("did", hook.DidExecute, func(*hook.Executed) error { panic("runs") })
	ignoresResult := at("deaf", hook.AroundExecute, func(v *hook.Around) error { _, _ = v.Next(); return nil })
	for _, tc := range []struct {
		name string
		err  error
		want hook.AttemptVerdict
	}{
		{"respond", toolspec.Respond(map[string]int{"a": 1}), hook.AttemptVerdict{Outcome: hook.Responded, By: "(tool)", Value: raw(`{"a":1}`)}},
		{"respond, wrapped", fmt.Errorf("%s: %w", canary, toolspec.Respond(7)), hook.AttemptVerdict{Outcome: hook.Responded, By: "(tool)", Value: raw(`7`)}},
		{"challenge", toolspec.RespondChallenge("who?"), hook.AttemptVerdict{Outcome: hook.Responded, By: "(tool)", Value: raw(`"who?"`), Challenge: true}},
		{"abort", toolspec.Abort("why", "own", 403), hook.AttemptVerdict{Outcome: hook.Failed, By: "(tool)", Failure: &hook.Failure{
			Code: toolspec.CodeAborted, SafeMessage: "why", HTTPStatus: 403, Details: &toolspec.Details{Code: "own"},
		}}},
		{"abort with too much", toolspec.Abort(strings.Repeat("a", 501), strings.Repeat("b", 65), 200), hook.AttemptVerdict{Outcome: hook.Failed, By: "(tool)", Failure: &hook.Failure{
			Code: toolspec.CodeAborted, SafeMessage: strings.Repeat("a", 500), Details: &toolspec.Details{Code: strings.Repeat("b", 64)},
		}}},
		{"abort with a secret", toolspec.Abort(secret, secret, 0), hook.AttemptVerdict{Outcome: hook.Failed, By: "(tool)", Failure: &hook.Failure{
			Code: toolspec.CodeAborted, Details: &toolspec.Details{},
		}}},
	} {
		for name, hooks := range map[string][]hook.Hook{"bare": nil, "hooks": {did, ignoresResult}} {
			t.Run(tc.name+" "+name, func(t *testing.T) {
				got := try(t, func(context.Context) (json.RawMessage, error) { return raw(`1`), tc.err }, hooks...)
				if !sameVerdict(got, tc.want) || got.Err != nil {
					t.Errorf("got %+v, want %+v", got, tc.want)
				}
			})
		}
	}
}

// sameVerdict compares all fields except errors and traces.
func sameVerdict(a, b hook.AttemptVerdict) bool {
	return a.Outcome == b.Outcome && a.Transient == b.Transient && bytes.Equal(a.Value, b.Value) && a.Challenge == b.Challenge && a.By == b.By && reflect.DeepEqual(a.Failure, b.Failure)
}

var no = hook.Filter(func(context.Context, hook.Facts) (bool, error) { return false, nil })

// TestMissingHookOfAttempt: if the worker lacks a hook of the attempt, neither the other hooks nor the tool run.
func TestMissingHookOfAttempt(t *testing.T) {
	r, _ := registry(t, everywhere(func(s hook.Stage) { t.Errorf("%s ran", s) }))
	here, gone := []string{"everywhere"}, []string{"everywhere", "gone"}
	for name, in := range map[string]hook.AttemptInput{
		"around": {Around: gone}, "will": {Around: here, WillExecute: gone}, "did": {Around: here, WillExecute: here, DidExecute: gone},
	} {
		v := r.Attempt(t.Context(), in, func(context.Context) (json.RawMessage, error) { t.Errorf("%s: the tool ran", name); return nil, nil })
		if want := (hook.AttemptVerdict{Outcome: hook.Missing, By: "gone"}); !sameVerdict(v, want) || v.Err != nil || len(v.Trace) > 0 {
			t.Errorf("%s: got %+v", name, v)
		}
		if by, lacks := r.Lacks(in); !lacks || by != "gone" {
			t.Errorf("%s: lacks %q, %v", name, by, lacks)
		}
	}
	if by, lacks := r.Lacks(hook.AttemptInput{Around: here, WillExecute: here, DidExecute: here}); lacks {
		t.Errorf("lacks %q", by)
	}
}
