package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/agentruns"
	"github.com/pawl-run/pawl/internal/cli/agents"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/cli/approvals"
	"github.com/pawl-run/pawl/internal/cli/audit"
	"github.com/pawl-run/pawl/internal/cli/calls"
	"github.com/pawl-run/pawl/internal/cli/connections"
	"github.com/pawl-run/pawl/internal/cli/keys"
	"github.com/pawl-run/pawl/internal/cli/mcp"
	"github.com/pawl-run/pawl/internal/cli/memory"
	"github.com/pawl-run/pawl/internal/cli/operations"
	"github.com/pawl-run/pawl/internal/cli/outputs"
	"github.com/pawl-run/pawl/internal/cli/policies"
	"github.com/pawl-run/pawl/internal/cli/reconcile"
	"github.com/pawl-run/pawl/internal/cli/tools"
	"github.com/pawl-run/pawl/internal/cli/triggers"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/worker"
)

// Option changes the commands that Main runs.
type Option func(*options)

// options holds the values that the options of Main set.
type options struct {
	name   string
	worker []worker.Option
	// more holds the functions given to Commands.
	more []func(*app.App) []*cobra.Command
}

// Name sets the name of the program in usage texts. The default is pawl.
func Name(name string) Option { return func(o *options) { o.name = name } }

// Worker configures the workers that the command worker runs. The other commands use only one of these
// options: the wrapper that decrypts key rings, such as a key management service.
func Worker(with ...worker.Option) Option {
	return func(o *options) { o.worker = append(o.worker, with...) }
}

// Commands adds commands.
func Commands(f func(*app.App) []*cobra.Command) Option {
	return func(o *options) { o.more = append(o.more, f) }
}

// Program is a complete main function: Main with the arguments, streams and signals of the process.
func Program(with ...Option) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The second Ctrl-C does not wait for a clean end.
	context.AfterFunc(ctx, stop)
	return Main(ctx, os.Args[1:], app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, with...)
}

// Main runs one command and returns its exit status.
func Main(ctx context.Context, args []string, s app.Streams, with ...Option) int {
	o := options{name: "pawl"}
	for _, option := range with {
		option(&o)
	}
	root := newRoot(&app.App{Streams: s, Worker: o.worker, Wrapper: worker.Wrapper(o.worker...)}, o.more)
	root.Use = o.name
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	if !app.IsSilent(err) {
		fmt.Fprintln(s.Err, o.name+":", app.Printable(err.Error()))
	}
	var database *postgres.Error
	if errors.As(err, &database) && (database.State == "42P01" || database.State == "42703") { // undefined table, undefined column
		fmt.Fprintln(s.Err, "the database schema is older than this program: run `pawl migrate up`")
	}
	if app.IsUsage(err) {
		fmt.Fprintf(s.Err, "usage: %s\n`%s --help` tells more\n", cmd.UseLine(), cmd.CommandPath())
	}
	return app.ExitStatus(err)
}

// subjects make the commands for production, one function for each subject.
var subjects = []func(*app.App) []*cobra.Command{
	calls.Commands, approvals.Commands, policies.Commands, agentCommands, triggers.Commands, connections.Commands, keys.Commands, tools.Commands, mcp.Commands, outputs.Commands, memory.Commands, audit.Commands, reconcile.Commands, operations.Commands,
}

// agentCommands returns the commands of agents and of their runs.
func agentCommands(a *app.App) []*cobra.Command {
	return append(agents.Commands(a, agentruns.Commands(a)...), agentruns.Chat(a))
}

func newRoot(a *app.App, more []func(*app.App) []*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "pawl",
		Short: "Durable, policy-gated tool calls on Temporal and Postgres",
		Long: "Pawl runs every tool call as a Temporal workflow: authorized by policy, validated, approved by a\n" +
			"person if policy asks for it, executed, redacted and recorded.",
		SilenceUsage:  true,
		SilenceErrors: true,

		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range worker.UnknownVariables(os.Environ()) {
				fmt.Fprintf(a.Err, "warning: %s\n", app.Printable(worker.SuggestVariable(name)))
			}
			return app.CheckIdentities(cmd, args)
		},
	}
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print JSON")
	root.PersistentFlags().StringVar(&a.Tenant, "tenant", app.DefaultTenant(), "tenant (PAWL_TENANT)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return app.Usage(err) })
	app.Group(root)
	for _, commands := range slices.Concat(more, subjects) {
		root.AddCommand(commands(a)...)
	}
	return root
}
