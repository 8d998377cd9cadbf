package pawltest

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/pawl-run/pawl/activities/attempt"
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// guarded is a value for several goroutines.
type guarded[V any] struct {
	mu sync.Mutex
	v  V
}

func (g *guarded[V]) change(f func(V) V) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.v = f(g.v)
}

func (g *guarded[V]) get() (v V) {
	g.change(func(now V) V { v = now; return now })
	return v
}

// record is the record of the only call of a test. No other run takes over the call.
type record struct{ output guarded[json.RawMessage] }

// Owned implements attempt.Store.
func (*record) Owned(context.Context, stage.OwnedRow) (hook.Plan, bool, error) {
	return hook.Plan{}, true, nil
}

// Claim implements attempt.Store.
func (*record) Claim(context.Context, attempt.ClaimRow) (contract.Outcome, error) {
	return contract.Done, nil
}

// Check implements attempt.Store.
func (*record) Check(_ context.Context, in contract.CheckIn) (contract.CheckOut, error) {
	return contract.CheckOut{Outcome: contract.Lost, Epoch: in.Epoch}, nil
}

// SaveOutput implements attempt.Store.
func (r *record) SaveOutput(_ context.Context, in attempt.OutputRow) (ref string, err error) {
	r.output.change(func(json.RawMessage) json.RawMessage { return in.Value })
	return in.InvocationID + ".1", nil
}

// Output implements attempt.Store.
func (r *record) Output(context.Context, string, string) (json.RawMessage, error) {
	return r.output.get(), nil
}

// noPolicy has no policy: no identity has roles, and no tool has repairs.
type noPolicy struct{}

// Policy implements judge.Policies.
func (noPolicy) Policy(context.Context, string) (*policy.Policy, error) { return nil, nil }
