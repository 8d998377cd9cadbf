package triggers

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent/trigger"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
)

func newApply(a *app.App) *cobra.Command {
	var d trigger.Document
	var check bool
	cmd := app.AuditedCommand(&cobra.Command{
		Use: "apply FILE", Short: "Store a version of a trigger and make it the active one",
		Long: "Store a version of a trigger and make it the version that events fire. A file with an error changes nothing. A\n" +
			"stored version does not change: new content needs a new version. Without a version in the file, the version is the\n" +
			"beginning of the digest of the file's content.\n\n" +
			"With --check, apply stores nothing, and needs no server.",
		Args: app.ExactArgs(1, "a file with a trigger"),
	}, app.Servers{Temporal: true, Database: true}, func(ctx context.Context, s *app.Session, _ []string, by string) error {
		warnings, err := warningsOf(ctx, s, d)
		if err != nil {
			return err
		}
		applied, err := s.Store.ApplyTrigger(ctx, d, by)
		if err != nil {
			return err
		}
		if _, err := syncSchedule(ctx, s, d.TenantID, d.Name); err != nil {
			return err
		}
		done := stateOf(d, "active")
		done.Digest, done.Before, done.Path, done.Warnings = applied.Digest, applied.Before, pathOf(d), warnings
		switch {
		case !applied.Active:
			done.State = "stored; the trigger is retired: `pawl trigger activate` makes a version active"
		case !applied.Changed:
			done.State = "was active already"
		}
		return app.PrintState(a, done)
	})
	apply := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if d, err = app.ReadDocument(args[0], trigger.Read); err != nil {
			return err
		}
		if check {
			return app.PrintState(a, stateOf(d, "valid"))
		}
		return apply(cmd, args)
	}
	cmd.Flags().BoolVar(&check, "check", false, "store nothing; check the file")
	return cmd
}

func stateOf(d trigger.Document, state string) app.VersionState {
	return app.VersionState{Tenant: d.TenantID, Name: d.Name, Version: d.Version, State: state}
}

// warningsOf returns the reasons why no event of a trigger would start a run.
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
	return app.AuditedCommand(&cobra.Command{
		Use: "activate NAME VERSION", Short: "Make a stored version of a trigger the active one",
		Long: "Make a stored version of a trigger the version that events fire. This ends the retirement\n" +
			"of a retired trigger.",
		Args: app.ExactArgs(2, "the name of a trigger and a version; `pawl trigger list` shows them"),
	}, app.Servers{Temporal: true, Database: true}, func(ctx context.Context, s *app.Session, args []string, by string) error {
		changed, err := s.Store.ActivateTrigger(ctx, a.Tenant, args[0], args[1], by)
		if err != nil {
			return explain(err, a.Tenant, args[0])
		}
		active, err := syncSchedule(ctx, s, a.Tenant, args[0])
		if err != nil {
			return err
		}
		done := app.VersionState{Tenant: a.Tenant, Name: args[0], Version: args[1], State: "active", Before: changed.Before, Path: pathOf(active)}
		if !changed.Changed {
			done.State = "was active already"
		}
		return app.PrintState(a, done)
	})
}

func newRetire(a *app.App) *cobra.Command {
	return app.AuditedCommand(&cobra.Command{
		Use: "retire NAME", Short: "Let no event fire a trigger",
		Long: "Let no event fire a trigger, until `pawl trigger activate`. Runs that have started go on. A version that\n" +
			"you apply meanwhile is stored, but the trigger stays retired.",
		Args: app.ExactArgs(1, "the name of a trigger; `pawl trigger list` shows them"),
	}, app.Servers{Temporal: true, Database: true}, func(ctx context.Context, s *app.Session, args []string, by string) error {
		changed, err := s.Store.RetireTrigger(ctx, a.Tenant, args[0], by)
		if err != nil {
			return explain(err, a.Tenant, args[0])
		}
		if _, err := syncSchedule(ctx, s, a.Tenant, args[0]); err != nil {
			return err
		}
		done := app.VersionState{Tenant: a.Tenant, Name: args[0], Version: changed.Before, State: "retired"}
		if !changed.Changed {
			done.State = "was retired already"
		}
		return app.PrintState(a, done)
	})
}
