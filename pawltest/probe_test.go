package pawltest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/pawltest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestProbe: each finding of a probe is told from the others.
func TestProbe(t *testing.T) {
	t.Parallel()
	probing := func(probe func(context.Context, in, toolspec.Call) (toolspec.Found[out], error), timeout time.Duration) pawltest.Call {
		def := tool(echo, once, within(timeout)).Definition()
		return pawltest.Call{Tool: toolspec.DefineWithProbe(def, echo, probe), Args: `{"text":"a"}`}
	}
	for name, tc := range map[string]struct {
		probe func(context.Context, in, toolspec.Call) (toolspec.Found[out], error)
		want  toolspec.Finding
		value string
	}{
		"it took effect": {func(_ context.Context, in in, _ toolspec.Call) (toolspec.Found[out], error) {
			return toolspec.FoundEffect(out{Text: in.Text, Hidden: "h"}), nil
		}, toolspec.TookEffect, `{"text":"a"}`},
		"it had none": {func(_ context.Context, _ in, call toolspec.Call) (toolspec.Found[out], error) {
			if call.Epoch != 2 {
				t.Errorf("epoch %d", call.Epoch)
			}
			return toolspec.FoundNoEffect[out](), nil
		}, toolspec.NoEffect, ""},
		"unclear": {func(context.Context, in, toolspec.Call) (f toolspec.Found[out], err error) { return f, nil }, toolspec.Unclear, ""},
		"it fails": {func(context.Context, in, toolspec.Call) (toolspec.Found[out], error) {
			return toolspec.FoundNoEffect[out](), errors.New("away")
		}, toolspec.Unclear, ""},
		"it is late": {func(ctx context.Context, _ in, _ toolspec.Call) (toolspec.Found[out], error) {
			<-ctx.Done()
			<-t.Context().Done()
			return toolspec.FoundNoEffect[out](), nil
		}, toolspec.Unclear, ""},
		"a value against the schema": {func(context.Context, in, toolspec.Call) (toolspec.Found[out], error) {
			return toolspec.FoundEffect(out{Text: strings.Repeat("x", 100_001)}), nil
		}, toolspec.TookEffect, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if name == "it is late" {
				timeout = 20 * time.Millisecond
			}
			got := probing(tc.probe, timeout).Probe(t)
			if got.Finding != tc.want || string(got.Value) != tc.value || got.Result.OK != (tc.value != "") || string(got.SafeArgs) != `{"text":"a"}` {
				t.Errorf("%s, %+v, %s", got.Finding, got.Result, got.Value)
			}
		})
	}
}
