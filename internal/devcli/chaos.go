package devcli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/faultkit/chaos"
	"github.com/pawl-run/pawl/worker"
)

// errChaos is the error of a run whose report has violations. It is not printed, because
// the report shows the violations.
var errChaos = errors.New("an oracle is violated")

// newChaos makes the hidden command `pawl chaos`.
func newChaos(a devApp) *cobra.Command {
	o, pairs := chaos.Options{}, pairFlags{}
	var faults, server, workerLog string
	cmd := &cobra.Command{
		Use: "chaos", Hidden: true,
		Short: "Kill workers during a mix of calls, and check the outcomes of the calls",
		Long: "Start Temporal, Postgres and workers, submit a mix of calls drawn from a seed, inject faults meanwhile, wait\n" +
			"until every call has ended, and check the oracles. The exit status is 0 only if no oracle is violated.\n" +
			"docs/operations.md explains the table.\n\n" +
			"With --pairs the command injects two faults into each call instead, at chosen points. That needs a program with\n" +
			"failpoints: go run -tags faults ./cmd/pawl chaos --pairs.",
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Faults, err = chaos.ParseKinds(faults); err != nil {
				return app.Usage(err)
			}
			if err := setServers(&o, server); err != nil {
				return app.Usage(err)
			}
			if server != devServer && pairs.wanted() {
				return app.Usage(errors.New("--pairs runs on dev servers only: leave --server out"))
			}
			if !cmd.Flags().Changed("seed") {
				o.Seed = uint64(rand.Uint32())
			}
			if pairs.wanted() {
				// The default of --for belongs to a normal run. Pairs have no limit by default.
				if !cmd.Flags().Changed("for") {
					o.For = 0
				}
				return a.chaosPairs(cmd.Context(), pairs, o, workerLog)
			}
			if o.Calls == 0 {
				o.Calls = chaos.DefaultCalls(o.For)
			}
			file, err := openWorkerLog(workerLog)
			if err != nil {
				return err
			}
			defer file.Close()
			o.Log = file
			return a.chaos(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&o.For, "for", time.Minute, "how long calls are submitted and faults injected. With --pairs: no pair starts after this time; default all pairs run")
	flags.IntVar(&o.Calls, "calls", 0, "how many calls are submitted; default 10 in 3 seconds. With --pairs: calls of each pair, default 1")
	flags.Uint64Var(&o.Seed, "seed", 0, "the seed of the plan; default a random one")
	flags.IntVar(&o.Workers, "workers", 2, "how many workers run at once")
	flags.DurationVar(&o.Every, "every", 2*time.Second, "mean time between two kills; other faults are rarer, in proportion")
	flags.StringVar(&faults, "faults", "kill", "the faults to inject: a list of "+chaos.KindNames()+"; or all, or none")
	flags.StringVar(&server, "server", devServer, serverHelp)
	flags.DurationVar(&o.Settle, "settle", 3*time.Minute, "how long calls may take to end afterwards")
	flags.StringVar(&o.Evidence, "evidence", "", "directory for records and histories of calls that violate an oracle, and of the slowest ones")
	flags.StringVar(&workerLog, "worker-log", "", "file for the output of the workers")
	pairs.add(flags)
	return cmd
}

// openWorkerLog opens the file for the output of workers. An empty name discards it.
func openWorkerLog(name string) (*os.File, error) {
	if name == "" {
		name = os.DevNull
	}
	return os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
}

// chaosWorker returns a function that makes the command of a worker process. The worker
// does not inherit environment variables that configure Temporal, Pawl or the database.
func chaosWorker() (func() *exec.Cmd, error) {
	self, err := os.Executable()
	return func() *exec.Cmd {
		cmd := exec.Command(self, "chaos-serve")
		cmd.Env = append(without(os.Environ(), "TEMPORAL_", "PAWL_", "DATABASE_URL"),
			"TEMPORAL_CONFIG_FILE="+os.DevNull, // a profile's certificates and keys are for another server
			"PAWL_LOG_LEVEL=warn")
		return cmd
	}, err
}

// chaosProgress returns a function that prints a line of progress to a.Err.
func (a devApp) chaosProgress() func(string) {
	return func(line string) { fmt.Fprintln(a.Err, "  "+strings.ReplaceAll(app.Printable(line), "\n", " | ")) }
}

// chaos performs a chaos run and prints its report. A run that fails may still have a
// report.
func (a devApp) chaos(ctx context.Context, o chaos.Options) error {
	var err error
	if o.Worker, err = chaosWorker(); err != nil {
		return err
	}
	o.Progress = a.chaosProgress()
	if !a.JSON {
		chaosHeader(a, o)
	}
	report, err := chaos.Run(ctx, o)
	if report == nil {
		return err
	}
	return a.chaosEnd(report, func() { chaosReport(a, report) }, err)
}

// chaosEnd prints the report of a run, as JSON or with show. It returns err, or errChaos
// if err is nil and an oracle is violated.
func (a devApp) chaosEnd(report interface{ Held() bool }, show func(), err error) error {
	if !a.JSON {
		show()
	} else if err := app.PrintJSON(a.Out, report); err != nil {
		return err
	}
	if err == nil && !report.Held() {
		err = app.Silent(errChaos)
	}
	return err
}

// newChaosWorker makes the hidden command of a worker process of `pawl chaos`.
func newChaosWorker(a devApp) *cobra.Command {
	return &cobra.Command{
		Use: "chaos-serve", Hidden: true, Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := worker.LoadConfig()
			if err != nil {
				return err
			}
			c.KeyRing.Wrapper = a.Wrapper
			around, options, err := failpoints(&c, os.Getenv(chaos.PointsEnv))
			if err != nil {
				return err
			}
			return chaos.Serve(cmd.Context(), c, os.Getenv(chaos.LedgerEnv), around, os.Stdin, options...)
		},
	}
}

// chaosHeader prints the plan of the run and the command that runs it again.
func chaosHeader(a devApp, o chaos.Options) {
	names := make([]string, len(o.Faults))
	for i, kind := range o.Faults {
		names[i] = string(kind)
	}
	faults := strings.Join(names, ",")
	if faults == "" {
		faults = "none"
	}
	plan := chaos.NewPlan(o)
	fmt.Fprintf(a.Out, "Pawl chaos, seed %d: %d calls in %s on %d workers\n\n", o.Seed, o.Calls, o.For, o.Workers)
	fmt.Fprintf(a.Out, "  calls   %s\n", plan.CallsInWords())
	fmt.Fprintf(a.Out, "  faults  %s\n", plan.FaultsInWords())
	fmt.Fprintf(a.Out, "  again   pawl chaos --seed %d --for %s --calls %d --workers %d --every %s --faults %s\n\n",
		o.Seed, o.For, o.Calls, o.Workers, o.Every, faults)
}
