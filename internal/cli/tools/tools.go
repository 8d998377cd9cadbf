package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

func newTools(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "Show the tools that workers have, or make new ones"}
	var all bool
	var tags []string
	var by catalog.Viewer
	list := &cobra.Command{
		Use: "list", Short: "List the tools that a caller may see", Args: app.ExactArgs(0, "no arguments"),
		Long: "List the published tools that a caller of the tenant may see. A tool is left out if policy denies it for all\n" +
			"arguments, or if a kill switch stops it. A call of such a tool is denied.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			by.TenantID = a.Tenant
			return listTools(cmd.Context(), a, by, tags, all)
		},
	}
	viewerFlags(list, &by)
	list.Flags().StringSliceVar(&tags, "tag", nil, "only tools that have all of these tags")
	list.Flags().BoolVar(&all, "all", false, "also list tools that policy hides from the tenant, and name built-in tools that no worker offers")
	cmd.AddCommand(list, newToolsSearch(a), newToolsOffer(a), newToolsShow(a), newToolsLint(a), newToolsNew(a), newToolsImport(a),
		newToolsRegister(a), newToolsUnregister(a), newToolsVersions(a), newToolsRollback(a))
	return app.Group(cmd)
}

func listTools(ctx context.Context, a *app.App, by catalog.Viewer, tags []string, all bool) error {
	tagged := catalog.Query{Tags: tags}
	return app.WithStore(ctx, func(s *app.Session) error {
		visible, err := s.Store.Catalog(ctx, by)
		if err != nil {
			return err
		}
		if a.JSON && !all {
			return app.PrintJSON(a.Out, app.NonNil(slices.DeleteFunc(visible.List(), func(e catalog.Entry) bool { return !tagged.Takes(e.Spec) })))
		}
		specs, err := s.Store.LiveSpecs(ctx)
		if err != nil {
			return err
		}
		offered := slices.Clone(specs)
		specs = slices.DeleteFunc(specs, func(spec toolspec.Spec) bool { return !tagged.Takes(spec) })
		if a.JSON {
			return app.PrintJSON(a.Out, app.NonNil(specs))
		}
		pools, err := s.Store.ToolPools(ctx)
		if err != nil {
			return err
		}
		var rows [][]string
		for _, s := range specs {
			e, seen := visible.Get(s.Name)
			if !seen && !all {
				continue
			}
			first, _, _ := strings.Cut(s.Description, ".")
			from := strings.TrimSpace(s.Origin + " " + s.ProvidedBy)
			if in := pools[s.Name]; len(in) > 0 {
				from += " in " + strings.Join(in, ", ")
			}
			rows = append(rows, []string{s.Name, access(e, seen), string(s.Effect), string(s.Risk), from, first})
		}
		if len(rows) == 0 {
			what := "tools"
			if len(tags) > 0 {
				what = "tools with these tags"
			}
			fmt.Fprintf(a.Out, "tenant %s may see no %s; `pawl tools list --all` shows the tools of running workers\n", a.Tenant, what)
			return nil
		}
		app.PrintTable(a.Out, "", []string{"TOOL", "ACCESS", "EFFECT", "RISK", "SOURCE", "WHAT"}, rows)
		if unoffered := app.UnofferedTools(offered); all && len(tags) == 0 && len(unoffered) > 0 {
			fmt.Fprintf(a.Out, "\nno worker offers %s\n", strings.Join(unoffered, ", "))
		}
		return nil
	})
}

// access returns what policy says about a tool before there is a call.
func access(e catalog.Entry, seen bool) string {
	switch {
	case !seen:
		return "denied"
	case e.NeedsApproval:
		return "with approval"
	case e.DependsOnArguments:
		return "depends on the arguments"
	default:
		return "allowed"
	}
}
