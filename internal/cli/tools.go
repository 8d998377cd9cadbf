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

func newTools(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "Show the tools that workers have"}
	var all bool
	var tags []string
	var by catalog.Viewer
	list := &cobra.Command{
		Use: "list", Short: "List the tools that a caller may see", Args: exactly(0, "no arguments"),
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
	cmd.AddCommand(list, newToolsSearch(a), newToolsOffer(a), &cobra.Command{
		Use: "show TOOL", Short: "Show a tool with its schemas", Args: exactly(1, "the id of a tool"),
		Long: "Show a tool with its schemas. A name without its namespace is enough where no other tool is called so.",
		RunE: func(cmd *cobra.Command, args []string) error {
			specs, err := publishedSpecs(cmd.Context())
			if err != nil {
				return err
			}
			every := catalog.New(specs, func(toolspec.Spec) catalog.Visibility { return catalog.Visible })
			if e, ok := every.Resolve(args[0]); ok {
				return a.tool(e.Spec)
			}
			return fmt.Errorf("no worker has published %q; `pawl tools list --all` shows the tools", args[0])
		},
	})
	return group(cmd)
}

func (a *app) listTools(ctx context.Context, by catalog.Viewer, tags []string, all bool) error {
	tagged := catalog.Query{Tags: tags}
	return withStore(ctx, func(s *session) error {
		visible, err := s.store.Catalog(ctx, by)
		if err != nil {
			return err
		}
		if a.json && !all {
			return printJSON(a.Out, listed(slices.DeleteFunc(visible.List(), func(e catalog.Entry) bool { return !tagged.Takes(e.Spec) })))
		}
		specs, err := s.store.Specs(ctx)
		if err != nil {
			return err
		}
		specs = slices.DeleteFunc(specs, func(spec toolspec.Spec) bool { return !tagged.Takes(spec) })
		if a.json {
			return printJSON(a.Out, listed(specs))
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
		table(a.Out, "", []string{"TOOL", "ACCESS", "EFFECT", "RISK", "SOURCE", "WHAT"}, rows)
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

func (a *app) tool(s toolspec.Spec) error {
	if a.json {
		return printJSON(a.Out, s)
	}
	fmt.Fprintf(a.Out, "%s  (%s, %s risk, version %s)\n\n%s\n\n", s.Name, s.Effect, s.Risk, oneLine(s.Version, 100), printable(s.Description))
	fmt.Fprintf(a.Out, "digest   %s\nshows    %s\n", s.Digest, strings.Join(s.Redaction.Allow, " "))
	if len(s.Redaction.MaskInput) > 0 {
		fmt.Fprintf(a.Out, "masks    %s\n", strings.Join(s.Redaction.MaskInput, " "))
	}
	if len(s.Capabilities) > 0 {
		fmt.Fprintf(a.Out, "needs    %s\n", strings.Join(s.Capabilities, " "))
	}
	if len(s.Tags) > 0 {
		fmt.Fprintf(a.Out, "tags     %s\n", oneLine(strings.Join(s.Tags, " "), 200))
	}
	if s.NoSchema {
		fmt.Fprintf(a.Out, "checks   no arguments: it has no schema for them (%s)\n", s.NoSchemaMode)
	}
	fmt.Fprintf(a.Out, "\ninput    %s\n\noutput   %s\n", indented(s.InputSchema, "         "), indented(s.OutputSchema, "         "))
	return nil
}
