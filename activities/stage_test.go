package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

func (w *world) stage(t *testing.T, s hook.Stage, change func(*hook.Facts)) hook.Verdict {
	t.Helper()
	f := w.facts()
	if change != nil {
		change(&f)
	}
	v, err := w.Stage(t.Context(), hook.StageInput{Stage: s, Hooks: []string{"h"}, Facts: f})
	if err != nil {
		t.Fatal(err)
	}
	w.checkCanary(t, v)
	return v
}

// TestRespondIsRedacted: the response of a hook is redacted and checked like a value of the tool. A challenge
// is not.
func TestRespondIsRedacted(t *testing.T) {
	for _, tc := range []struct {
		name  string
		value any
		want  string
		code  toolspec.Code
	}{
		{"a field that is not allowed", out{Text: "a", Hidden: canary}, `{"text":"a"}`, ""},
		{"a field that does not exist", map[string]any{"text": "a", "more": canary}, `{"text":"a"}`, ""},
		{"another type", map[string]any{"text": 1}, "", toolspec.CodeOutputValidation},
		{"a field missing", map[string]any{"hidden": canary}, "", toolspec.CodeOutputValidation},
		{"another root", canary, "", toolspec.CodeOutputValidation},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{hooks: []hook.Hook{hook.New("h", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error { return v.Respond(tc.value) }))}})
			got := w.stage(t, hook.WillCheckConsent.Stage(), nil)
			if tc.code != "" {
				if got.Outcome != hook.Failed || got.Failure.Code != tc.code || got.Value != nil || got.Failure.Details.Stage != "willCheckConsent" || got.By != "h" {
					t.Errorf("got %+v", got)
				}
				return
			}
			if got.Outcome != hook.Responded || string(got.Value) != tc.want {
				t.Errorf("got %+v, want %s", got, tc.want)
			}
		})
	}
	w := newWorld(t, setup{hooks: []hook.Hook{hook.New("h", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		return v.RespondChallenge(map[string]string{"consent": "https://x"})
	}))}})
	if got := w.stage(t, hook.WillCheckConsent.Stage(), nil); got.Outcome != hook.Responded || !got.Challenge || string(got.Value) != `{"consent":"https://x"}` {
		t.Errorf("challenge: %+v", got)
	}
}

// TestTransformCannotBringBack: a hook cannot restore a part that redaction has removed, at each stage that can
// change the output.
func TestTransformCannotBringBack(t *testing.T) {
	for _, p := range []hook.Point[*hook.Output]{hook.WillRedactOutput, hook.WillValidateOutput, hook.WillTransformOutput} {
		set := func(value any) *world {
			return newWorld(t, setup{hooks: []hook.Hook{hook.New("h", p.Do(func(_ context.Context, v *hook.Output) error { v.SetOutput(value); return nil }))}})
		}
		if got := set(out{Text: "b", Hidden: canary}).stage(t, p.Stage(), nil); got.Outcome != hook.Continue || string(got.Delta.Output) != `{"text":"b"}` {
			t.Errorf("%s: %+v", p.Stage(), got)
		}
		got := set(map[string]any{"text": []string{canary}}).stage(t, p.Stage(), nil)
		if got.Outcome != hook.Failed || got.Failure.Code != toolspec.CodeOutputValidation || got.Delta.Output != nil {
			t.Errorf("%s: %+v", p.Stage(), got)
		}
		got = set(map[string]any{"consent": "y"}).stage(t, p.Stage(), func(f *hook.Facts) { f.Challenge = true })
		if got.Outcome != hook.Continue || string(got.Delta.Output) != `{"consent":"y"}` {
			t.Errorf("a challenge at %s: %+v", p.Stage(), got)
		}
	}
}

// TestCachedIsRedacted: a cached value is redacted again, because an older release may have stored it under a
// wider allowlist.
func TestCachedIsRedacted(t *testing.T) {
	w := newWorld(t, setup{hooks: []hook.Hook{hook.New("h", hook.WillReadCache.Do(func(_ context.Context, v *hook.Lookup) error {
		v.Found(out{Text: "c", Hidden: canary})
		return nil
	}))}})
	if got := w.stage(t, hook.WillReadCache.Stage(), nil); string(got.Delta.Cached) != `{"text":"c"}` {
		t.Errorf("got %+v", got)
	}
}

func TestStageWithoutItsTool(t *testing.T) {
	w := newWorld(t, setup{hooks: []hook.Hook{hook.New("h", hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error { return v.Respond(canary) }))}})
	if got := w.stage(t, hook.WillCheckConsent.Stage(), func(f *hook.Facts) { f.ToolID = "core__gone" }); got.Outcome != hook.Missing || got.By != "tool core__gone" {
		t.Errorf("got %+v", got)
	}
}

func TestStageTransient(t *testing.T) {
	w := newWorld(t, setup{hooks: []hook.Hook{hook.New("h", hook.WillAuthorize.Do(func(context.Context, *hook.Gate) error { return errs.Transient(errors.New(canary)) }))}})
	v, err := w.Stage(t.Context(), hook.StageInput{Stage: hook.WillAuthorize.Stage(), Hooks: []string{"h"}, Facts: w.facts()})
	if !errs.IsTransient(err) || v.Outcome != "" {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestHydrate(t *testing.T) {
	invocation := func(args string) []byte {
		return []byte(`{"toolId":"core__tool","toolCallId":"call-1","context":{"tenantId":"acme","runId":"run-1","actorId":"user:ann"},"args":` + args + `}`)
	}
	digits := strings.Repeat("1e20,", 10_000)
	for _, tc := range []struct {
		name string
		in   contract.HydrateIn
		want string // the safe arguments
		code toolspec.Code
		kind string
		path string
	}{
		{name: "an object", in: contract.HydrateIn{Input: invocation(`{"text":"a","note":"canary-4711"}`)}, want: `{"note":"***","text":"a"}`},
		{name: "changed arguments", in: contract.HydrateIn{Args: json.RawMessage(`{"n":1.0}`)}, want: `{"n":1}`},
		{name: "no arguments", in: contract.HydrateIn{}, want: `{}`},
		{name: "undecodable", in: contract.HydrateIn{Input: []byte(`[`)}, code: toolspec.CodeValidation, kind: "invalid_json"},
		{name: "broken JSON", in: contract.HydrateIn{Input: invocation(`"{canary-4711"`)}, code: toolspec.CodeInvalidJSON, kind: "invalid_json"},
		{name: "unknown field", in: contract.HydrateIn{Input: invocation(`{"other":"canary-4711"}`)}, code: toolspec.CodeValidation, kind: "unknown_property", path: "/other"},
		{name: "wrong type", in: contract.HydrateIn{Input: invocation(`{"n":"canary-4711"}`)}, code: toolspec.CodeValidation, kind: "type_mismatch", path: "/n"},
		{name: "inexact number", in: contract.HydrateIn{Input: invocation(`{"n":9007199254740993}`)}, code: toolspec.CodeValidation, kind: "inexact_number", path: "/n"},
		{name: "too large", in: contract.HydrateIn{Args: json.RawMessage(`{"text":"` + strings.Repeat("x", 1000) + `"}`)}, code: toolspec.CodeValidation, kind: "too_large"},
		{name: "too large when written out", in: contract.HydrateIn{Args: json.RawMessage(`{"x":[` + digits[:900] + `1]}`)}, code: toolspec.CodeValidation, kind: "too_large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{def: func(d *toolspec.Definition) { d.MaxArgsBytes = 1000 }})
			tc.in.ToolID = "core__tool"
			got, err := w.Hydrate(t.Context(), tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if tc.code != "" {
				w.checkCanary(t, got)
				if got.Outcome != contract.Refused || got.Failure.Code != tc.code || got.Failure.Details.Kind != tc.kind || got.Failure.Details.Path != tc.path || got.Args != nil {
					t.Errorf("got %+v %+v", got.Failure, got.Failure.Details)
				}
				return
			}
			w.checkCanary(t, got.SafeArgs)
			if got.Outcome != contract.Done || string(got.SafeArgs) != tc.want || got.ToolDigest != w.bound.Digest() || got.Effect != toolspec.StateChange || got.Risk != toolspec.MediumRisk {
				t.Errorf("got %+v, want %s", got, tc.want)
			}
		})
	}
	w := newWorld(t, setup{})
	if got, err := w.Hydrate(t.Context(), contract.HydrateIn{ToolID: "core__gone"}); err != nil || got.Outcome != contract.NotHere {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestHydrateConnection: a call without the connection that its tool needs learns nothing about its arguments.
func TestHydrateConnection(t *testing.T) {
	w := newWorld(t, setup{def: func(d *toolspec.Definition) { d.RequiresConnection = true }})
	for context, want := range map[string]string{"": "validation missing_connection /context/connectionId", `,"connectionId":"c"`: "validation unknown_property /other"} {
		input := `{"toolId":"core__tool","toolCallId":"call-1","context":{"tenantId":"acme","runId":"run-1","actorId":"user:ann"` + context + `},"args":{"other":1}}`
		got, err := w.Hydrate(t.Context(), contract.HydrateIn{ToolID: "core__tool", Input: []byte(input)})
		if err != nil {
			t.Fatal(err)
		}
		said := string(got.Failure.Code)
		if d := got.Failure.Details; d != nil {
			said += " " + d.Kind + " " + d.Path
		}
		if said != want {
			t.Errorf("got %s, want %s", said, want)
		}
	}
}
