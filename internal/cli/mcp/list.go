package mcp

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
)

func newList(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the tools that MCP servers offer, and which of them are reviewed", Args: app.ExactArgs(0, "no arguments"),
		Long: "List the tools that MCP servers offer to running workers. The state of a tool is\n" +
			"  unreviewed                 nobody has reviewed it: its calls are denied\n" +
			"  trusted                    policy has the review of its definition: calls run if the tenant may use the tool\n" +
			"  trusted, not in force yet  the worker has not taken over the review; this takes about a second\n" +
			"  changed since its review   the server has changed the definition: calls are denied until it is reviewed again\n" +
			"  not offered                policy has a review, and no running worker has the tool\n" +
			"LOOKS LIKE names tools of other sources with a name that is easily taken for this one.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				tools, _, err := findTools(cmd.Context(), s)
				if err != nil {
					return err
				}
				headings := []string{"TOOL", "SERVER", "STATE", "EFFECT", "RISK", "LOOKS LIKE"}
				return app.PrintRows(a, tools, "no running worker has a tool of an MCP server, and no review is in the policy", headings, func(f found) []string {
					effect, risk := "-", "-"
					if f.Review != nil {
						effect, risk = string(f.Review.Effect), string(f.Review.Risk)
					}
					return []string{f.ToolID, cmp.Or(f.Server, "-"), f.says(), effect, risk, strings.Join(f.LooksLike, ", ")}
				})
			})
		},
	}
}
