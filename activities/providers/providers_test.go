package providers_test

import (
	"context"
	"testing"

	"github.com/pawl-run/pawl/activities/providers"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/toolspec/provide"
)

// TestForget: the values of a call that has ended are dropped, those of another call are not, and a worker that provides nothing has
// nothing to drop.
func TestForget(t *testing.T) {
	t.Parallel()
	providers.Providers{}.Forget("one")
	token, made := provide.NewToken[int]("number"), 0
	factory := provide.NewFactory("number", token, func(context.Context, struct{}) (int, error) {
		made++
		return made, nil
	})
	registry, err := provide.NewRegistry(provide.Factories(factory))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(registry.Close)
	recipe, err := factory.With(struct{}{})
	if err != nil {
		t.Fatal(err)
	}
	p := providers.Providers{Registry: registry}
	get := func(invocationID string) int {
		t.Helper()
		ctx, lacks := p.Provide(t.Context(), hook.Facts{InvocationID: invocationID, Bindings: []hook.Binding{{Recipe: recipe, Scope: provide.Request}}})
		if lacks != "" {
			t.Fatalf("the worker lacks %s", lacks)
		}
		n, err := provide.Get(ctx, provide.FromContext(ctx), token)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if a, b, again := get("one"), get("two"), get("one"); a != 1 || b != 2 || again != 1 {
		t.Errorf("two calls got %d, %d and %d", a, b, again)
	}
	p.Forget("one")
	if a, b := get("one"), get("two"); a != 3 || b != 2 {
		t.Errorf("after a call was forgotten they got %d and %d", a, b)
	}
}

// TestLacks: a worker without factories lacks those that a call needs, and no others.
func TestLacks(t *testing.T) {
	t.Parallel()
	bindings := []hook.Binding{{Recipe: provide.Recipe{Factory: "number", Token: "number"}}}
	registry, err := provide.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(registry.Close)
	for name, p := range map[string]providers.Providers{"no registry": {}, "another registry": {Registry: registry}} {
		if _, lacks := p.Provide(t.Context(), hook.Facts{Bindings: bindings}); lacks != "factory number" {
			t.Errorf("%s: lacks %q", name, lacks)
		}
		if _, lacks := p.Provide(t.Context(), hook.Facts{Context: toolspec.Context{SessionID: "s"}}); lacks != "" {
			t.Errorf("%s, for a call without bindings: lacks %q", name, lacks)
		}
	}
}
