package verify

import (
	"context"
	"errors"
	"iter"

	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/output"
)

// Outputs are the stored outputs of a database.
type Outputs interface {
	// EachOutput visits every stored output that has not expired, of all tenants, with its chunks. An error of visit ends it.
	EachOutput(ctx context.Context, visit func(info output.Info, chunks iter.Seq2[output.Chunk, error]) error) error
}

// Outputs reads every stored output, chunk by chunk, also for secrets that begin in one chunk and end in the next. An output that cannot
// be read, such as one in a bucket that this program does not use, is reported as unread. An output that expires meanwhile is left out.
func (v *Verifier) Outputs(ctx context.Context, outputs Outputs) error {
	reach := v.secrets.Reach()
	return outputs.EachOutput(ctx, func(info output.Info, chunks iter.Seq2[output.Chunk, error]) error {
		at := Place{Table: "outputs", Column: "data", Key: "ref=" + info.Ref}
		v.count(func(r *Report) { r.Outputs++ })
		var text []byte // the last bytes of what came before, and the chunk
		var found []string
		for c, err := range chunks {
			switch {
			case err == nil:
			case errors.Is(err, output.ErrExpired), errors.Is(err, output.ErrNotFound):
				return nil
			case ctx.Err() != nil || errs.IsTransient(err):
				return err
			default:
				v.unread(at)
				return nil
			}
			text = append(text[:copy(text, text[max(0, len(text)-reach):])], c.Data...)
			found = append(found, v.search(at, text, found...)...)
		}
		return nil
	})
}
