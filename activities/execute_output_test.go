package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/truncate"
	"github.com/pawl-run/pawl/workflows/contract"
)

func TestExecuteOutputs(t *testing.T) {
	large := strings.Repeat("x", toolspec.MaxInline)
	for _, tc := range []struct {
		name string
		max  int
		text string
		want contract.ExecuteOut
	}{
		{"redacted", 1 << 20, "hello", contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"hello"}`), OutputInfo: toolspec.OutputInfo{Bytes: 16}}},
		{"as large as a payload may be", 1 << 20, large[:toolspec.MaxInline-11],
			contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"` + large[:toolspec.MaxInline-11] + `"}`), OutputInfo: toolspec.OutputInfo{Bytes: toolspec.MaxInline}}},
		{"larger than that", 1 << 20, large, contract.ExecuteOut{Outcome: contract.Done, OutputInfo: toolspec.OutputInfo{
			Bytes: toolspec.MaxInline + 11, Truncated: true, OutputRef: "output-1",
		}}},
		{"as large as it may be", 16, "hello", contract.ExecuteOut{Outcome: contract.Done, Value: json.RawMessage(`{"text":"hello"}`), OutputInfo: toolspec.OutputInfo{Bytes: 16}}},
		{"too large", 15, "hello", contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{
			Code: toolspec.CodeResultTooLarge, SafeMessage: "The result is larger than 15 bytes",
		}}},
		{"too large to keep", toolspec.MaxInline + 5, large, contract.ExecuteOut{Outcome: contract.Refused, Failure: &hook.Failure{
			Code: toolspec.CodeResultTooLarge, SafeMessage: "The result is larger than 65541 bytes",
		}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{run: func(context.Context, in, toolspec.Call) (any, error) { return out{Text: tc.text, Hidden: canary}, nil }})
			in := w.executeIn()
			in.MaxResultBytes = tc.max
			got := w.execute(t.Context(), t, in)
			if short := got.Value; tc.want.Truncated {
				if len(short) > truncate.MaxShort || !strings.HasPrefix(string(short), `{"preview":"{\"text\":\"xxx`) || !strings.Contains(string(short), `"outputRef":"output-1"`) {
					t.Errorf("the short form is %.200s", short)
				}
				got.Value = nil
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %.200v, want %.200v", got, tc.want)
			}
			saved := tc.want.OutputRef != ""
			if (len(w.records.outputs) == 1) != saved {
				t.Fatalf("%d outputs are kept", len(w.records.outputs))
			}
			if saved {
				w.checkCanary(t, w.records.outputs)
				o := w.records.outputs[0]
				if o.InvocationID != "inv" || o.TenantID != "acme" || o.Dispatch != 2 || string(o.Value) != `{"text":"`+tc.text+`"}` {
					t.Errorf("kept %.100v", o)
				}
			}
		})
	}
}

// TestAMaskLeavesNoPartOfACredential: if a mask finds a number in a credential, the search still removes the
// rest of the credential.
func TestAMaskLeavesNoPartOfACredential(t *testing.T) {
	const credential = "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"
	secrets := &fingerprint.Set{}
	if err := secrets.Add("token", []byte(credential)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{10, toolspec.MaxInline} {
		w := newWorld(t, setup{
			def: func(d *toolspec.Definition) {
				d.Redaction.MaskOutput = []toolspec.Masking{{Path: "/text", With: toolspec.MaskPhone}}
			},
			run: func(context.Context, in, toolspec.Call) (any, error) {
				return out{Text: "+49 30 1234567 " + credential + strings.Repeat(" x", size)}, nil
			},
			config: activities.Config{Secrets: secrets},
		})
		got := w.execute(t.Context(), t, w.executeIn())
		if len(w.records.outputs) > 0 {
			got.Value = w.records.outputs[0].Value
		}
		if text := string(got.Value); got.Outcome != contract.Done || strings.Contains(text, "AbCdEf") || !strings.Contains(text, fingerprint.Redacted) ||
			!strings.Contains(text, toolspec.Mask) {
			t.Errorf("got %.200s of %s", text, got.Outcome)
		}
	}
}

// TestACutLeavesNoPartOfASecret: the message of an error is cut after credentials and texts to mask were removed, so no beginning of one of
// them is left at its end.
func TestACutLeavesNoPartOfASecret(t *testing.T) {
	const credential, card = "hW7pQ2xV9kLm4Tz8RsYc", "4111 1111 1111 1111"
	secrets := &fingerprint.Set{}
	if err := secrets.Add("token", []byte(credential)); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []func(text string) error{
		func(text string) error { return toolspec.Safef("%s", text) },
		toolspec.Unanswered,
		func(text string) error { return toolspec.RetryAfter(time.Second, text) },
	} {
		for _, secret := range []string{credential, card} {
			w := newWorld(t, setup{
				def: func(d *toolspec.Definition) {
					d.Redaction.MaskOutput = []toolspec.Masking{{Path: "/text", With: toolspec.MaskCard}}
				},
				run: func(context.Context, in, toolspec.Call) (any, error) {
					return nil, kind(strings.Repeat("x ", 993) + secret + strings.Repeat(" x", 1000)) // byte 2000 is within the secret
				},
				config: activities.Config{Secrets: secrets},
			})
			got := w.execute(t.Context(), t, w.executeIn())
			if text := got.Failure.SafeMessage; strings.Contains(text, secret[:6]) || !strings.Contains(text, "x x x") || !strings.HasSuffix(text, "…") {
				t.Errorf("%q of %s", text[max(0, len(text)-40):], got.Outcome)
			}
		}
	}
}

// TestAReferenceCannotBeGuessed: an attempt without a claim stores its values under a random id.
func TestAReferenceCannotBeGuessed(t *testing.T) {
	w := newWorld(t, setup{run: func(context.Context, in, toolspec.Call) (any, error) {
		return out{Text: strings.Repeat("x", toolspec.MaxInline)}, nil
	}})
	in := w.executeIn()
	in.Dispatch = 0
	w.execute(t.Context(), t, in)
	w.execute(t.Context(), t, in)
	if o := w.records.outputs; len(o) != 2 || len(o[0].ClaimID) < 26 || o[0].ClaimID == o[1].ClaimID {
		t.Errorf("kept %.200v", o)
	}
}

// TestExecuteOutputCannotBeKept: a failed write of a large value is tried again some times, because without the
// value the outcome of a tool that has run is unknown.
func TestExecuteOutputCannotBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{run: func(context.Context, in, toolspec.Call) (any, error) {
			return out{Text: strings.Repeat("x", toolspec.MaxInline)}, nil
		}})
		in := w.executeIn()
		in.Dispatch = 0
		w.records.err = errs.Transient(errors.New("away"))
		started := time.Now()
		unsaved := func(got contract.ExecuteOut) bool {
			return got.Outcome == contract.Interrupted && got.Value == nil && got.Failure.Code == contract.CauseUnsaved && got.Failure.SafeMessage != ""
		}
		if got := w.execute(t.Context(), t, in); !unsaved(got) || len(w.records.outputs) != 4 || time.Since(started) != 1400*time.Millisecond {
			t.Errorf("got %+v after %d tries in %s", got, len(w.records.outputs), time.Since(started))
		}
		w.records.err, w.records.outputs = errors.New("broken"), nil
		if got := w.execute(t.Context(), t, in); !unsaved(got) || len(w.records.outputs) != 1 {
			t.Errorf("got %+v after %d tries", got, len(w.records.outputs))
		}
	})
}

// TestOutputBreaksTheContract: the value is checked before anybody sees it.
func TestOutputBreaksTheContract(t *testing.T) {
	for name, respond := range map[string]any{
		"wrong type": map[string]any{"text": 7}, "missing field": map[string]any{"hidden": canary}, "unknown field": map[string]any{"text": "", "more": canary},
		"another root": canary, "null": nil,
	} {
		w := newWorld(t, setup{hooks: []hook.Hook{around(func(v *hook.Around) error { return v.Respond(respond) })}})
		in := w.executeIn()
		in.Around = []string{"around"}
		got := w.execute(t.Context(), t, in)
		if got.Outcome != contract.Refused || got.Failure.Code != toolspec.CodeOutputValidation || got.Value != nil || got.Failure.Details.Kind == "" {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	w := newWorld(t, setup{})
	raw := json.RawMessage(`{"text":1}`)
	if len(w.bound.ValidateOutput(raw)) == 0 {
		t.Error("the contract takes it")
	}
}

// TestTooLargeBeforeInvalid: the size of a value is checked before its validation, which may cost more than all
// other steps. A part that redaction removes does not count. An invalid value of an allowed size gives the
// failure of validation.
func TestTooLargeBeforeInvalid(t *testing.T) {
	wrong := make([]int, 100)
	for name, tc := range map[string]struct {
		value map[string]any
		want  toolspec.Code
	}{
		"too large":                  {map[string]any{"text": wrong, "hidden": canary}, toolspec.CodeResultTooLarge},
		"too large before redaction": {map[string]any{"text": 7, "hidden": wrong}, toolspec.CodeOutputValidation},
		"redacted to nothing":        {map[string]any{"more": wrong}, toolspec.CodeOutputValidation},
	} {
		w := newWorld(t, setup{hooks: []hook.Hook{around(func(v *hook.Around) error { return v.Respond(tc.value) })}})
		in := w.executeIn()
		in.Around, in.MaxResultBytes = []string{"around"}, 100
		if got := w.execute(t.Context(), t, in); got.Outcome != contract.Refused || got.Failure.Code != tc.want || got.Value != nil {
			t.Errorf("%s: got %+v, want %s", name, got, tc.want)
		}
	}
}

func TestOutputThatIsNotJSON(t *testing.T) {
	w := newWorld(t, setup{run: func(context.Context, in, toolspec.Call) (any, error) {
		tool := toolspec.Define(toolspec.Definition{}, func(context.Context, in, toolspec.Call) (float64, error) { return math.NaN(), nil })
		_, err := tool.Run(t.Context(), json.RawMessage(`{}`), toolspec.Call{})
		return nil, err
	}})
	if got := w.execute(t.Context(), t, w.executeIn()); got.Failure.Code != toolspec.CodeOutputValidation || got.Retryable {
		t.Errorf("got %+v", got)
	}
}
