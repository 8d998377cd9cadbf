package tools

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/schema"
)

// linted has the findings in the input schema of one tool.
type linted struct {
	ToolID   string           `json:"toolId"`
	Findings []schema.Finding `json:"findings"`
}

func newToolsLint(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "lint [TOOL...]", Short: "Check the input schemas of tools for keywords without effect, or without support by a provider",
		Long: "Show, for published tools, the keywords of the input schemas that some providers do not support and the keywords\n" +
			"without effect. These are hints: workers validate arguments with the whole schema. `pawl tools show` shows the form\n" +
			"of a schema for each provider.",
		RunE: func(cmd *cobra.Command, args []string) error {
			specs, err := app.PublishedSpecs(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) > 0 {
				if specs, err = selectSpecs(specs, args); err != nil {
					return err
				}
			}
			return printFindings(a, specs, args)
		},
	}
}

// selectSpecs returns the tools with the names or ids in names, in this order.
func selectSpecs(specs []toolspec.Spec, names []string) (chosen []toolspec.Spec, err error) {
	every := catalog.New(specs, func(toolspec.Spec) catalog.Visibility { return catalog.Visible })
	for _, name := range names {
		e, ok := every.Resolve(name)
		if !ok {
			return nil, notPublished(name)
		}
		chosen = append(chosen, e.Spec)
	}
	return chosen, nil
}

// notPublished is the error of a command for a tool that no worker has published.
func notPublished(name string) error {
	return fmt.Errorf("no worker has published %q; `pawl tools list --all` shows the tools", name)
}

func printFindings(a *app.App, specs []toolspec.Spec, names []string) error {
	var all []linted
	var rows [][]string
	for _, s := range specs {
		if s.NoSchema {
			continue // its schema describes nothing
		}
		findings, err := schema.Lint(s.InputSchema)
		if err != nil {
			return fmt.Errorf("tool %s: %w", s.Name, err)
		}
		if len(findings) > 0 {
			all = append(all, linted{ToolID: s.Name, Findings: findings})
		}
		for _, f := range findings {
			rows = append(rows, []string{s.Name, f.Pointer, string(f.Effect), f.Text})
		}
	}
	of := "any published tool"
	if len(names) > 0 {
		of = strings.Join(names, ", ")
	}
	return app.PrintList(a, all, "nothing to say about the schema of "+of, func([]linted) {
		app.PrintTable(a.Out, "", []string{"TOOL", "PLACE", "EFFECT", "WHAT"}, rows)
	})
}
