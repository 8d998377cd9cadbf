package devcli

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/bench"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// benchAgent measures a round of a run of an agent and prints a table.
func (a devApp) benchAgent(ctx context.Context, o bench.Options) error {
	o.Progress = func(line string) { fmt.Fprintln(a.Err, "  "+app.Printable(line)) }
	report, err := bench.Agent(ctx, o)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, report)
	}
	fmt.Fprintf(a.Out, "\n%s\n%d rounds; a round of a run with its call; × is the ratio to the workflow by hand in the same round\n\n", report.Server, report.Rounds)
	var rows [][]string
	for _, f := range report.Cases {
		rows = append(rows, []string{
			f.Name, fmt.Sprintf("%.1f", f.P50Ms), fmt.Sprintf("%.2f×", f.Ratio), fmt.Sprintf("%.1f", f.P95Ms), fmt.Sprintf("%.1f", f.HistoryEvents),
			fmt.Sprintf("%.1f", f.HistoryBytes/1024), fmt.Sprintf("%.1f", f.SQLStatements),
		})
	}
	app.PrintTable(a.Out, "", []string{"ROUND", "P50 MS", "", "P95", "EVENTS", "KIB", "SQL"}, rows)
	return nil
}
