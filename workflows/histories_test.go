package workflows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

// TestOutputHistory: settle gets every value that the output had, except the values that a hook redacted or hid.
func TestOutputHistory(t *testing.T) {
	set := func(text string) func(context.Context, *hook.Output) error {
		return func(_ context.Context, v *hook.Output) error { v.SetOutput(echoOut{Text: text}); return nil }
	}
	hide := func(_ context.Context, v *hook.Output) error { return v.Abort("not for you") }
	for name, tc := range map[string]struct {
		hooks []hook.Option
		want  string
		code  toolspec.Code
	}{
		"nothing changed":       {nil, `[{"text":"hello"}]`, ""},
		"shaped":                {[]hook.Option{hook.WillTransformOutput.Do(set("shaped"))}, `[{"text":"hello"} {"text":"shaped"}]`, ""},
		"redacted":              {[]hook.Option{hook.WillRedactOutput.Do(set("***"))}, `[{"text":"***"}]`, ""},
		"redacted and shaped":   {[]hook.Option{hook.WillRedactOutput.Do(set("***")), hook.WillTransformOutput.Do(set("shaped"))}, `[{"text":"***"} {"text":"shaped"}]`, ""},
		"hidden":                {[]hook.Option{hook.WillValidateOutput.Do(hide)}, `[]`, toolspec.CodeAborted},
		"shaped to what it was": {[]hook.Option{hook.WillTransformOutput.Do(set("hello"))}, `[{"text":"hello"}]`, ""},
		"answered by a hook": {[]hook.Option{hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
			return v.Respond(echoOut{Text: "own", Hidden: "canary"})
		})}, `[{"text":"own"}]`, ""},
		"failed before an output": {[]hook.Option{hook.WillAuthorize.Do(func(_ context.Context, v *hook.Gate) error { return v.Abort("closed") })}, `[]`, toolspec.CodeAborted},
	} {
		t.Run(name, func(t *testing.T) {
			o := rigOptions{policy: freePolicy}
			if tc.hooks != nil {
				o.hooks = []hook.Hook{hook.New("h", tc.hooks...)}
			}
			r := newRig(t, o)
			result := r.run(call("core__read", args))
			if got := fmt.Sprintf("%s", r.records.settled[0].OutputHistory); got != tc.want || result.ErrorCode != tc.code {
				t.Errorf("got %+v with %s, want %s", result, got, tc.want)
			}
		})
	}
}

// TestInputHistory: settle gets the masked form of every value that the arguments had. A value that the tool does not accept is null and
// ends the call: willNormalizeInput cannot replace a value that willParseInput made invalid.
func TestInputHistory(t *testing.T) {
	tool := toolspec.Define(toolspec.Definition{
		ID: "core__masked", Description: "test tool", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}, MaskInput: []string{"/mode"}},
	}, func(_ context.Context, in echoIn, _ toolspec.Call) (echoOut, error) {
		return echoOut{Text: in.Text}, nil
	})
	for name, tc := range map[string]struct {
		parsed any
		code   toolspec.Code
		want   string
	}{
		"valid":   {echoIn{Text: "parsed", Mode: "canary"}, "", `[{"mode":"***","text":"hello"},{"mode":"***","text":"parsed"},{"mode":"***","text":"normal"}]`},
		"invalid": {map[string]any{"more": "canary"}, toolspec.CodeValidation, `[{"mode":"***","text":"hello"},null]`},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, rigOptions{policy: freePolicy, tools: []toolspec.Tool{tool}, hooks: []hook.Hook{hook.New("h",
				hook.WillParseInput.Do(func(_ context.Context, v *hook.Input) error { v.SetArgs(tc.parsed); return nil }),
				hook.WillNormalizeInput.Do(func(_ context.Context, v *hook.Input) error {
					v.SetArgs(echoIn{Text: "normal", Mode: "canary"})
					return nil
				}))}})
			result := r.run(call("core__masked", `{"text":"hello","mode":"canary"}`))
			got, err := json.Marshal(r.records.settled[0].InputHistory)
			if err != nil || result.ErrorCode != tc.code || string(got) != tc.want {
				t.Errorf("got %+v with %s, want %s (%v)", result, got, tc.want, err)
			}
		})
	}
}
