package devcli

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/bench"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// benchMCP measures a call of a tool of an MCP server and prints a table.
func (a devApp) benchMCP(ctx context.Context, o bench.Options) error {
	o.Progress = func(line string) { fmt.Fprintln(a.Err, "  "+app.Printable(line)) }
	report, err := bench.MCP(ctx, o)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, report)
	}
	fmt.Fprintf(a.Out, "\n%s\n%d rounds; × is the ratio to the SDK's own call in the same round\n\n", report.Server, report.Rounds)
	var rows [][]string
	for _, f := range report.Cases {
		rows = append(rows, []string{f.Name, fmt.Sprintf("%.2f", f.P50Ms), fmt.Sprintf("%.1f×", f.Ratio), fmt.Sprintf("%.2f", f.P95Ms)})
	}
	app.PrintTable(a.Out, "", []string{"CALL", "P50 MS", "", "P95"}, rows)
	return nil
}
