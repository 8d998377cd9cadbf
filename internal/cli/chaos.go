package cli

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

	"github.com/pawl-run/pawl/internal/faultkit/chaos"
	"github.com/pawl-run/pawl/worker"
)

// errChaos says that the report is bad; what is wrong stands in it.
var errChaos = errors.New("an oracle is violated")

func newChaos(a *app) *cobra.Command {
	o := chaos.Options{}
	var faults, workerLog string
	cmd := &cobra.Command{
		Use: "chaos", Hidden: true,
		Short: "Kill workers under a mix of calls and judge what became of the calls",
		Long: "Starts Temporal, Postgres and workers of its own, submits a mix of calls drawn from a seed, breaks things\n" +
			"meanwhile, waits until every call has ended, and asks the oracles. The exit status is 0 only if no oracle is\n" +
			"violated. docs/operations.md says what the table means.",
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var err error
			if o.Faults, err = chaos.ParseKinds(faults); err != nil {
				return usageError{err}
			}
			if !cmd.Flags().Changed("seed") {
				o.Seed = uint64(rand.Uint32())
			}
			if o.Calls == 0 {
				o.Calls = chaos.DefaultCalls(o.For)
			}
			if workerLog != "" {
				file, err := os.OpenFile(workerLog, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
				if err != nil {
					return err
				}
				defer file.Close()
				o.Log = file
			}
			return a.chaos(cmd.Context(), o)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&o.For, "for", time.Minute, "how long calls are submitted and things break")
	flags.IntVar(&o.Calls, "calls", 0, "how many calls are submitted; default 10 in 3 seconds")
	flags.Uint64Var(&o.Seed, "seed", 0, "the seed of the plan; default a random one")
	flags.IntVar(&o.Workers, "workers", 2, "how many workers run at once")
	flags.DurationVar(&o.Every, "every", 2*time.Second, "mean time between two kills; other faults come less often, in proportion")
	flags.StringVar(&faults, "faults", "kill", "what breaks: some of kill,term,stop,postgres,temporal, or all, or none")
	flags.DurationVar(&o.Settle, "settle", 3*time.Minute, "how long calls have to end afterwards")
	flags.StringVar(&o.Evidence, "evidence", "", "directory for records and histories of calls that violate an oracle, and of the slowest ones")
	flags.StringVar(&workerLog, "worker-log", "", "file for what the workers write")
	return cmd
}

func (a *app) chaos(ctx context.Context, o chaos.Options) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	o.Worker = func() *exec.Cmd {
		cmd := exec.Command(self, "chaos-serve")
		cmd.Env = append(without(os.Environ(), "TEMPORAL_", "PAWL_", "DATABASE_URL"),
			"TEMPORAL_CONFIG_FILE="+os.DevNull, // a profile's certificates and keys are for another server
			"PAWL_LOG_LEVEL=warn")
		return cmd
	}
	o.Progress = func(line string) { fmt.Fprintln(a.Err, "  "+strings.ReplaceAll(printable(line), "\n", " | ")) }
	if !a.json {
		chaosHeader(a, o)
	}
	report, err := chaos.Run(ctx, o)
	if report == nil {
		return err
	}
	if a.json {
		if err := printJSON(a.Out, report); err != nil {
			return err
		}
	} else {
		chaosReport(a, report)
	}
	if err != nil {
		return err
	}
	if !report.Held() {
		return &silentError{errChaos}
	}
	return nil
}

// newChaosWorker is a worker process of `pawl chaos`.
func newChaosWorker(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "chaos-serve", Hidden: true, Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := worker.LoadConfig()
			if err != nil {
				return err
			}
			c.KeyRing.Wrapper = a.wrapper
			return chaos.Serve(cmd.Context(), c, os.Getenv(chaos.LedgerEnv), os.Stdin)
		},
	}
}

// chaosHeader says what will be run, and how to run it again.
func chaosHeader(a *app, o chaos.Options) {
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
