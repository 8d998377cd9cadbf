package devcli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/faultkit/chaos"
)

var errNoFailpoints = errors.New("pairs of faults need a program with failpoints: go run -tags faults ./cmd/pawl chaos --pairs")

// pairFlags are the flags of a run with pairs of faults.
type pairFlags struct {
	run, list bool
	only      []string
	lanes     int
}

// add defines the flags in flags.
func (p *pairFlags) add(flags *pflag.FlagSet) {
	flags.BoolVar(&p.run, "pairs", false, "inject two faults into each call, at chosen points, for all pairs of faults")
	flags.BoolVar(&p.list, "list-pairs", false, "list the pairs of faults and run none")
	flags.StringArrayVar(&p.only, "pair", nil, "run only pairs with this name, FIRST+THEN; * stands for anything but a slash. May be repeated")
	flags.IntVar(&p.lanes, "lanes", 2, "with --pairs: how many sets of servers run at the same time")
}

// wanted reports whether a flag asks for a run with pairs of faults instead of a normal run.
func (p *pairFlags) wanted() bool { return p.run || p.list || len(p.only) > 0 }

// chaosPairs lists the pairs of p, or runs them and prints the report.
func (a devApp) chaosPairs(ctx context.Context, p pairFlags, o chaos.Options, workerLog string) error {
	pairs, err := chaos.MatchPairs(p.only...)
	if err != nil {
		return app.Usage(err)
	}
	if p.list {
		for _, pair := range pairs {
			fmt.Fprintln(a.Out, pair)
		}
		return nil
	}
	if !hasFailpoints {
		return app.Usage(errNoFailpoints)
	}
	run := chaos.PairOptions{
		Pairs: pairs, Seed: o.Seed, Calls: o.Calls, Lanes: p.lanes, For: o.For, Progress: a.chaosProgress(), Evidence: o.Evidence,
	}
	if run.Worker, err = chaosWorker(); err != nil {
		return err
	}
	file, err := openWorkerLog(workerLog)
	if err != nil {
		return err
	}
	defer file.Close()
	run.Log = file
	if !a.JSON {
		fmt.Fprintf(a.Out, "Pawl chaos, seed %d: %d pairs of faults, %d calls each, in %d lanes\n\n", run.Seed, len(pairs), max(run.Calls, 1), run.Lanes)
	}
	report, err := chaos.RunPairs(ctx, run)
	if report == nil {
		return err
	}
	return a.chaosEnd(report, func() { chaosPairReport(a, report) }, err)
}

// maxPairs is the number of rows after which the table leaves out the pairs without violations.
const maxPairs = 40

// chaosPairReport prints the report of a run with pairs of faults. The pairs with
// violations come first in r.Pairs, so the table has all of them.
func chaosPairReport(a devApp, r *chaos.PairReport) {
	chaosVerdicts(a, r.Verdicts)
	var rows [][]string
	for _, p := range r.Pairs {
		if len(p.Violated) == 0 && len(rows) >= maxPairs {
			break
		}
		outcomes := make([]string, 0, len(p.Outcomes))
		for _, outcome := range slices.Sorted(maps.Keys(p.Outcomes)) {
			outcomes = append(outcomes, fmt.Sprintf("%s %d", outcome, p.Outcomes[outcome]))
		}
		rows = append(rows, []string{
			p.Name, strconv.Itoa(p.Calls), strconv.Itoa(p.First), strconv.Itoa(p.Both), strconv.Itoa(len(p.Violated)), strings.Join(outcomes, ", "),
		})
	}
	fmt.Fprintln(a.Out)
	app.PrintTable(a.Out, "", []string{"PAIR", "CALLS", "FIRST", "BOTH", "VIOLATIONS", "ENDED"}, rows)
	if n := len(r.Pairs) - len(rows); n > 0 {
		fmt.Fprintf(a.Out, "… and %d more without violations; --json shows all\n", n)
	}
	for i, failed := range r.Failed {
		if i == maxShown {
			break
		}
		fmt.Fprintf(a.Out, "could not be injected: %s\n", app.OneLine(failed, 300))
	}
	fmt.Fprintf(a.Out, "\npairs      %d of %d were run, in %s\n", len(r.Pairs), r.Planned, r.Took.Round(time.Second))
	fmt.Fprintf(a.Out, "calls      %d; %d were hit by the first fault, %d by both\n", r.Calls, r.First, r.Both)
	fmt.Fprintf(a.Out, "faults     %s\n", chaos.FaultsInWords(r.Faults))
	fmt.Fprintf(a.Out, "effects    %d\n", r.Effects)
	if len(r.Failed) > 0 {
		fmt.Fprintf(a.Out, "failed     %d faults could not be injected\n", len(r.Failed))
	}
	fmt.Fprintf(a.Out, "\n%s\n", conclusion(r.Verdicts))
}
