package devcli

import (
	"context"
	"fmt"

	"github.com/pawl-run/pawl/internal/bench"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// benchTelemetry measures calls with and without telemetry and prints a table.
func (a devApp) benchTelemetry(ctx context.Context, o bench.Options) error {
	o.Progress = func(line string) { fmt.Fprintln(a.Err, "  "+app.Printable(line)) }
	report, err := bench.Telemetry(ctx, o)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, report)
	}
	fmt.Fprintf(a.Out, "\n%s\n%d rounds; a worker without telemetry, and one that serves metrics and sends metrics and all traces\n\n", report.Server, report.Rounds)
	var rows [][]string
	for _, f := range report.Cases {
		rows = append(rows, []string{
			f.Name, fmt.Sprintf("%.0f", f.OffPerS), fmt.Sprintf("%.0f", f.OnPerS), fmt.Sprintf("%.2f×", f.Ratio), fmt.Sprintf("≥ %.2f×", f.Goal),
			fmt.Sprintf("%.1f", f.OffCPUMs), fmt.Sprintf("%.1f", f.OnCPUMs),
		})
	}
	app.PrintTable(a.Out, "", []string{"CASE", "OFF CALLS/S", "ON", "", "GOAL", "OFF CPU MS", "ON"}, rows)
	return nil
}
