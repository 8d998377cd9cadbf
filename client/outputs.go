package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// MaxOutput bounds the value that Client.Output returns, in bytes.
const MaxOutput = 16 << 20

// ErrOutputTooLarge is the error of Client.Output for a value of more than MaxOutput bytes.
var ErrOutputTooLarge = fmt.Errorf("the output is larger than %d MiB: read it with Client.OpenOutput, or a part of it with package toolspec/output/read", MaxOutput>>20)

// Outputs reads values by their references: the outputRef of a large result, and for settled calls
// toolspec.ResultRef. It returns ErrNotFound for an output of another tenant.
type Outputs interface {
	Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error)
}

// Output returns the value of a reference: the outputRef of a Result, or the output_ref of an answer
// to a model. An output that the tenant does not have is ErrNotFound. A client with
// Options.OutputReader returns ErrOutputTooLarge for a value of more than MaxOutput bytes, and
// output.ErrExpired for an output whose time is over. OpenOutput reads streams and outputs of any
// size.
func (c *Client) Output(ctx context.Context, tenantID, ref string) (json.RawMessage, error) {
	if c.outputs == nil {
		return nil, fmt.Errorf("client: output: %w", ErrNoOutputs)
	}
	if c.reader != nil {
		info, err := c.OutputInfo(ctx, tenantID, ref)
		if err != nil {
			return nil, err
		}
		if info.Bytes > MaxOutput {
			return nil, fmt.Errorf("client: output of %d bytes: %w", info.Bytes, ErrOutputTooLarge)
		}
	}
	return c.outputs.Output(ctx, tenantID, ref)
}

// OutputInfo describes a stored output: its size, its media type and whether it is complete. The
// error is ErrNotFound, output.ErrExpired, or ErrNoOutputs for a client without
// Options.OutputReader.
func (c *Client) OutputInfo(ctx context.Context, tenantID, ref string) (output.Info, error) {
	if c.reader == nil {
		return output.Info{}, fmt.Errorf("client: output: %w", ErrNoOutputs)
	}
	info, err := c.reader.Info(ctx, tenantID, ref)
	if err != nil {
		return output.Info{}, fmt.Errorf("client: output: %w", orNoOutput(err))
	}
	return info, nil
}

// OpenOutput returns a reader of a stored output of any size, from an offset on. Of an output that is not complete
// it reads what is stored. It holds a few chunks in memory. Close it after use. The errors are those of
// OutputInfo; a Read returns output.ErrExpired if the time of the output ends before its last byte.
func (c *Client) OpenOutput(ctx context.Context, tenantID, ref string, offset int64) (io.ReadCloser, error) {
	if _, err := c.OutputInfo(ctx, tenantID, ref); err != nil {
		return nil, err
	}
	return read.NewReader(ctx, c.reader, tenantID, ref, offset), nil
}

// orNoOutput returns ErrNotFound for an output that the tenant does not have, and otherwise err.
func orNoOutput(err error) error {
	if errors.Is(err, output.ErrNotFound) {
		return ErrNotFound
	}
	return err
}
