package devcli

import (
	"context"
	"fmt"
	"io"

	"github.com/pawl-run/pawl/internal/bench"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// benchOutputs measures a stream of 200 MiB and prints the figures beside the goals.
func (a devApp) benchOutputs(ctx context.Context, o bench.Options) error {
	o.Progress = func(line string) { fmt.Fprintln(a.Err, "  "+app.Printable(line)) }
	f, err := bench.Outputs(ctx, o)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, f)
	}
	printOutputs(a.Out, f)
	return nil
}

func printOutputs(w io.Writer, f *bench.OutputFigures) {
	fmt.Fprintf(w, "\n%s\na text of %d MiB that a tool streams, %.1f MiB as it is stored\n\n", f.Server, f.MB, f.StoredMB)
	app.PrintTable(w, "", []string{"FIGURE", "", "GOAL"}, [][]string{
		{"written, MiB/s", fmt.Sprintf("%.0f", f.WriteMBPerS), ""},
		{"peak memory above idle, MiB", fmt.Sprintf("%.0f", f.PeakMB), "≤ 64"},
		{"the same while it is read, MiB", fmt.Sprintf("%.0f", f.ReadPeakMB), "≤ 64"},
		{"from the end of the tool to the result, ms", fmt.Sprintf("%.1f", f.ResultMs), ""},
		{"from the result to the first page, ms", fmt.Sprintf("%.1f", f.FirstPageMs), "≤ 50"},
		{"search for a literal, MiB/s", fmt.Sprintf("%.0f", f.GrepMBPerS), "≥ 200"},
		{"a page at line 2000000, ms", fmt.Sprintf("%.1f", f.LineMs), "≤ 10"},
	})
}
