package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

func newTools(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "Show the tools that workers have"}
	var all bool
	var tags []string
	var by catalog.Viewer
	list := &cobra.Command{
		Use: "list", Short: "List the tools that a caller may see", Args: ExactArgs(0, "no arguments"),
		Long: "List the tools that workers have published and that a caller of the tenant may see: what policy denies whatever\n" +
			"the arguments, and what a kill switch stops, is left out. Called all the same, such a tool is denied.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			by.TenantID = a.tenant
			return a.listTools(cmd.Context(), by, tags, all)
		},
	}
	viewerFlags(list, &by)
	list.Flags().StringSliceVar(&tags, "tag", nil, "only tools that have all of these tags")
	list.Flags().BoolVar(&all, "all", false, "also those that policy hides from the tenant")
	cmd.AddCommand(list, newToolsSearch(a), newToolsOffer(a), newToolsShow(a))
	return group(cmd)
}

func (a *App) listTools(ctx context.Context, by catalog.Viewer, tags []string, all bool) error {
	tagged := catalog.Query{Tags: tags}
	return withStore(ctx, func(s *session) error {
		visible, err := s.store.Catalog(ctx, by)
		if err != nil {
			return err
		}
		if a.JSON && !all {
			return PrintJSON(a.Out, listed(slices.DeleteFunc(visible.List(), func(e catalog.Entry) bool { return !tagged.Takes(e.Spec) })))
		}
		specs, err := s.store.Specs(ctx)
		if err != nil {
			return err
		}
		specs = slices.DeleteFunc(specs, func(spec toolspec.Spec) bool { return !tagged.Takes(spec) })
		if a.JSON {
			return PrintJSON(a.Out, listed(specs))
		}
		var rows [][]string
		for _, s := range specs {
			e, seen := visible.Get(s.Name)
			if !seen && !all {
				continue
			}
			first, _, _ := strings.Cut(s.Description, ".")
			rows = append(rows, []string{s.Name, access(e, seen), string(s.Effect), string(s.Risk), s.Origin, first})
		}
		if len(rows) == 0 {
			what := "tools"
			if len(tags) > 0 {
				what = "tools with these tags"
			}
			fmt.Fprintf(a.Out, "tenant %s may see no %s; `pawl tools list --all` shows what workers have\n", a.tenant, what)
			return nil
		}
		PrintTable(a.Out, "", []string{"TOOL", "ACCESS", "EFFECT", "RISK", "SOURCE", "WHAT"}, rows)
		return nil
	})
}

// access is what policy says before anybody calls.
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
