package tools

import (
	"context"
	"hash"
	"io"
	"iter"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/output"
)

// openOutput returns a reader of a whole stored output, of which it holds one chunk in memory.
// closeOutput ends it.
func openOutput(ctx context.Context, outputs output.Reader, tenantID, ref string) (_ io.Reader, closeOutput func(), err error) {
	info, err := outputs.Info(ctx, tenantID, ref)
	if err != nil {
		return nil, nil, explainOutput(err)
	}
	if !info.Complete {
		return nil, nil, toolspec.Safef("the tool still writes the output: try again when it has ended")
	}
	next, stop := iter.Pull2(outputs.Chunks(ctx, tenantID, ref, output.Position{}))
	return &outputReader{next: next, left: info.Bytes}, stop, nil
}

type outputReader struct {
	next func() (output.Chunk, error, bool)
	part []byte
	// left is how much of the output is still to come: an output that ends early must not become a
	// file.
	left int64
}

// Read implements io.Reader.
func (r *outputReader) Read(p []byte) (int, error) {
	for len(r.part) == 0 {
		chunk, err, more := r.next()
		switch {
		case err != nil:
			return 0, err
		case !more && r.left != 0:
			return 0, io.ErrUnexpectedEOF
		case !more:
			return 0, io.EOF
		}
		r.part = chunk.Data
	}
	n := copy(p, r.part)
	r.part, r.left = r.part[n:], r.left-int64(n)
	return n, nil
}

// counter digests and counts what is written to it.
type counter struct {
	hash.Hash
	bytes int64
}

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return c.Hash.Write(p)
}
