package outputs

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/bucket/buckettest"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

func TestMain(m *testing.M) {
	buckettest.SetCredentials() // child processes need them too
	e2etest.Main(m, map[string]e2etest.Program{e2etest.ChildServe: e2etest.Serving(func(string) []worker.Option {
		return []worker.Option{worker.Tools(streams()...)}
	})})
}

const (
	// streamLines is how many lines of 100 bytes test__stream writes.
	streamLines = 40_000 / shrink
	// killedLines is how many lines test__killed writes.
	killedLines = 30_000 / shrink
	email       = "ann.lee@mail.example.org"
)

// line returns line number i of test__stream as the tool writes it, before it is masked.
func line(i int) string {
	text := fmt.Sprintf("%d the quick brown fox jumps over the lazy dog and writes to %s ", i, email)
	return text + strings.Repeat(".", max(0, 99-len(text))) + "\n"
}

func text(d *toolspec.Definition) {
	d.Stream, d.Redaction.MaskStream, d.Timeout = toolspec.TextStream, []toolspec.Masker{toolspec.MaskEmail}, 2*time.Minute
}

func binary(d *toolspec.Definition) { d.Stream, d.Timeout = toolspec.BinaryStream, 2*time.Minute }

// noise returns the bytes that test__binary writes.
func noise() []byte {
	data := make([]byte, 3<<20/shrink)
	state := uint32(1)
	for i := range data {
		state = state*1664525 + 1013904223
		data[i] = byte(state >> 24)
	}
	return data
}

func streams() []toolspec.Tool {
	write := func(lines int) func(toolspec.Call) error {
		return func(call toolspec.Call) error {
			for i := range lines {
				if _, err := call.Output().Write([]byte(line(i))); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return []toolspec.Tool{
		e2etest.Tool("test__stream", func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			return e2etest.Out{Text: "written"}, write(streamLines)(call)
		}, text),
		// This tool ignores the error of its writes. Its attempt must fail in spite of that.
		e2etest.Tool("test__careless", func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			_ = write(50_000 / shrink)(call)
			return e2etest.Out{Text: "written"}, nil
		}, text),
		e2etest.Tool("test__fails", func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if err := write(30_000 / shrink)(call); err != nil {
				return e2etest.Out{}, err
			}
			return e2etest.Out{}, toolspec.Safef("no more")
		}, text),
		e2etest.Tool("test__binary", func(_ context.Context, _ e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if err := call.Output().SetMediaType("image/png"); err != nil {
				return e2etest.Out{}, err
			}
			_, err := call.Output().Write(noise())
			return e2etest.Out{Text: "drawn"}, err
		}, binary),
		e2etest.Tool("test__silent", e2etest.Shown, binary),
		// The first worker hangs in the middle of its stream, and the next one finishes it.
		e2etest.Tool("test__killed", func(ctx context.Context, in e2etest.In, call toolspec.Call) (e2etest.Out, error) {
			if err := write(killedLines)(call); err != nil {
				return e2etest.Out{}, err
			}
			_, err := os.Stat(in.Text)
			first := err != nil
			if err := e2etest.Enter(in.Text, os.Getpid()); err != nil {
				return e2etest.Out{}, err
			}
			if first {
				<-ctx.Done()
				return e2etest.Out{}, ctx.Err()
			}
			return e2etest.Out{Text: "written"}, nil
		}, text),
	}
}
