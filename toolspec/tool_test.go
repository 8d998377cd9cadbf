package toolspec_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

type addIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

type addOut struct {
	Sum float64 `json:"sum"`
}

func add(_ context.Context, in addIn, _ toolspec.Call) (addOut, error) {
	return addOut{Sum: float64(in.A + in.B)}, nil
}

func definition() toolspec.Definition {
	return toolspec.Definition{
		ID: "core__add", Description: "Adds.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
		Redaction:    toolspec.Redaction{Allow: []string{"/sum"}, MaskInput: []string{"/a"}},
		Capabilities: []toolspec.CapabilityName{"clock"}, Tags: []string{"math"},
	}
}

func TestDefaults(t *testing.T) {
	for _, tc := range []struct {
		name     string
		change   func(*toolspec.Definition)
		timeout  time.Duration
		attempts int
	}{
		{"a read", func(*toolspec.Definition) {}, 30 * time.Second, 3},
		{"a fast read", func(d *toolspec.Definition) { d.Fast = true }, 3 * time.Second, 3},
		{"a fast write", func(d *toolspec.Definition) { d.Fast, d.Effect = true, toolspec.StateChange }, 3 * time.Second, 1},
		{"a write", func(d *toolspec.Definition) { d.Effect = toolspec.StateChange }, 30 * time.Second, 1},
		{"an idempotent write", func(d *toolspec.Definition) { d.Effect, d.Idempotent = toolspec.ExternalSideEffect, true }, 30 * time.Second, 3},
		{"what was said", func(d *toolspec.Definition) { d.Timeout, d.MaxAttempts = time.Hour, 7 }, time.Hour, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := definition()
			tc.change(&d)
			got := toolspec.Define(d, add).Definition()
			if got.Timeout != tc.timeout || got.MaxAttempts != tc.attempts {
				t.Errorf("got %s and %d attempts, want %s and %d", got.Timeout, got.MaxAttempts, tc.timeout, tc.attempts)
			}
			if got.Title != "core__add" || got.MaxArgsBytes != 8<<10 || got.MaxResultBytes != 1<<20 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestDefinitionCheck(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*toolspec.Definition)
		want   string
	}{
		{"fits", func(*toolspec.Definition) {}, ""},
		{"no id", func(d *toolspec.Definition) { d.ID = "" }, "id is missing"},
		{"bare id", func(d *toolspec.Definition) { d.ID = "add" }, "id must be namespaced"},
		{"no description", func(d *toolspec.Definition) { d.Description = "" }, "description is missing"},
		{"no effect", func(d *toolspec.Definition) { d.Effect = "" }, "effect is missing"},
		{"another effect", func(d *toolspec.Definition) { d.Effect = "none" }, `effect "none" is none of`},
		{"no risk", func(d *toolspec.Definition) { d.Risk = "" }, "risk is missing"},
		{"another risk", func(d *toolspec.Definition) { d.Risk = "none" }, `risk "none" is none of`},
		{"fast and heavy", func(d *toolspec.Definition) { d.Fast, d.Heavy = true, true }, "heavy does not go with fast: the tool would keep workflow tasks waiting"},
		{"fast and slow", func(d *toolspec.Definition) { d.Fast, d.Timeout = true, 3*time.Second+1 }, "fast needs a timeout of at most 3s"},
		{"negative timeout", func(d *toolspec.Definition) { d.Timeout = -1 }, "timeout must be between"},
		{"long timeout", func(d *toolspec.Definition) { d.Timeout = 24*time.Hour + 1 }, "timeout must be between"},
		{"negative attempts", func(d *toolspec.Definition) { d.MaxAttempts = -1 }, "maxAttempts must be between"},
		{"many attempts", func(d *toolspec.Definition) { d.MaxAttempts = 101 }, "maxAttempts must be between"},
		{"negative args", func(d *toolspec.Definition) { d.MaxArgsBytes = -1 }, "maxArgsBytes must be between"},
		{"large args", func(d *toolspec.Definition) { d.MaxArgsBytes = 64<<10 + 1 }, "maxArgsBytes must be between"},
		{"negative result", func(d *toolspec.Definition) { d.MaxResultBytes = -1 }, "maxResultBytes must be between"},
		{"large result", func(d *toolspec.Definition) { d.MaxResultBytes = toolspec.MaxResult + 1 }, "maxResultBytes must be between"},
		{"large result beside a stream", func(d *toolspec.Definition) { d.Stream, d.MaxResultBytes = toolspec.TextStream, toolspec.MaxInline+1 }, "maxResultBytes must be at most"},
		{"fast stream", func(d *toolspec.Definition) { d.Stream, d.Fast = toolspec.TextStream, true }, "stream does not go with fast"},
		{"stream of another kind", func(d *toolspec.Definition) { d.Stream = "video" }, "none of text, binary"},
		{"mask without a stream", func(d *toolspec.Definition) { d.Redaction.MaskStream = []toolspec.Masker{toolspec.MaskEmail} }, "maskStream needs a stream"},
		{"mask of all of a stream", func(d *toolspec.Definition) {
			d.Stream, d.Redaction.MaskStream = toolspec.TextStream, []toolspec.Masker{toolspec.MaskAll}
		}, "leaves nothing"},
		{"truncation beside a stream", func(d *toolspec.Definition) {
			d.Stream, d.Truncate = toolspec.TextStream, []toolspec.Truncation{{As: toolspec.FileContents}}
		}, "truncate does not go with stream: the result has one outputRef"},
		{"truncation of another content", func(d *toolspec.Definition) { d.Truncate = []toolspec.Truncation{{As: "video"}} }, `"video" is none of file_contents`},
		{"truncation at no pointer", func(d *toolspec.Definition) {
			d.Truncate = []toolspec.Truncation{{Path: "sum", As: toolspec.Listing}}
		}, `path "sum" is not a JSON pointer`},
		{"many truncations", func(d *toolspec.Definition) { d.Truncate = make([]toolspec.Truncation, 9) }, "truncate has 9 entries, of at most 8"},
		{"no redaction", func(d *toolspec.Definition) { d.Redaction = toolspec.Redaction{} }, "redaction.allow is empty"},
		{"no pointer", func(d *toolspec.Definition) { d.Redaction.Allow = []string{"sum"} }, `redaction path "sum" is not a JSON pointer`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := definition()
			tc.change(&d)
			sameError(t, toolspec.Define(d, add).Definition().Check(), tc.want)
		})
	}
}

// TestDefinitionIsFrozen: whatever is done to what went in or came out, the tool
// stays as it was (SP-20).
func TestDefinitionIsFrozen(t *testing.T) {
	d := definition()
	tool := toolspec.Define(d, add)
	before := tool.Definition()
	spoil := func(d *toolspec.Definition) {
		d.ID, d.Effect = "X", toolspec.ExternalSideEffect
		d.Redaction.Allow[0], d.Redaction.MaskInput[0], d.Capabilities[0], d.Tags[0] = "X", "X", "X", "X"
	}
	got := tool.Definition()
	spoil(&got)
	if after := tool.Definition(); !reflect.DeepEqual(after, before) {
		t.Errorf("a write into a copy reached the tool: %+v", after)
	}
	spoil(&d)
	if after := tool.Definition(); !reflect.DeepEqual(after, before) {
		t.Errorf("a write into what Define received reached the tool: %+v", after)
	}
}

// TestToolHasNothingToSerialise: metadata leaves a tool through Definition only
// (SP-21, SP-22).
func TestToolHasNothingToSerialise(t *testing.T) {
	raw, err := json.Marshal([]any{toolspec.Define(definition(), add)})
	if err != nil || string(raw) != "[{}]" {
		t.Errorf("a tool is written as %s (%v)", raw, err)
	}
	for f := range reflect.TypeFor[toolspec.Tool]().Fields() {
		if f.IsExported() {
			t.Errorf("Tool.%s is exported", f.Name)
		}
	}
}

func TestTypes(t *testing.T) {
	in, out := toolspec.Define(definition(), add).Types()
	if in != reflect.TypeFor[addIn]() || out != reflect.TypeFor[addOut]() {
		t.Errorf("got %v and %v", in, out)
	}
}

func TestRun(t *testing.T) {
	for _, tc := range []struct{ name, args, want string }{
		{"plain", `{"a":1,"b":2}`, `{"sum":3}`},
		{"absent fields are zero", `{"a":1}`, `{"sum":1}`},
		// Hydrate hands over RFC 8785, where 1.0 and 1e3 are 1 and 1000.
		{"canonical numbers", `{"a":1000,"b":1}`, `{"sum":1001}`},
		{"a fraction is no int", `{"a":1.5}`, ""},
		{"what is not canonical", `{"a":1.0}`, ""},
		{"what is not canonical either", `{"a":1e3}`, ""},
		{"beyond int", `{"a":1e+21}`, ""},
		{"a text", `{"a":"canary"}`, ""},
		{"an unknown field", `{"canary":1}`, ""},
		{"another root", `["canary"]`, ""},
		{"no JSON", `canary`, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := toolspec.Define(definition(), add).Run(t.Context(), json.RawMessage(tc.args), toolspec.Call{})
			var args *toolspec.ArgsError
			switch {
			case tc.want != "" && (err != nil || string(got) != tc.want):
				t.Errorf("got %s (%v), want %s", got, err, tc.want)
			case tc.want == "" && (!errors.As(err, &args) || errors.Unwrap(err) == nil || got != nil):
				t.Errorf("got %s, %v, want an ArgsError with its cause", got, err)
			case tc.want == "" && strings.Contains(err.Error(), "canary"):
				t.Errorf("the text quotes the arguments: %v", err)
			}
		})
	}
}

func TestRunOutput(t *testing.T) {
	for name, out := range map[string]any{
		"NaN": math.NaN(), "infinity": map[string]any{"canary": math.Inf(1)}, "a channel": make(chan int), "a function": func() {},
	} {
		t.Run(name, func(t *testing.T) {
			tool := toolspec.Define(definition(), func(context.Context, addIn, toolspec.Call) (any, error) { return out, nil })
			got, err := tool.Run(t.Context(), json.RawMessage(`{}`), toolspec.Call{})
			var output *toolspec.OutputError
			if !errors.As(err, &output) || got != nil || errors.Unwrap(err) == nil || strings.Contains(err.Error(), "canary") {
				t.Errorf("got %s, %v, want an OutputError", got, err)
			}
		})
	}
}

// TestRunPassesOn: the tool's own error and call arrive as they are.
func TestRunPassesOn(t *testing.T) {
	own := errors.New("own")
	var seen toolspec.Call
	tool := toolspec.Define(definition(), func(_ context.Context, _ addIn, call toolspec.Call) (addOut, error) {
		seen = call
		return addOut{}, own
	})
	got, err := tool.Run(t.Context(), json.RawMessage(`{}`), toolspec.Call{ToolID: "core__add", Attempt: 2, IdempotencyKey: "k"})
	if !errors.Is(err, own) || got != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if seen.ToolID != "core__add" || seen.Attempt != 2 || seen.IdempotencyKey != "k" {
		t.Errorf("the tool saw %+v", seen)
	}
}

func TestFailures(t *testing.T) {
	cause := errors.New("no such file")
	err := toolspec.Safef("cannot read %s: %w", "a.txt", cause)
	var safe *toolspec.SafeError
	if !errors.As(err, &safe) || !errors.Is(err, cause) || err.Error() != "cannot read a.txt: no such file" {
		t.Errorf("got %v", err)
	}
	err = fmt.Errorf("wrapped: %w", toolspec.RetryAfter(2*time.Second, "busy"))
	var busy *toolspec.BusyError
	if !errors.As(err, &busy) || busy.After != 2*time.Second || busy.Reason != "busy" || busy.Error() != "retry after 2s: busy" {
		t.Errorf("got %v", err)
	}
}

// TestDiscoveredIsBounded: what a server gave of a tool is bounded, and its name can be shown.
func TestDiscoveredIsBounded(t *testing.T) {
	for want, d := range map[string]*toolspec.Discovered{
		"discovered.digest is missing":              {Name: "x"},
		"discovered.name may hold only printable":   {Digest: "d", Name: "a\u202eb"},
		"discovered.annotations is no JSON":         {Digest: "d", Annotations: json.RawMessage("{")},
		"discovered.annotations has more than 4096": {Digest: "d", Annotations: json.RawMessage(`"` + strings.Repeat("x", 4096) + `"`)},
		"": {Digest: "d", Name: "größe/1", Annotations: json.RawMessage(`{"readOnlyHint":true}`)},
	} {
		def := toolspec.Definition{
			ID: "mcp__x__y", Description: "x", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Timeout: 1, MaxAttempts: 1, MaxArgsBytes: 1, MaxResultBytes: 1,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}}, Discovered: d,
		}
		sameError(t, def.Check(), want)
	}
}
