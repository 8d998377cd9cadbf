package devcli

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/internal/bench"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// benchFiles prints the report of bench.Files.
func (a devApp) benchFiles(ctx context.Context, o bench.Options, tree string) error {
	o.Progress = func(line string) { fmt.Fprintln(a.Err, "  "+app.Printable(line)) }
	f, err := bench.Files(ctx, o, tree)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, f)
	}
	fmt.Fprintf(a.Out, "\n%s\n%s, %d rounds; × is the ratio to the other program in the same round\n\n", f.Server, app.Printable(f.Tree), f.Rounds)
	var rows [][]string
	for _, r := range f.Rows {
		row := []string{r.Name, fmt.Sprint(r.Found), fmt.Sprintf("%.0f", r.Ms), r.Other, "", ""}
		if r.Other != "" {
			row[4], row[5] = fmt.Sprintf("%.0f", r.OtherMs), fmt.Sprintf("%.2f×", r.Ratio)
		}
		rows = append(rows, row)
	}
	app.PrintTable(a.Out, "", []string{"WORK", "FOUND", "PAWL MS", "OTHER", "MS", ""}, rows)
	if len(f.Missing) > 0 {
		fmt.Fprintf(a.Out, "\nnot installed, so without a ratio: %s\n", strings.Join(f.Missing, ", "))
	}
	return nil
}
