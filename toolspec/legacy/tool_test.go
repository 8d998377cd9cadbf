package legacy_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/legacy"
)

const canary = "canary-0b1e"

type sumIn struct {
	A int `json:"a"`
	B int `json:"b"`
}

type sumOut struct {
	Sum int `json:"sum"`
}

func sum() legacy.Tool[sumIn, sumOut] {
	return legacy.Tool[sumIn, sumOut]{
		ID: "sum", ProvidedBy: "math", Name: "Sum", Description: "Adds two numbers.",
		Contract: toolspec.Definition{Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk, Redaction: toolspec.Redaction{Allow: []string{"/sum"}}},
		Execute:  func(_ context.Context, in sumIn, _ toolspec.Call) (sumOut, error) { return sumOut{in.A + in.B}, nil },
	}
}

// attempt registers what is imported and runs it as execute does.
func attempt(t *testing.T, imported legacy.Tool[sumIn, sumOut]) (hook.AttemptVerdict, []string) {
	t.Helper()
	tool, hooks := imported.Import()
	source := catalog.NewRegistry(toolspec.Capabilities{})
	if err := source.Add("legacy", tool); err != nil {
		t.Fatal(err)
	}
	id := tool.Definition().ID
	bound, _ := source.Get(id)
	var log bytes.Buffer
	r, err := hook.NewRegistry(slog.New(slog.NewJSONHandler(&log, nil)), nil, map[string][]hook.Hook{id: hooks})
	if err != nil {
		t.Fatal(err)
	}
	args := json.RawMessage(`{"a":2,"b":3}`)
	v := r.Attempt(t.Context(), hook.AttemptInput{
		WillExecute: r.Names(hook.WillExecute.Stage(), id), DidExecute: r.Names(hook.DidExecute.Stage(), id),
		Facts: hook.Facts{
			InvocationID: "inv", ToolID: id, ToolCallID: "call-1", Round: 1, Args: args,
			Context: toolspec.Context{TenantID: "acme", ActorID: "user:ann"},
		},
	}, func(ctx context.Context) (json.RawMessage, error) {
		return bound.Tool().Run(ctx, args, toolspec.Call{ToolID: id})
	})
	if strings.Contains(log.String(), canary) {
		t.Errorf("the log holds the canary: %s", &log)
	}
	return v, r.Names(hook.WillExecute.Stage(), id)
}

// TestOrder (HK-13): the old hooks run around execute, with the arguments and the
// value as they are.
func TestOrder(t *testing.T) {
	var seen []string
	tool := sum()
	tool.PreHook = func(_ context.Context, c legacy.Call, in sumIn) error {
		seen = append(seen, fmt.Sprintf("pre %d %d for %s of %s under %s", in.A, in.B, c.ToolCallID, c.Context.ActorID, c.IdempotencyKey))
		return nil
	}
	tool.Execute = func(_ context.Context, in sumIn, call toolspec.Call) (sumOut, error) {
		seen = append(seen, "execute "+call.ToolID)
		return sumOut{in.A + in.B}, nil
	}
	tool.PostHook = func(_ context.Context, c legacy.Call, in sumIn, out sumOut) error {
		seen = append(seen, fmt.Sprintf("post %d+%d=%d of %s %s", in.A, in.B, out.Sum, c.ToolID, c.InvocationID))
		return nil
	}
	v, names := attempt(t, tool)
	if v.Outcome != hook.Continue || v.Err != nil || string(v.Value) != `{"sum":5}` {
		t.Errorf("got %+v", v)
	}
	if want := []string{
		"pre 2 3 for call-1 of user:ann under inv/willExecute/legacy-math--sum/1", "execute math__sum", "post 2+3=5 of math__sum inv",
	}; !slices.Equal(seen, want) {
		t.Errorf("seen\n%q\nwant\n%q", seen, want)
	}
	if !slices.Equal(names, []string{"legacy-math--sum"}) {
		t.Errorf("the hooks are named %q", names)
	}
}

// TestErrors: only what is safe to show is shown, and an error before the tool
// keeps it from running.
func TestErrors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		err     error
		code    toolspec.Code
		message string
	}{
		{"safe", toolspec.Safef("not on Sundays"), toolspec.CodeAborted, "not on Sundays"},
		{"plain", errors.New(canary), toolspec.CodeInternal, ""},
	} {
		for _, before := range []bool{true, false} {
			t.Run(fmt.Sprint(tc.name, before), func(t *testing.T) {
				ran := false
				tool := sum()
				tool.Execute = func(context.Context, sumIn, toolspec.Call) (sumOut, error) { ran = true; return sumOut{}, nil }
				if before {
					tool.PreHook = func(context.Context, legacy.Call, sumIn) error { return tc.err }
				} else {
					tool.PostHook = func(context.Context, legacy.Call, sumIn, sumOut) error { return tc.err }
				}
				v, _ := attempt(t, tool)
				if v.Outcome != hook.Failed || v.Failure.Code != tc.code || ran == before || v.Value != nil {
					t.Errorf("got %+v, %+v, the tool ran: %v", v, v.Failure, ran)
				}
				if tc.message != "" && v.Failure.SafeMessage != tc.message || strings.Contains(v.Failure.SafeMessage, canary) {
					t.Errorf("it says %q", v.Failure.SafeMessage)
				}
			})
		}
	}
}

func TestImport(t *testing.T) {
	plain, hooks := sum().Import()
	if def := plain.Definition(); len(hooks) != 0 || def.ID != "math__sum" || def.Title != "Sum" || def.Description != "Adds two numbers." || def.Effect != toolspec.ReadOnly {
		t.Errorf("got %+v with %d hooks", def, len(hooks))
	}
	names := map[string]string{}
	for _, id := range []string{"other__sum", "other__s_um", "other__s-um", "other__Sum", "o__" + strings.Repeat("s", 61)} {
		tool := sum()
		tool.ID, tool.PreHook = id, func(context.Context, legacy.Call, sumIn) error { return nil }
		imported, hooks := tool.Import()
		if imported.Definition().ID != id {
			t.Errorf("%s became %s", id, imported.Definition().ID)
		}
		if other, taken := names[hooks[0].Name()]; taken {
			t.Errorf("%s and %s share a name", id, other)
		}
		names[hooks[0].Name()] = id
		if _, err := hook.NewRegistry(slog.New(slog.DiscardHandler), hooks, nil); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	bare := sum()
	bare.Contract = toolspec.Definition{}
	tool, _ := bare.Import()
	if _, err := catalog.Bind(tool, toolspec.Capabilities{}); err == nil || !strings.Contains(err.Error(), "effect is missing") {
		t.Errorf("without a contract: %v", err)
	}
}
