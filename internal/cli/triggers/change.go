package triggers

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
)

// state is what a command has done, as --json prints it.
type state struct {
	Tenant  string `json:"tenant"`
	Name    string `json:"name"`
	Version string `json:"version"`
	Digest  string `json:"digest,omitempty"`
	State   string `json:"state"`
	// Before is the version that was active before.
	Before   string   `json:"before,omitempty"`
	Path     string   `json:"path,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
}

func printState(a *app.App, done state) error {
	if a.JSON {
		return app.PrintJSON(a.Out, done)
	}
	fmt.Fprintln(a.Out, app.Printable(fmt.Sprintf("%s %s of %s  %s", done.Name, done.Version, done.Tenant, done.State)))
	if done.Path != "" {
		fmt.Fprintln(a.Out, app.Printable("  webhooks: POST "+done.Path))
	}
	for _, w := range done.Warnings {
		fmt.Fprintln(a.Out, "  ! "+app.Printable(w))
	}
	return nil
}

func newApply(a *app.App) *cobra.Command {
	var by string
	var check bool
	cmd := &cobra.Command{
		Use: "apply FILE", Short: "Store a version of a trigger and make it the active one",
		Long: "Store a version of a trigger and make it the version that events fire. A file with an error changes nothing. A\n" +
			"stored version does not change: new content needs a new version. Without a version in the file, the version is the\n" +
			"beginning of the digest of the file's content.\n\n" +
			"With --check, apply stores nothing, and needs no server.",
		Args: app.ExactArgs(1, "a file with a trigger"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := readTrigger(args[0])
			if err != nil {
				return err
			}
			done := state{Tenant: d.TenantID, Name: d.Name, Version: d.Version, State: "valid"}
			if check {
				return printState(a, done)
			}
			if err := app.RequireIdentity(by, app.ForAudit); err != nil {
				return err
			}
			return withServers(cmd.Context(), func(s *app.Session) error {
				warnings, err := warningsOf(cmd.Context(), s, d)
				if err != nil {
					return err
				}
				applied, err := s.Store.ApplyTrigger(cmd.Context(), d, by)
				if err != nil {
					return err
				}
				if err := syncSchedule(cmd.Context(), s.Temporal, d, applied.Active); err != nil {
					return err
				}
				done.Digest, done.Before, done.Path, done.Warnings, done.State = applied.Digest, applied.Before, pathOf(d), warnings, "active"
				switch {
				case !applied.Active:
					done.State = "stored; the trigger is retired: `pawl trigger activate` makes a version active"
				case !applied.Changed:
					done.State = "was active already"
				}
				return printState(a, done)
			})
		},
	}
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	cmd.Flags().BoolVar(&check, "check", false, "store nothing; check the file")
	return cmd
}

// warningsOf says what would make every event of a trigger start no run.
func warningsOf(ctx context.Context, s *app.Session, d trigger.Document) (warnings []string, err error) {
	switch err := s.Store.CanStartAgent(ctx, d.Agent, d.AgentVersion); {
	case errors.Is(err, trigger.ErrNoAgent):
		warnings = append(warnings, "no run can start now: the agent "+d.Agent+" or its version is not stored, or it is retired")
	case err != nil:
		return nil, err
	}
	if d.Webhook != nil {
		record, _, err := s.Store.ConnectionSecret(ctx, d.TenantID, d.Webhook.Secret)
		switch {
		case errors.Is(err, postgres.ErrNotFound), err == nil && record.Provider.ID != webhookProvider:
			warnings = append(warnings, "every webhook is refused now: add the secret with `pawl connections add "+d.Webhook.Secret+" --provider "+webhookProvider+" --tenant "+d.TenantID+"`")
		case err != nil:
			return nil, err
		}
	}
	return warnings, nil
}

func newActivate(a *app.App) *cobra.Command {
	return newChange(&cobra.Command{
		Use: "activate NAME VERSION", Short: "Make a stored version of a trigger the active one",
		Long: "Make a stored version of a trigger the version that events fire. This ends the retirement\n" +
			"of a retired trigger.",
		Args: app.ExactArgs(2, "the name of a trigger and a version; `pawl trigger list` shows them"),
	}, func(ctx context.Context, s *app.Session, args []string, by string) error {
		changed, err := s.Store.ActivateTrigger(ctx, a.Tenant, args[0], args[1], by)
		if err != nil {
			return explain(err, a.Tenant, args[0])
		}
		d, _, err := s.Store.Trigger(ctx, a.Tenant, args[0], args[1])
		if err == nil {
			err = syncSchedule(ctx, s.Temporal, d, true)
		}
		if err != nil {
			return err
		}
		done := state{Tenant: a.Tenant, Name: args[0], Version: args[1], State: "active", Before: changed.Before, Path: pathOf(d)}
		if !changed.Changed {
			done.State = "was active already"
		}
		return printState(a, done)
	})
}

func newRetire(a *app.App) *cobra.Command {
	return newChange(&cobra.Command{
		Use: "retire NAME", Short: "Let no event fire a trigger",
		Long: "Let no event fire a trigger, until `pawl trigger activate`. Runs that have started go on. A version that is\n" +
			"applied is stored, and the trigger stays retired.",
		Args: app.ExactArgs(1, "the name of a trigger; `pawl trigger list` shows them"),
	}, func(ctx context.Context, s *app.Session, args []string, by string) error {
		changed, err := s.Store.RetireTrigger(ctx, a.Tenant, args[0], by)
		if err != nil {
			return explain(err, a.Tenant, args[0])
		}
		if err := syncSchedule(ctx, s.Temporal, trigger.Document{TenantID: a.Tenant, Name: args[0]}, false); err != nil {
			return err
		}
		done := state{Tenant: a.Tenant, Name: args[0], Version: changed.Before, State: "retired"}
		if !changed.Changed {
			done.State = "was retired already"
		}
		return printState(a, done)
	})
}

// newChange completes a command that changes a trigger in the name of a person.
func newChange(cmd *cobra.Command, change func(ctx context.Context, s *app.Session, args []string, by string) error) *cobra.Command {
	var by string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := app.RequireIdentity(by, app.ForAudit); err != nil {
			return err
		}
		return withServers(cmd.Context(), func(s *app.Session) error { return change(cmd.Context(), s, args, by) })
	}
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	return cmd
}

// withServers opens the database and Temporal, which has the schedules.
func withServers(ctx context.Context, use func(*app.Session) error) error {
	s, err := app.Connect(ctx, true, true)
	if err != nil {
		return err
	}
	defer s.Close()
	return use(s)
}

func readTrigger(file string) (trigger.Document, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return trigger.Document{}, err
	}
	return trigger.Read(file, source)
}
