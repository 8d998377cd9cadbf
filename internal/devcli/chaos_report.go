package devcli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/faultkit/chaos"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// maxShown is the maximum number of violations of one oracle that the text shows. With
// --json the report has all violations.
const maxShown = 10

// chaosReport prints the report of a run: the verdicts, the figures and the conclusion.
func chaosReport(a devApp, r *chaos.Report) {
	chaosVerdicts(a, r.Verdicts)
	chaosFigures(a, r.Figures)
	fmt.Fprintf(a.Out, "\n%s\n", conclusion(r.Verdicts))
}

// chaosVerdicts prints a table of the oracles, and the violations of each oracle.
func chaosVerdicts(a devApp, verdicts []oracle.Verdict) {
	rows := make([][]string, len(verdicts))
	for i, v := range verdicts {
		rows[i] = []string{v.Name, strconv.Itoa(v.Checked), strconv.Itoa(len(v.Violations)), verdictOf(v), v.Means}
	}
	fmt.Fprintln(a.Out)
	app.PrintTable(a.Out, "", []string{"ORACLE", "CHECKED", "VIOLATIONS", "VERDICT", "MEANS"}, rows)
	for _, v := range verdicts {
		chaosViolations(a, v)
	}
}

// verdictOf returns the verdict as one word. It is "-" for an oracle that checked
// nothing, because such an oracle proves nothing.
func verdictOf(v oracle.Verdict) string {
	switch {
	case !v.Held() && v.Name == oracle.Void:
		return "VOID"
	case !v.Held():
		return "VIOLATED"
	case v.Checked == 0:
		return "-"
	}
	return "holds"
}

// chaosViolations prints at most maxShown violations of an oracle. It prints nothing for
// an oracle that holds.
func chaosViolations(a devApp, v oracle.Verdict) {
	if v.Held() {
		return
	}
	fmt.Fprintf(a.Out, "\n%s is violated:\n", v.Name)
	for i, violation := range v.Violations {
		if i == maxShown {
			fmt.Fprintf(a.Out, "  … and %d more; --json shows all\n", len(v.Violations)-maxShown)
			return
		}
		if violation.ToolCallID != "" {
			fmt.Fprintf(a.Out, "  %s", app.OneLine(violation.ToolCallID, 40))
		}
		fmt.Fprintf(a.Out, "  %s\n", app.OneLine(violation.Why, 200))
	}
}

// chaosFigures prints how the calls of each tool ended, and the totals of the run.
func chaosFigures(a devApp, f chaos.Figures) {
	var rows [][]string
	for _, tool := range slices.Sorted(maps.Keys(f.Calls)) {
		total, outcomes := 0, []string{}
		for _, outcome := range slices.Sorted(maps.Keys(f.Calls[tool])) {
			n := f.Calls[tool][outcome]
			total += n
			outcomes = append(outcomes, fmt.Sprintf("%s %d", outcome, n))
		}
		rows = append(rows, []string{tool, strconv.Itoa(total), strings.Join(outcomes, ", ")})
	}
	fmt.Fprintln(a.Out)
	app.PrintTable(a.Out, "", []string{"TOOL", "CALLS", "ENDED"}, rows)
	fmt.Fprintf(a.Out, "\nfaults     %s\n", chaos.FaultsInWords(f.Faults))
	fmt.Fprintf(a.Out, "effects    %d; %d calls had more than one\n", f.Effects, f.Repeated)
	fmt.Fprintf(a.Out, "attempts   %d; %d gave no answer\n", f.Attempts, f.Lost)
	fmt.Fprintf(a.Out, "beside     %d calls submitted twice, %d ids used for other arguments, %d decisions\n", f.Duplicates, f.Conflicts, f.Decisions)
	fmt.Fprintf(a.Out, "duration   p50 %s, p95 %s, max %s\n", millis(f.Duration.P50), millis(f.Duration.P95), millis(f.Duration.Max))
	fmt.Fprintf(a.Out, "history    p50 %d events, p95 %d, max %d\n", f.Events.P50, f.Events.P95, f.Events.Max)
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

// conclusion returns the last line of a report. If the run is void, because too few calls ended ok, the line says so
// and counts no violations: the other oracles mean nothing then.
func conclusion(verdicts []oracle.Verdict) string {
	broken := 0
	for _, v := range verdicts {
		if !v.Held() && v.Name == oracle.Void {
			return "The run is void: too few calls ended ok for the other oracles to mean anything."
		}
		if !v.Held() {
			broken++
		}
	}
	if broken > 0 {
		return fmt.Sprintf("%d of %d oracles are violated. The same seed plans the same run; --evidence DIR keeps what is known of the calls.", broken, len(verdicts))
	}
	return "Nothing lost, nothing twice."
}
