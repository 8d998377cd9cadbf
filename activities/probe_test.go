package activities_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// TestProbe: each finding has its outcome. Only the definition of the tool says whether the service refuses
// late requests of an earlier attempt. If the tool has changed since the attempt, nothing is known.
func TestProbe(t *testing.T) {
	none := toolspec.FoundNoEffect[out]()
	for _, tc := range []struct {
		name   string
		fences bool
		found  toolspec.Found[out]
		change func(*contract.ProbeIn)
		want   contract.ProbeOut
	}{
		{"no effect", false, none, nil, contract.ProbeOut{Outcome: contract.Free}},
		{"no effect behind a fence", true, none, nil, contract.ProbeOut{Outcome: contract.Free, Fenced: true}},
		{"no effect, of a changed tool", true, none, func(in *contract.ProbeIn) { in.Facts.ToolDigest = "old" }, contract.ProbeOut{Outcome: contract.Lost}},
		{"an effect", true, toolspec.FoundEffect(out{Text: "found", Hidden: canary}), nil, contract.ProbeOut{Outcome: contract.Done, Value: []byte(`{"text":"found"}`), OutputInfo: toolspec.OutputInfo{Bytes: 16}}},
		{"unclear", true, toolspec.Found[out]{}, nil, contract.ProbeOut{Outcome: contract.Lost}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, setup{
				def:   func(d *toolspec.Definition) { d.Fences = tc.fences },
				probe: func(context.Context, in, toolspec.Call) (toolspec.Found[out], error) { return tc.found, nil },
			})
			ctx := as(t.Context(), false)
			attempt := w.executeIn()
			in := contract.ProbeIn{Facts: attempt.Facts, Epoch: 4, Dispatch: 2, Terms: attempt.Terms}
			if tc.change != nil {
				tc.change(&in)
			}
			in.Permit = w.permit(ctx, in.Facts, in.Terms)
			got, err := w.Probe(ctx, in)
			w.checkCanary(t, got)
			if got.DurationUs = 0; err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v, %v", got, tc.want, err)
			}
		})
	}
}
