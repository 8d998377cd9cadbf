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
type record struct {
	output guarded[json.RawMessage]
	stream guarded[[]byte]
}

// Owned implements attempt.Store.
func (*record) Owned(context.Context, stage.OwnedRow) (hook.Plan, bool, error) {
	return hook.Plan{}, true, nil
}

// Claim implements attempt.Store.
func (*record) Claim(context.Context, attempt.ClaimRow) (contract.Outcome, error) {
	return contract.Done, nil
}

// Earlier implements attempt.Store.
func (*record) Earlier(context.Context, attempt.EarlierRow) (attempt.EarlierClaim, bool, error) {
	return attempt.EarlierClaim{}, false, nil
}

// Keep implements attempt.Store.
func (*record) Keep(context.Context, attempt.KeepRow) error { return nil }

// Begin implements attempt.Store.
func (*record) Begin(context.Context, attempt.BeginRow) error { return nil }

// ReportProgress implements attempt.Store.
func (*record) ReportProgress(context.Context, attempt.ProgressRow) (bool, error) { return false, nil }

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

// NewOutput implements attempt.Store.
func (r *record) NewOutput(in attempt.StreamRow) attempt.OutputWriter {
	return &streamed{r, in.InvocationID + ".1"}
}

// streamed keeps a stream in memory.
type streamed struct {
	record *record
	ref    string
}

// Write implements attempt.OutputWriter.
func (s *streamed) Write(_ context.Context, p []byte) error {
	s.record.stream.change(func(all []byte) []byte { return append(all, p...) })
	return nil
}

// Finish implements attempt.OutputWriter.
func (s *streamed) Finish(context.Context, string) (ref string, err error) { return s.ref, nil }

// Discard implements attempt.OutputWriter.
func (s *streamed) Discard(context.Context) error {
	s.record.stream.change(func([]byte) []byte { return nil })
	return nil
}

// noPolicy implements judge.Policies without a policy: no identity has roles, no tool has repairs, and no policy masks a value.
type noPolicy struct{}

// Policy implements judge.Policies.
func (noPolicy) Policy(context.Context, string) (*policy.Policy, error) { return nil, nil }
