package devcli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/devstack"
	"github.com/pawl-run/pawl/internal/devstate"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/worker"
	"github.com/pawl-run/pawl/workflows/contract"
)

// newDev makes the command `pawl dev`.
func newDev(a devApp) *cobra.Command {
	var policyFile string
	var throwaway bool
	cmd := &cobra.Command{
		Use:   "dev [-- COMMAND...]",
		Short: "Run Temporal, Postgres and a worker for development",
		Long: "Start a Temporal dev server with its UI, Postgres and a worker for this directory, until Ctrl-C.\n" +
			"Other pawl commands in the same directory find the servers. Data is kept between runs.\n" +
			"A command after -- runs instead of the worker, with the servers in its environment: a worker with your\n" +
			"own tools and hooks, or tests. When the command ends, the servers stop, and `pawl dev` has the exit status\n" +
			"of the command.",
		Example: "  pawl dev\n  pawl dev --policy examples/policy.yaml -- go run ./examples/customtool\n" +
			"  pawl dev --throwaway -- go test ./e2e",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
				return app.Usage(errors.New("expected no arguments, or a command after --"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, command []string) error {
			return a.dev(cmd.Context(), policyFile, throwaway, command)
		},
	}
	cmd.Flags().StringVar(&policyFile, "policy", "", "policy file; default the built-in development policy")
	cmd.Flags().BoolVar(&throwaway, "throwaway", false, "delete the data at the end")
	cmd.AddCommand(newDevEnv(a), newDevModel(a))
	return cmd
}

// dev runs the development servers, and a worker or the command in its place, until ctx
// ends. With throwaway it keeps no data.
func (a devApp) dev(ctx context.Context, policyFile string, throwaway bool, command []string) error {
	p, err := devPolicy(policyFile)
	if err != nil {
		return err
	}
	dir, err := devstate.Dir(".")
	if err != nil {
		return err
	}
	// Two `pawl dev` in one directory would use the same data and the same state file.
	claim, err := devstate.Claim(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { _ = claim.Release() }()
	o := devstack.Options{Dir: filepath.Join(dir, "data"), Persist: true, UI: true}
	if throwaway {
		o = devstack.Options{UI: true}
	}
	stack, err := a.startStack(ctx, o)
	if err != nil {
		return err
	}
	defer stopStack(ctx, stack)
	ring, err := a.devKeyRing(dir)
	if err != nil {
		return err
	}
	config, err := a.prepare(ctx, stack, p, policyFile != "", ring)
	if err != nil {
		return err
	}
	// Other commands take the keys of the codec from the environment. The worker must read
	// the payloads of these commands, so it takes the same keys.
	if config.Codec, err = worker.LoadCodec(); err != nil {
		return err
	}
	forget, err := devstate.State{
		PID: os.Getpid(), Dir: config.Workspace, Temporal: stack.TemporalAddress(), Namespace: stack.Namespace(),
		UI: stack.UIAddress(), DatabaseURL: stack.DatabaseURL(), KeyRing: ring.File,
		ForeignDatabase: os.Getenv("PAWL_DATABASE_URL") != "",
	}.Announce()
	if err != nil {
		return err
	}
	defer forget()
	fmt.Fprintf(a.Out, "\nTemporal UI  %s\nTemporal     %s\nPostgres     on 127.0.0.1, see `pawl doctor`\nWorkspace    %s\n\n"+
		"In another terminal, in this directory:  pawl tools list\n"+
		"                                         pawl invoke core__ls\nCtrl-C stops everything.\n\n",
		stack.UIAddress(), stack.TemporalAddress(), config.Workspace)
	if len(command) > 0 {
		return a.workWith(ctx, stack, config, command)
	}
	return worker.Run(ctx, config)
}

// devPolicy returns the policy of the file, or the development policy if file is empty.
func devPolicy(file string) (*policy.Policy, error) {
	if file == "" {
		return policy.Development(), nil
	}
	doc, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return policy.Parse(file, doc)
}

// startStack starts the development servers and prints the progress. If TEMPORAL_ADDRESS
// or PAWL_DATABASE_URL names a server, it uses that server as it is and starts none.
func (a devApp) startStack(ctx context.Context, o devstack.Options) (*devstack.Stack, error) {
	if sentence := devstate.Stale(); sentence != "" {
		return nil, errors.New(sentence)
	}
	o.TemporalAddress, o.DatabaseURL = os.Getenv("TEMPORAL_ADDRESS"), os.Getenv("PAWL_DATABASE_URL")
	if o.TemporalAddress != "" {
		fmt.Fprintf(a.Err, "  using the Temporal of TEMPORAL_ADDRESS, %s\n", o.TemporalAddress)
	}
	if o.DatabaseURL != "" {
		fmt.Fprintf(a.Err, "  using the database of PAWL_DATABASE_URL, %s\n", app.WithoutPassword(o.DatabaseURL))
	}
	o.SearchAttributes = contract.SearchAttributeNames()
	o.Progress = func(line string) { fmt.Fprintln(a.Err, " ", line) }
	return devstack.Start(ctx, o)
}

// stopStack stops the servers, also if ctx has ended already.
func stopStack(ctx context.Context, stack *devstack.Stack) {
	_ = stack.Stop(context.WithoutCancel(ctx))
}

// prepare migrates the database, activates p and returns the configuration of a worker
// for the stack. Without force it keeps a policy that is active already.
func (a devApp) prepare(ctx context.Context, stack *devstack.Stack, p *policy.Policy, force bool, ring worker.KeyRing) (worker.Config, error) {
	workspace, err := os.Getwd()
	if err != nil {
		return worker.Config{}, err
	}
	log := slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: slog.LevelInfo}))
	models, err := worker.LoadModelURLs()
	if err != nil {
		return worker.Config{}, err
	}
	notifies, err := worker.LoadTriggerURL()
	if err != nil {
		return worker.Config{}, err
	}
	watches, err := worker.LoadTriggerFiles()
	if err != nil {
		return worker.Config{}, err
	}
	config := worker.Config{
		Temporal:           temporal.Options{HostPort: stack.TemporalAddress(), Namespace: stack.Namespace()},
		DatabaseURL:        stack.DatabaseURL(),
		Workspace:          workspace,
		TriggerDatabaseURL: notifies,
		TriggerFiles:       watches,
		SearchAttributes:   true,
		SweepEvery:         worker.DefaultSweepEvery,
		KeyRing:            ring,
		ModelURLs:          models,
		ModelPrices:        os.Getenv("PAWL_MODEL_PRICES"),
		HealthListen:       os.Getenv("PAWL_HEALTH_LISTEN"),
		Log:                log,
	}
	store, err := postgres.Open(ctx, config.DatabaseURL, postgres.Options{MaxConns: 4, Application: "pawl-dev"})
	if err != nil {
		return config, err
	}
	defer store.Close()
	if _, err := store.Migrate(ctx); err != nil {
		return config, err
	}
	if force {
		_, err = store.ApplyPolicy(ctx, p, "pawl dev")
	} else {
		_, err = store.ApplyIfNone(ctx, p, "pawl dev")
	}
	return config, err
}
