package policies

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/identities"
	"github.com/pawl-run/pawl/policy/authz"
)

// relationForms are the forms of a relation on the command line.
const relationForms = "member WHO GROUP-OR-ROLE, execute WHO TOOLS, or delegate SUBJECT ACTOR TOOLS"

func newRelations(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "relations", Short: "Manage relations: who may run which tools, and for whom"}
	cmd.AddCommand(newRelationsAdd(a), newRelationsRemove(a), newRelationsList(a))
	return app.Group(cmd)
}

func newRelationsAdd(a *app.App) *cobra.Command {
	var graph string
	var lasts time.Duration
	cmd := &cobra.Command{
		Use: "add KIND ARGUMENTS...", Short: "Add a relation, or change the time at which it expires",
		Long: "Add a relation. If the relation exists, only the time at which it expires changes:\n\n" +
			"  pawl relations add member user:ann role:ops\n" +
			"  pawl relations add execute role:ops 'core__*'\n" +
			"  pawl relations add delegate user:sue agent:one 'mail__*' --for 8h   # sue lets agent:one act for her\n\n" +
			"Members and rights apply if the tenant's policy has permissions: relations. Delegations always apply.",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := relation(args, graph)
			if err != nil {
				return err
			}
			if err := r.Check(); err != nil {
				return app.Usage(err)
			}
			if lasts < 0 || lasts > 0 && lasts < time.Second {
				return app.Usage(errors.New("--for is a time of at least 1s, such as 8h"))
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				expiresAt, err := s.Store.AddRelation(cmd.Context(), a.Tenant, r, lasts, app.DefaultApprover())
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "relation": r, "expiresAt": expiresAt})
				}
				fmt.Fprintf(a.Out, "%s: %s, %s\n", a.Tenant, app.Printable(relationText(r)), app.FormatUntil(expiresAt, false))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&graph, "graph", "", "only for calls of this graph")
	cmd.Flags().DurationVar(&lasts, "for", 0, "how long the relation is valid, such as 8h; default without end")
	return cmd
}

func newRelationsRemove(a *app.App) *cobra.Command {
	var graph string
	cmd := &cobra.Command{
		Use: "remove KIND ARGUMENTS...", Short: "Remove a relation; calls that wait are judged again",
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := relation(args, graph)
			if err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				err := s.Store.RemoveRelation(cmd.Context(), a.Tenant, r, app.DefaultApprover())
				if errors.Is(err, postgres.ErrNotFound) {
					return fmt.Errorf("tenant %s has no such relation; `pawl relations list` shows its relations", a.Tenant)
				}
				if err != nil {
					return err
				}
				if a.JSON {
					return app.PrintJSON(a.Out, map[string]any{"tenant": a.Tenant, "removed": r})
				}
				fmt.Fprintf(a.Out, "%s: removed: %s\n", a.Tenant, app.Printable(relationText(r)))
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&graph, "graph", "", "the graph of the relation")
	return cmd
}

func newRelationsList(a *app.App) *cobra.Command {
	var of string
	cmd := &cobra.Command{
		Use: "list", Short: "List the tenant's relations", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				found, err := s.Store.Relations(cmd.Context(), a.Tenant, of)
				if err != nil {
					return err
				}
				nothing := fmt.Sprintf("tenant %s has no such relations", a.Tenant)
				return app.PrintRows(a, found, nothing, []string{"RELATION", "COUNTS", "SINCE", "BY"}, func(r identities.RelationRecord) []string {
					return []string{relationText(r.Relation), app.FormatUntil(r.ExpiresAt, r.Expired), app.FormatTime(r.GrantedAt), app.QuoteName(r.GrantedBy)}
				})
			})
		},
	}
	cmd.Flags().StringVar(&of, "of", "", "only relations that name this user, agent, service, group or role")
	return cmd
}

// relation parses a relation in one of its forms.
func relation(args []string, graph string) (authz.Relation, error) {
	r := authz.Relation{GraphID: graph}
	if len(args) > 0 {
		r.Kind = authz.Kind(args[0])
	}
	switch {
	case r.Kind == authz.Member && len(args) == 3:
		r.Subject, r.Object = args[1], args[2]
	case r.Kind == authz.Executes && len(args) == 3:
		r.Subject, r.Tools = args[1], args[2]
	case r.Kind == authz.Delegates && len(args) == 4:
		r.Object, r.Subject, r.Tools = args[1], args[2], args[3]
	default:
		return r, app.Usage(errors.New("expected " + relationForms))
	}
	return r, nil
}

// relationText returns a relation in its form on the command line.
func relationText(r authz.Relation) string {
	var text string
	switch r.Kind {
	case authz.Member:
		text = fmt.Sprintf("member %s %s", app.QuoteName(r.Subject), app.QuoteName(r.Object))
	case authz.Executes:
		text = fmt.Sprintf("execute %s %s", app.QuoteName(r.Subject), r.Tools)
	case authz.Delegates:
		text = fmt.Sprintf("delegate %s %s %s", app.QuoteName(r.Object), app.QuoteName(r.Subject), r.Tools)
	}
	if r.GraphID != "" {
		text += " --graph " + r.GraphID
	}
	return text
}
