package worker

import (
	"context"
	"iter"

	"github.com/pawl-run/pawl/toolspec/capability"
	"github.com/pawl-run/pawl/toolspec/output"
)

// storedOutputs is the capability Outputs. Tools are bound to it before the database is open, because the policy is checked against
// the tools first; no tool runs before.
type storedOutputs struct{ store output.Reader }

var _ capability.Outputs = (*storedOutputs)(nil)

func newStoredOutputs() *storedOutputs { return &storedOutputs{} }

// Info implements output.Reader.
func (s *storedOutputs) Info(ctx context.Context, tenantID, ref string) (output.Info, error) {
	return s.store.Info(ctx, tenantID, ref)
}

// Chunks implements output.Reader.
func (s *storedOutputs) Chunks(ctx context.Context, tenantID, ref string, from output.Position) iter.Seq2[output.Chunk, error] {
	return s.store.Chunks(ctx, tenantID, ref, from)
}
