package agents

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/agent/agentfile"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/agents"
)

// shortDigest is the number of characters of a digest that tables show.
const shortDigest = 12

// Commands returns the command `pawl agent`. runs are its subcommands for runs of agents, such as run and watch.
func Commands(a *app.App, runs ...*cobra.Command) []*cobra.Command {
	cmd := &cobra.Command{Use: "agent", Short: "Apply and show agents, and run them"}
	cmd.AddCommand(newApply(a), newList(a), newShow(a), newVersions(a), newActivate(a), newRetire(a))
	cmd.AddCommand(runs...)
	return []*cobra.Command{app.Group(cmd)}
}

func newList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the agents and their active versions", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, err := s.Store.Agents(cmd.Context())
				if err != nil {
					return err
				}
				headings := []string{"NAME", "VERSION", "STATE", "DIGEST", "SINCE", "BY"}
				return app.PrintRows(a, found, "there is no agent; `pawl agent apply FILE` stores one", headings, func(v agents.ActiveVersion) []string {
					state := "active"
					if v.Retired {
						state = "retired"
					}
					return []string{v.Name, v.Version, state, v.Digest[:shortDigest], app.FormatTime(v.At), app.QuoteName(v.By)}
				})
			})
		},
	}
}

func newShow(a *app.App) *cobra.Command {
	var version string
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show an agent as a file that `pawl agent apply` accepts",
		Long: "Show a version of an agent with its defaults, as YAML that `pawl agent apply` accepts. With --json, show the\n" +
			"stored document.",
		Args: app.ExactArgs(1, "the name of an agent; `pawl agent list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				d, digest, err := s.Store.Agent(cmd.Context(), args[0], version)
				if err != nil {
					return explain(err, args[0], version)
				}
				if err := app.PrintDocument(a, d, agentfile.Write); err != nil || a.JSON {
					return err
				}
				fmt.Fprintf(a.Err, "%s, digest %s\n", app.Printable(d.Name+" "+d.Version), digest)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "the version; default the active one")
	return cmd
}

func newVersions(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "versions NAME", Short: "List the versions of an agent, newest first", Args: app.ExactArgs(1, "the name of an agent; `pawl agent list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, err := s.Store.AgentVersions(cmd.Context(), args[0])
				switch {
				case err != nil:
					return err
				case len(found) == 0:
					return explain(postgres.ErrNotFound, args[0], "")
				}
				headings := []string{"VERSION", "STATE", "DIGEST", "APPLIED", "BY"}
				return app.PrintRows(a, found, "", headings, func(v agents.Version) []string {
					state := "stored"
					if v.Active {
						state = "active"
					}
					return []string{v.Version, state, v.Digest[:shortDigest], app.FormatTime(v.At), app.QuoteName(v.By)}
				})
			})
		},
	}
}

func newActivate(a *app.App) *cobra.Command {
	return app.AuditedCommand(&cobra.Command{
		Use: "activate NAME VERSION", Short: "Make a stored version of an agent the active one",
		Long: "Make a stored version of an agent the version with which runs start. This ends the retirement\n" +
			"of a retired agent. Runs that have started keep their version.",
		Args: app.ExactArgs(2, "the name of an agent and a version; `pawl agent versions NAME` lists them"),
	}, app.Servers{Database: true}, func(ctx context.Context, s *app.Session, args []string, by string) error {
		done, err := s.Store.ActivateAgent(ctx, args[0], args[1], by)
		if err != nil {
			return explain(err, args[0], args[1])
		}
		said := "active"
		if !done.Changed {
			said = "was active already"
		}
		return app.PrintState(a, app.VersionState{Name: args[0], Version: args[1], Digest: done.Digest, State: said, Before: done.Before})
	})
}

func newRetire(a *app.App) *cobra.Command {
	return app.AuditedCommand(&cobra.Command{
		Use: "retire NAME", Short: "Let no new run of an agent start",
		Long: "Let no new run of an agent start, until `pawl agent activate`. Runs that have started go on. A version that\n" +
			"you apply meanwhile is stored, but the agent stays retired.",
		Args: app.ExactArgs(1, "the name of an agent; `pawl agent list` shows them"),
	}, app.Servers{Database: true}, func(ctx context.Context, s *app.Session, args []string, by string) error {
		done, err := s.Store.RetireAgent(ctx, args[0], by)
		if err != nil {
			return explain(err, args[0], "")
		}
		said := "retired"
		if !done.Changed {
			said = "was retired already"
		}
		return app.PrintState(a, app.VersionState{Name: args[0], Version: done.Version, State: said})
	})
}

// explain says which agent or version is not there.
func explain(err error, name, version string) error {
	switch {
	case !errors.Is(err, postgres.ErrNotFound):
		return err
	case version == "":
		return fmt.Errorf("there is no agent %q; `pawl agent list` shows the agents", name)
	default:
		return fmt.Errorf("there is no version %q of an agent %q; `pawl agent versions NAME` lists the versions", version, name)
	}
}
