package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
)

// Exit statuses beside those of the code table.
const (
	exitFailure      = 1
	exitUsage        = 2
	exitNotConfirmed = 3
	exitPending      = 4
)

// Streams are where a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// App is what every command shares.
type App struct {
	Streams
	// JSON says that the command prints JSON.
	JSON   bool
	tenant string
	// Wrapper speaks with a KMS; nil in a program that has no client of one.
	Wrapper broker.KeyWrapper
	// more makes the commands of Commands.
	more []func(*App) []*cobra.Command
}

// Option adds to the commands.
type Option func(*App)

// KeyWrapper lets commands and workers use key rings that a key of a KMS has wrapped.
func KeyWrapper(w broker.KeyWrapper) Option { return func(a *App) { a.Wrapper = w } }

// Commands adds commands, which stand ahead of the others in the help.
func Commands(f func(*App) []*cobra.Command) Option {
	return func(a *App) { a.more = append(a.more, f) }
}

// Main runs one command and returns its exit status.
func Main(ctx context.Context, args []string, s Streams, options ...Option) int {
	a := &App{Streams: s}
	for _, option := range options {
		option(a)
	}
	root := newRoot(a)
	root.SetArgs(args)
	root.SetIn(s.In)
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var silent *silentError
	if !errors.As(err, &silent) {
		fmt.Fprintln(s.Err, "pawl:", Printable(err.Error()))
	}
	var database *postgres.Error
	if errors.As(err, &database) && (database.State == "42P01" || database.State == "42703") { // no such table, no such column
		fmt.Fprintln(s.Err, "the database schema is older than this program: run `pawl migrate up`")
	}
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(s.Err, "usage: %s\n`%s --help` tells more\n", cmd.UseLine(), cmd.CommandPath())
	}
	return exitOf(err)
}

func newRoot(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "pawl",
		Short: "Durable, policy-gated tool calls on Temporal and Postgres",
		Long: "Pawl runs every tool call as a Temporal workflow: authorised by policy, validated, approved by a\n" +
			"person where policy says so, executed, redacted and recorded.",
		SilenceUsage:  true,
		SilenceErrors: true,

		PersistentPreRunE: checkIdentities,
	}
	root.PersistentFlags().BoolVar(&a.JSON, "json", false, "print JSON")
	root.PersistentFlags().StringVar(&a.tenant, "tenant", defaultTenant(), "tenant (PAWL_TENANT)")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	group(root)
	for _, commands := range a.more {
		root.AddCommand(commands(a)...)
	}
	root.AddCommand(
		newWorker(a), newMigrate(a), newDoctor(a), newTools(a),
		newInvoke(a), newTurn(a), newShow(a), newList(a), newApprovals(a), newApprove(a), newDeny(a), newResolve(a), newKeys(a), newPolicy(a), newKill(a), newRelations(a), newSubmitters(a), newConnections(a), newKeyring(a), newCache(a),
		newVerifyHistory(a), newCodecServer(a),
	)
	return root
}

// group makes a command that only holds others refuse what is none of them.
func group(cmd *cobra.Command) *cobra.Command {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 && !cmd.HasParent() {
			return cmd.Help()
		}
		var names []string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() {
				names = append(names, c.Name())
			}
		}
		if len(args) == 0 {
			return usageError{fmt.Errorf("expected one of: %s", strings.Join(names, ", "))}
		}
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			names = near
		}
		return usageError{fmt.Errorf("%q is no command; did you mean: %s?", args[0], strings.Join(names, ", "))}
	}
	return cmd
}

// usageError is a command line that does not parse.
type usageError struct{ error }

// Usage makes an error of one about the command line: Main shows how to use the
// command.
func Usage(err error) error { return usageError{err} }

// Silent makes an error that Main does not show: the command has.
func Silent(err error) error { return &silentError{err} }

// silentError is a failure that the command has already shown.
type silentError struct{ error }

// Unwrap returns what failed.
func (e *silentError) Unwrap() error { return e.error }

func exitOf(err error) int {
	var usage usageError
	var call *client.CallError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &call):
		return toolspec.InfoOf(call.Code()).Exit
	case errors.Is(err, client.ErrNotConfirmed):
		return exitNotConfirmed
	case errors.Is(err, errPending):
		return exitPending
	}
	return exitFailure
}

// some wants one argument or more.
func some(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usageError{fmt.Errorf("expected %s", what)}
		}
		return nil
	}
}

// ExactArgs wants n arguments; what names them in the error.
func ExactArgs(n int, what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usageError{fmt.Errorf("expected %s", what)}
		}
		return nil
	}
}

func atMostOne(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usageError{fmt.Errorf("expected %s", what)}
		}
		return nil
	}
}
