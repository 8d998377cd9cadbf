package outputs

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/output/read"
)

// oneOutput is a reader of one text.
type oneOutput string

func (o oneOutput) Info(context.Context, string, string) (output.Info, error) {
	return output.Info{MediaType: "text/plain", Bytes: int64(len(o)), Lines: int64(strings.Count(string(o), "\n")), Complete: true}, nil
}

func (o oneOutput) Chunks(context.Context, string, string, output.Position) iter.Seq2[output.Chunk, error] {
	return func(yield func(output.Chunk, error) bool) { yield(output.Chunk{Data: []byte(o)}, nil) }
}

// TestGrepPages: each match is printed with the lines around it, also where a page of matches ends.
func TestGrepPages(t *testing.T) {
	t.Parallel()
	pattern, err := read.NewPattern("ERROR", false)
	if err != nil {
		t.Fatal(err)
	}
	var text, want strings.Builder
	for n := 1; n <= 1500; n++ {
		if n%10 == 0 {
			fmt.Fprintln(&text, "ERROR")
			fmt.Fprintf(&want, "%d:ERROR\n", n)
			continue
		}
		fmt.Fprintln(&text, "fine")
		if n%10 == 7 && n > 7 {
			fmt.Fprintln(&want, "--")
		}
		if n%10 >= 7 || n%10 == 1 && n > 1 {
			fmt.Fprintf(&want, "%d-fine\n", n)
		}
	}
	var out bytes.Buffer
	if err := (&grepFlags{before: 3, after: 1}).grep(t.Context(), &app.App{Streams: app.Streams{Out: &out}, Tenant: "acme"}, oneOutput(text.String()), "ref", pattern); err != nil {
		t.Fatal(err)
	}
	if out.String() != want.String() {
		t.Errorf("it prints %d bytes, want %d", out.Len(), want.Len())
	}
}
