package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/postgres"
)

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
	if !isSilent(err) {
		fmt.Fprintln(s.Err, "pawl:", Printable(err.Error()))
	}
	var database *postgres.Error
	if errors.As(err, &database) && (database.State == "42P01" || database.State == "42703") { // no such table, no such column
		fmt.Fprintln(s.Err, "the database schema is older than this program: run `pawl migrate up`")
	}
	if isUsage(err) {
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
