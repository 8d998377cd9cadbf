package pawltest

import (
	"context"
	"iter"

	"github.com/pawl-run/pawl/toolspec/output"
)

// noOutputs is a reader of a tenant without stored outputs.
type noOutputs struct{}

// Info implements output.Reader.
func (noOutputs) Info(context.Context, string, string) (output.Info, error) {
	return output.Info{}, output.ErrNotFound
}

// Chunks implements output.Reader.
func (noOutputs) Chunks(context.Context, string, string, output.Position) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) { yield(output.Chunk{}, output.ErrNotFound) }
}
