package devcli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/faultkit/chaos"
)

// Values of --server.
const (
	devServer  = "dev"
	fullServer = "full"
	ownServers = "environment"
)

// setServers sets the servers of o for the value name of --server. With environment, the run starts the server whose
// variable is empty. The error says that both variables are empty, or that --server has no value name.
func setServers(o *chaos.Options, name string) error {
	switch name {
	case devServer: // the default of chaos.Options
	case fullServer:
		o.FullServer = true
	case ownServers:
		o.TemporalAddress, o.DatabaseURL = os.Getenv("TEMPORAL_ADDRESS"), os.Getenv("PAWL_DATABASE_URL")
		if o.TemporalAddress == "" && o.DatabaseURL == "" {
			return errors.New("--server environment needs TEMPORAL_ADDRESS or PAWL_DATABASE_URL")
		}
	default:
		return fmt.Errorf("there is no server %q: use %s, %s or %s", name, devServer, fullServer, ownServers)
	}
	return nil
}

const serverHelp = "the servers: dev starts a Temporal dev server, full a Temporal server with Postgres persistence, environment takes TEMPORAL_ADDRESS\n" +
	"and PAWL_DATABASE_URL, for this run only, and starts the one that is not set"

// newLoad makes the hidden command `pawl load`.
func newLoad(a devApp) *cobra.Command {
	o := chaos.LoadOptions{}
	var faults, server, workerLog string
	var workers, concurrency []int
	cmd := &cobra.Command{
		Use: "load", Hidden: true,
		Short: "Make as many calls as the workers can take, and check that none is lost or doubled",
		Long: "Start Temporal, Postgres and workers, and submit a mix of calls: each submitter makes a call, waits for its result, and makes\n" +
			"the next one. With several numbers of workers or submitters, each pair is measured in turn, on the same servers. With\n" +
			"--faults, workers and servers die meanwhile. Afterwards every call is judged, and places of semaphores and a secret that the\n" +
			"tools were given are searched for. The exit status is 0 only if nothing was lost, doubled or leaked.\n" +
			"docs/performance.md explains the report.",
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Faults, err = chaos.ParseKinds(faults); err != nil {
				return app.Usage(err)
			}
			if err := setServers(&o.Options, server); err != nil {
				return app.Usage(err)
			}
			if !cmd.Flags().Changed("seed") {
				o.Seed = uint64(rand.Uint32())
			}
			for _, n := range workers {
				for _, c := range concurrency {
					o.Steps = append(o.Steps, chaos.LoadStep{Workers: n, Submitters: c})
				}
			}
			file, err := openWorkerLog(workerLog)
			if err != nil {
				return err
			}
			defer file.Close()
			o.Log = file
			return a.load(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&o.For, "for", 30*time.Second, "how long calls are submitted in each step")
	flags.IntVar(&o.Calls, "calls", 0, fmt.Sprintf("how many calls are submitted at most; default %d", chaos.MaxCalls))
	flags.IntSliceVar(&workers, "workers", []int{1}, "how many workers run at once: 1,2,4 measures each number")
	flags.IntSliceVar(&concurrency, "concurrency", []int{16}, "how many calls are made at the same time: 4,16,64 measures each number")
	flags.Float64Var(&o.Rate, "rate", 0, "the maximum number of calls that start in a second; default no maximum")
	flags.Uint64Var(&o.Seed, "seed", 0, "the seed of the calls and faults; default a random one")
	flags.StringVar(&faults, "faults", "none", "the faults to inject: kill, term, stop, postgres, temporal and others of pawl chaos that hit no single call")
	flags.DurationVar(&o.Every, "every", 10*time.Second, "mean time between two kills; other faults are rarer, in proportion")
	flags.DurationVar(&o.Settle, "settle", 5*time.Minute, "how long calls may take to end afterwards")
	flags.StringVar(&server, "server", devServer, serverHelp)
	flags.StringVar(&o.Evidence, "evidence", "", "directory for records and histories of calls that violate an oracle, and of the slowest ones")
	flags.StringVar(&workerLog, "worker-log", "", "file for the output of the workers")
	return cmd
}

// load runs calls under load and prints the report.
func (a devApp) load(ctx context.Context, o chaos.LoadOptions) error {
	var err error
	if o.Worker, err = chaosWorker(); err != nil {
		return err
	}
	o.Progress = a.chaosProgress()
	report, err := chaos.Load(ctx, o)
	if report == nil {
		return err
	}
	return a.chaosEnd(report, func() { loadReport(a, report) }, err)
}

// loadReport prints a table of the steps, the times of each kind of call, the outcomes and the conclusion.
func loadReport(a devApp, r *chaos.LoadReport) {
	var rows [][]string
	for _, s := range r.Steps {
		rows = append(rows, []string{strconv.Itoa(s.Workers), strconv.Itoa(s.Submitters), strconv.Itoa(s.Ended), fmt.Sprintf("%.1f", s.PerSecond)})
	}
	fmt.Fprintln(a.Out)
	app.PrintTable(a.Out, "", []string{"WORKERS", "AT ONCE", "CALLS", "CALLS/S"}, rows)
	for _, s := range r.Steps {
		rows = nil
		for _, l := range s.Lanes {
			ms := func(v float64) string { return fmt.Sprintf("%.0f", v) }
			rows = append(rows, []string{l.Lane, strconv.Itoa(l.Calls), ms(l.P50Ms), ms(l.P95Ms), ms(l.P99Ms), ms(l.MaxMs)})
		}
		fmt.Fprintf(a.Out, "\n%d workers, %d at once; %s:\n", s.Workers, s.Submitters, s.Processors)
		for _, use := range s.Uses {
			fmt.Fprintln(a.Out, use)
		}
		app.PrintTable(a.Out, "", []string{"CALL", "CALLS", "P50 MS", "P95", "P99", "MAX"}, rows)
	}
	rows = nil
	for _, tool := range slices.Sorted(maps.Keys(r.Calls)) {
		var outcomes []string
		for _, outcome := range slices.Sorted(maps.Keys(r.Calls[tool])) {
			outcomes = append(outcomes, fmt.Sprintf("%s %d", outcome, r.Calls[tool][outcome]))
		}
		rows = append(rows, []string{tool, strings.Join(outcomes, ", ")})
	}
	fmt.Fprintln(a.Out)
	app.PrintTable(a.Out, "", []string{"TOOL", "ENDED"}, rows)
	for _, v := range r.Verdicts {
		chaosViolations(a, v)
	}
	fmt.Fprintf(a.Out, "\nseed            %d\n", r.Seed)
	fmt.Fprintf(a.Out, "faults          %s\n", chaos.FaultsInWords(r.Faults))
	fmt.Fprintf(a.Out, "calls           %d accepted, %d effects\n", r.Submitted, r.Effects)
	fmt.Fprintf(a.Out, "lost            %d\n", r.Lost)
	fmt.Fprintf(a.Out, "doubled         %d\n", r.Doubled)
	fmt.Fprintf(a.Out, "leaked places   %d\n", r.LeakedPlaces)
	fmt.Fprintf(a.Out, "leaked secrets  %d, in %d histories, %d rows and %d bytes of logs; %d places were not read\n",
		r.Secrets.Leaked, r.Secrets.Histories, r.Secrets.Rows, r.Secrets.LogBytes, r.Secrets.Unread)
	for _, place := range r.Secrets.Places {
		fmt.Fprintf(a.Out, "  %s\n", app.OneLine(place, 300))
	}
	if r.Held() {
		fmt.Fprintf(a.Out, "\nNothing lost, nothing twice, nothing leaked.\n")
	} else {
		fmt.Fprintf(a.Out, "\nThe run shows a fault of Pawl, or is void.\n")
	}
}
