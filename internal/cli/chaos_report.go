package cli

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/internal/faultkit/chaos"
	"github.com/pawl-run/pawl/internal/faultkit/oracle"
)

// maxShown is how many violations of one oracle people see; --json has all.
const maxShown = 10

func chaosReport(a *app, r *chaos.Report) {
	rows := make([][]string, len(r.Verdicts))
	for i, v := range r.Verdicts {
		rows[i] = []string{v.Name, strconv.Itoa(v.Checked), strconv.Itoa(len(v.Violations)), verdictOf(v), v.Means}
	}
	fmt.Fprintln(a.Out)
	table(a.Out, "", []string{"ORACLE", "CHECKED", "VIOLATIONS", "VERDICT", "MEANS"}, rows)
	for _, v := range r.Verdicts {
		chaosViolations(a, v)
	}
	chaosFigures(a, r.Figures)
	fmt.Fprintf(a.Out, "\n%s\n", chaosConclusion(r))
}

// verdictOf is a word: an oracle that had nothing to look at says nothing.
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

func chaosViolations(a *app, v oracle.Verdict) {
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
			fmt.Fprintf(a.Out, "  %s", oneLine(violation.ToolCallID, 40))
		}
		fmt.Fprintf(a.Out, "  %s\n", oneLine(violation.Why, 200))
	}
}

func chaosFigures(a *app, f chaos.Figures) {
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
	table(a.Out, "", []string{"TOOL", "CALLS", "ENDED"}, rows)
	fmt.Fprintf(a.Out, "\nfaults     %s\n", chaos.FaultsInWords(f.Faults))
	fmt.Fprintf(a.Out, "effects    %d; %d calls had more than one\n", f.Effects, f.Repeated)
	fmt.Fprintf(a.Out, "attempts   %d; %d gave no answer\n", f.Attempts, f.Lost)
	fmt.Fprintf(a.Out, "beside     %d calls submitted twice, %d ids used for other arguments, %d decisions\n", f.Twins, f.Rivals, f.Decisions)
	fmt.Fprintf(a.Out, "duration   p50 %s, p95 %s, max %s\n", millis(f.Duration.P50), millis(f.Duration.P95), millis(f.Duration.Max))
	fmt.Fprintf(a.Out, "history    p50 %d events, p95 %d, max %d\n", f.Events.P50, f.Events.P95, f.Events.Max)
}

func millis(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

func chaosConclusion(r *chaos.Report) string {
	broken := 0
	for _, v := range r.Verdicts {
		if !v.Held() && v.Name == oracle.Void {
			return "The run is void: too few calls ended ok for the other oracles to mean anything."
		}
		if !v.Held() {
			broken++
		}
	}
	if broken > 0 {
		return fmt.Sprintf("%d of %d oracles are violated. The same seed plans the same run; --evidence DIR keeps what is known of the calls.", broken, len(r.Verdicts))
	}
	return "Nothing lost, nothing twice."
}
