package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/agent/agentfile"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/agents"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

func newApply(a *app.App) *cobra.Command {
	var d agent.Document
	var check bool
	cmd := app.AuditedCommand(&cobra.Command{
		Use: "apply FILE", Short: "Store a version of an agent and make it the active one",
		Long: "Store a version of an agent and make it the version with which runs start. Runs that have started keep their\n" +
			"version. A file with an error changes nothing. A stored version does not change: new content needs a new version.\n\n" +
			"With --check, apply stores nothing. It checks the file and shows what would change. Without a database, it\n" +
			"checks the file only.",
		Args: app.ExactArgs(1, "a file with an agent"),
	}, app.Servers{Database: true}, func(ctx context.Context, s *app.Session, _ []string, by string) error {
		about, err := compare(ctx, s, d)
		if err != nil {
			return err
		}
		done, err := s.Store.ApplyAgent(ctx, d, by)
		if err != nil {
			return err
		}
		about.Digest, about.Before = done.Digest, done.Before
		switch {
		case done.Changed:
			about.State = "active"
		case done.Active:
			about.State = "was active already"
		default:
			about.State = "stored; the agent is retired: `pawl agent activate` makes a version active"
		}
		return app.PrintState(a, about)
	})
	apply := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if d, err = app.ReadDocument(args[0], agentfile.Read); err != nil {
			return err
		}
		if check {
			return checkAgent(cmd.Context(), a, d)
		}
		return apply(cmd, args)
	}
	cmd.Flags().BoolVar(&check, "check", false, "store nothing; check the file and show what would change")
	return cmd
}

// checkAgent prints how the document differs from the active version, and stores nothing. If no database is configured, it
// prints that it has not compared the document. It returns agents.ErrTaken if the version is stored with other content.
func checkAgent(ctx context.Context, a *app.App, d agent.Document) error {
	s, err := app.Connect(ctx, app.Servers{Database: true})
	switch {
	case err == nil:
	case !errors.Is(err, app.ErrNoDatabase):
		return err
	default:
		fmt.Fprintln(a.Err, "the agent was not compared with the active version and the published tools:", app.Printable(err.Error()))
		digest, err := d.Digest()
		if err != nil {
			return err
		}
		return app.PrintState(a, app.VersionState{Name: d.Name, Version: d.Version, Digest: digest, State: "valid"})
	}
	defer s.Close()
	about, err := compare(ctx, s, d)
	if err != nil {
		return err
	}
	switch _, digest, err := s.Store.Agent(ctx, d.Name, d.Version); {
	case errors.Is(err, postgres.ErrNotFound): // the version is new
	case err != nil:
		return err
	case digest != about.Digest:
		return fmt.Errorf("%w: %s %s; give the new content another version", agents.ErrTaken, d.Name, d.Version)
	}
	return app.PrintState(a, about)
}

// compare returns the digest of a document, its differences from the active version of the agent, and warnings about
// its tools.
func compare(ctx context.Context, s *app.Session, d agent.Document) (app.VersionState, error) {
	about := app.VersionState{Name: d.Name, Version: d.Version, State: "valid"}
	var err error
	if about.Digest, err = d.Digest(); err != nil {
		return about, err
	}
	active, _, err := s.Store.Agent(ctx, d.Name, "")
	switch {
	case err == nil:
		about.Before = active.Version
		if about.Diff, err = diff(active, d); err != nil {
			return about, err
		}
	case !errors.Is(err, postgres.ErrNotFound):
		return about, err
	}
	specs, err := s.Store.Specs(ctx)
	if err != nil {
		return about, err
	}
	rules, err := s.ActivePolicy(ctx)
	if err != nil {
		return about, err
	}
	about.Warnings = notOffered(d, specs, rules)
	return about, nil
}

// diff returns the unified diff of two versions as YAML.
func diff(from, to agent.Document) (string, error) {
	before, err := agentfile.Write(from)
	if err != nil {
		return "", err
	}
	after, err := agentfile.Write(to)
	if err != nil {
		return "", err
	}
	return udiff.Unified(from.Name+" "+from.Version, to.Name+" "+to.Version, string(before), string(after)), nil
}

// notOffered returns a warning about each tool of the agent that its runs cannot use now: no worker has published the
// tool, or the policy hides it in every tenant from agent:NAME, the default actor of runs. It returns no warning about
// a tool that a tenant has registered.
func notOffered(d agent.Document, specs []toolspec.Spec, rules *policy.Policy) (warnings []string) {
	actor := "agent:" + d.Name
	for _, id := range d.Tools {
		i := slices.IndexFunc(specs, func(s toolspec.Spec) bool { return s.Name == id })
		isVisible := func(tenant string) bool {
			return rules.Visible(catalog.Viewer{TenantID: tenant, ActorID: actor}, specs[i]) != catalog.Hidden
		}
		switch {
		case toolspec.TenantOfTool(id) != "":
		case i < 0:
			warnings = append(warnings, "no worker has published the tool "+id)
		case !slices.ContainsFunc(rules.Tenants(), isVisible):
			warnings = append(warnings, fmt.Sprintf("the active policy lets %s use the tool %s in no tenant", actor, id))
		}
	}
	return warnings
}
