package activities_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pawl-run/pawl/activities"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// thirtyTools returns thirty tools. made counts the calls of the factory of each tool.
func thirtyTools(t *testing.T) (source *catalog.Registry, made []*atomic.Int32) {
	t.Helper()
	source = catalog.NewRegistry(toolspec.Capabilities{})
	for i := range 30 {
		count := &atomic.Int32{}
		made = append(made, count)
		if err := source.Add("test", toolspec.Lazy(toolspec.Definition{
			ID: fmt.Sprintf("core__t%d", i), Description: "A tool.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}},
		}, func(context.Context) (toolspec.Run[in, out], error) {
			count.Add(1)
			return func(_ context.Context, i in, _ toolspec.Call) (out, error) { return out{Text: i.Text}, nil }, nil
		})); err != nil {
			t.Fatal(err)
		}
	}
	return source, made
}

// TestDefinitionsStayInMemory: the database is not needed to find a tool, to validate and redact its values,
// and to run its hooks. This test has no database.
func TestDefinitionsStayInMemory(t *testing.T) {
	source, _ := thirtyTools(t)
	hooks, err := hook.NewRegistry(slog.New(slog.DiscardHandler), []hook.Hook{
		hook.New("h", hook.WillAcquireQuota.Do(func(context.Context, *hook.Check) error { return nil })),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := activities.New(source, nil, policies{}, hooks, slog.New(slog.DiscardHandler), activities.Config{})
	first, _ := source.Get("core__t7")
	for range 1000 {
		if bound, ok := source.Get("core__t7"); !ok || bound != first {
			t.Fatal("the tool is another one")
		}
		if got, err := a.Hydrate(t.Context(), contract.HydrateIn{ToolID: "core__t7", Args: json.RawMessage(`{"text":"a"}`)}); err != nil || got.Outcome != contract.Done {
			t.Fatalf("got %+v, %v", got, err)
		}
		in := hook.StageInput{Stage: hook.WillAcquireQuota.Stage(), Hooks: []string{"h"}, Facts: hook.Facts{ToolID: "core__t7"}}
		if v, err := a.Stage(as(t.Context(), true), in); err != nil || v.Outcome != hook.Continue {
			t.Fatalf("got %+v, %v", v, err)
		}
	}
}

// TestToolsAreMadeOnce: a hundred concurrent calls of one of thirty tools make this tool once, and make no
// other tool. The race detector of CI checks that the calls share nothing else.
func TestToolsAreMadeOnce(t *testing.T) {
	source, made := thirtyTools(t)
	hooks, err := hook.NewRegistry(slog.New(slog.DiscardHandler), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := activities.New(source, nil, policies{}, hooks, slog.New(slog.DiscardHandler), activities.Config{})
	bound, _ := source.Get("core__t7")
	var calls sync.WaitGroup
	for n := range 100 {
		calls.Go(func() {
			text := fmt.Sprintf(`{"text":"%d"}`, n)
			got, err := a.Execute(as(t.Context(), true), contract.ExecuteIn{
				Facts: hook.Facts{ToolID: "core__t7", ToolDigest: bound.Digest(), Args: json.RawMessage(text)},
				Terms: hook.Terms{MaxRuntimeMs: 10_000, MaxResultBytes: 1 << 20},
			})
			if err != nil || got.Outcome != contract.Done || string(got.Value) != text {
				t.Errorf("call %d: %+v, %v", n, got, err)
			}
		})
	}
	calls.Wait()
	for i, count := range made {
		if got, want := count.Load(), map[bool]int32{true: 1}[i == 7]; got != want {
			t.Errorf("tool %d was made %d times, want %d", i, got, want)
		}
	}
}
