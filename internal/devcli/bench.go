package devcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/bench"
	"github.com/pawl-run/pawl/internal/cli/app"
)

// modCache stands for the Go module cache in --tools without a directory.
const modCache = "GOMODCACHE"

// newBench makes the command `pawl bench`.
func newBench(a devApp) *cobra.Command {
	o := bench.Options{
		TemporalAddress: os.Getenv("TEMPORAL_ADDRESS"), DatabaseURL: os.Getenv("PAWL_DATABASE_URL"),
	}
	var store, server, profile string
	var grow, park []int
	var outputs, overMCP, ofAgent, ofTelemetry bool
	var tree string
	cmd := &cobra.Command{
		Use: "bench", Short: "Measure the cost of a call against a bare workflow",
		Long: "Start Temporal, Postgres and the workers in one process, and measure a call of each kind beside a hand-written\n" +
			"workflow with one activity. The rounds are interleaved: first one call after the other, then many at once.\n" +
			"With TEMPORAL_ADDRESS or PAWL_DATABASE_URL the command uses those servers; the database must be for the benchmark\n" +
			"only. docs/performance.md explains the figures.",
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Store = bench.Store(store)
			switch server {
			case devServer:
			case fullServer:
				o.FullServer = true
			default:
				return app.Usage(fmt.Errorf("there is no server %q: use %s or %s", server, devServer, fullServer))
			}
			if err := o.Check(); err != nil {
				return app.Usage(err)
			}
			if profile != "" {
				file, err := os.Create(profile)
				if err != nil {
					return err
				}
				defer file.Close()
				if err := pprof.StartCPUProfile(file); err != nil {
					return err
				}
				defer pprof.StopCPUProfile()
			}
			if tree != "" {
				return a.benchFiles(cmd.Context(), o, strings.TrimPrefix(tree, modCache))
			}
			if overMCP {
				return a.benchMCP(cmd.Context(), o)
			}
			if ofAgent {
				return a.benchAgent(cmd.Context(), o)
			}
			if ofTelemetry {
				return a.benchTelemetry(cmd.Context(), o)
			}
			if outputs {
				return a.benchOutputs(cmd.Context(), o)
			}
			return a.bench(cmd.Context(), o, grow, park)
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Rounds, "rounds", bench.DefaultRounds, "number of measurements of each case")
	flags.IntVar(&o.Calls, "calls", bench.DefaultCalls, "calls one after the other in a round; five times as many are made at once")
	flags.IntVar(&o.Parallel, "concurrency", bench.DefaultParallel, "number of concurrent calls in the measurement of throughput")
	flags.StringSliceVar(&o.Cases, "cases", nil, "some of "+strings.Join(bench.Names(), ", "))
	flags.BoolVar(&o.Telemetry, "telemetry", false, "have Pawl's worker send metrics and all traces to a receiver in this process")
	flags.StringVar(&store, "store", string(bench.Memory), "where the Temporal server keeps its state: memory or file")
	flags.StringVar(&server, "server", devServer, "the Temporal server to start: dev, or full for a server with Postgres persistence, which is built once")
	flags.IntSliceVar(&grow, "grow", nil, "instead measure a read while the record grows to so many calls: --grow 1000,1000000")
	flags.IntSliceVar(&park, "park", nil, "instead measure a worker's memory while so many calls wait for a person, and how long decided ones take: --park 200,2000")
	flags.BoolVar(&outputs, "outputs", false, "instead measure a stream of 200 MiB: memory, the first page, a line, a search")
	flags.BoolVar(&overMCP, "mcp", false, "instead measure a call of a tool of an MCP server beside the SDK's own call over the same transport")
	flags.BoolVar(&ofAgent, "agent", false, "instead measure a round of a run of an agent beside a hand-written loop that starts the same calls")
	flags.BoolVar(&ofTelemetry, "telemetry-cost", false, "instead measure reads and writes with telemetry and without, in turn")
	flags.StringVar(&tree, "tools", "", "instead measure core__grep, core__glob and core__read_file beside ripgrep and fd, over the Go module cache or --tools=`directory`")
	flags.Lookup("tools").NoOptDefVal = modCache
	flags.StringVar(&profile, "cpuprofile", "", "`file` for a profile of this process, for go tool pprof")
	return cmd
}

// bench runs one of three measurements: with grow, reads of a record of each of these sizes; with park, the memory of
// a worker with each of these numbers of waiting calls; otherwise the cases of o. It starts this program with a hidden
// command for each process that it needs.
func (a devApp) bench(ctx context.Context, o bench.Options, grow, park []int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Submitter = func() *exec.Cmd { return exec.Command(self, "bench-submit") }
	o.Worker = func() *exec.Cmd { return exec.Command(self, "bench-worker") }
	o.Progress = func(line string) { fmt.Fprintln(a.Err, "  "+app.Printable(line)) }
	switch {
	case len(grow) > 0 && len(park) > 0:
		return app.Usage(errors.New("--grow and --park exclude each other: give one of them"))
	case len(grow) > 0:
		return a.benchGrowth(ctx, o, grow)
	case len(park) > 0:
		return a.benchParked(ctx, o, park)
	}
	report, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, report)
	}
	a.benchReport(report)
	return nil
}

// benchGrowth measures a read at each size of the record and prints a table.
func (a devApp) benchGrowth(ctx context.Context, o bench.Options, sizes []int) error {
	if !slices.IsSorted(sizes) || sizes[0] < 1 {
		return app.Usage(errors.New("--grow takes sizes in ascending order, such as 1000,1000000"))
	}
	report, err := bench.Grow(ctx, o, sizes)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, report)
	}
	fmt.Fprintf(a.Out, "\n%s\n%d rounds of a read; × is the ratio to the smallest size\n\n", report.Server, o.Rounds)
	var rows [][]string
	for _, g := range report.Sizes {
		rows = append(rows, []string{fmt.Sprint(g.Invocations), fmt.Sprintf("%.1f", g.P50Ms), fmt.Sprintf("%.2f×", g.P50Ratio), fmt.Sprintf("%.1f", g.P95Ms)})
	}
	app.PrintTable(a.Out, "", []string{"CALLS", "P50 MS", "", "P95"}, rows)
	return nil
}

// benchParked measures a worker at each number of waiting calls and prints a table.
func (a devApp) benchParked(ctx context.Context, o bench.Options, sizes []int) error {
	if !slices.IsSorted(sizes) || sizes[0] < 1 || sizes[len(sizes)-1] > bench.MaxCalls {
		return app.Usage(fmt.Errorf("--park takes sizes in ascending order, at most %d, such as 200,2000", bench.MaxCalls))
	}
	report, err := bench.Park(ctx, o, sizes)
	if err != nil {
		return err
	}
	if a.JSON {
		return app.PrintJSON(a.Out, report)
	}
	fmt.Fprintf(a.Out, "\n%s\ncalls that wait for a person; × is the ratio to the smallest number of them\n\n", report.Server)
	var rows [][]string
	for _, p := range report.Sizes {
		rows = append(rows, []string{
			fmt.Sprint(p.Calls), fmt.Sprintf("%.1f", p.RSSMB), fmt.Sprintf("%.2f×", p.RSSRatio),
			fmt.Sprintf("%.1f", p.RestartedMB), fmt.Sprintf("%.2f×", p.RestartedRatio),
		})
	}
	app.PrintTable(a.Out, "", []string{"WAITING", "WORKER MIB", "", "STARTED ANEW MIB", ""}, rows)
	fmt.Fprintf(a.Out, "\nall decided once, %d at a time: from decision to result p50 %.1f ms, p95 %.1f ms; the worker then has %.1f MiB, %.2f×\n",
		report.Parallel, report.P50Ms, report.P95Ms, report.DecidedMB, report.DecidedRatio)
	return nil
}

// benchReport prints the report as a table for people.
func (a devApp) benchReport(r *bench.Report) {
	fmt.Fprintf(a.Out, "\n%s\n%d rounds; × is the ratio to bare in the same round\n\n", r.Server, r.Rounds)
	rows := make([][]string, len(r.Cases))
	for i, f := range r.Cases {
		rows[i] = []string{
			f.Name, fmt.Sprintf("%.0f", f.ThroughputPerS), fmt.Sprintf("%.2f×", f.ThroughputRatio),
			fmt.Sprintf("%.1f", f.P50Ms), fmt.Sprintf("%.2f×", f.P50Ratio), fmt.Sprintf("%.1f", f.P95Ms), fmt.Sprintf("%.1f", f.MaxMs),
			fmt.Sprint(f.StateTransitions), fmt.Sprint(f.Actions), fmt.Sprint(f.HistoryEvents), fmt.Sprintf("%.1f", float64(f.HistoryBytes)/1024),
			fmt.Sprint(f.SQLStatements), fmt.Sprintf("%.1f", f.CPUMs), fmt.Sprint(f.Allocs), f.About(),
		}
	}
	app.PrintTable(a.Out, "", []string{
		"CASE", "CALLS/S", "", "P50 MS", "", "P95", "MAX", "TRANSITIONS", "ACTIONS", "EVENTS", "KIB", "SQL", "CPU MS", "ALLOCS", "",
	}, rows)
}

// newBenchSubmit makes the hidden command of the process that submits calls from outside.
func newBenchSubmit(a devApp) *cobra.Command {
	return &cobra.Command{
		Use: "bench-submit", Hidden: true, Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return bench.Submit(cmd.Context(), os.Stdin, a.Out) },
	}
}

// newBenchWorker makes the hidden command of the worker whose memory benchParked measures. The worker is a process of
// its own.
func newBenchWorker(a devApp) *cobra.Command {
	return &cobra.Command{
		Use: "bench-worker", Hidden: true, Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return bench.Work(cmd.Context(), a.In) },
	}
}
