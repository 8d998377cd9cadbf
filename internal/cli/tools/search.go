package tools

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

func newToolsSearch(a *app.App) *cobra.Command {
	var by catalog.Viewer
	var query catalog.Query
	var effects, risks []string
	cmd := &cobra.Command{
		Use: "search [WORD…]", Short: "Find the tools that fit a task best",
		Long: "Find the tools that fit a task best among the tools that a caller of the tenant may see. Use it if a model\n" +
			"cannot choose among all of them. The words are searched in names, titles, tags, descriptions and arguments.\n" +
			"A tool without any of the words is left out, and so is a tool that policy hides. Without words, the tools are\n" +
			"sorted by id. A tool that is left out is not denied: policy judges a call of it as any other call.",
		RunE: func(cmd *cobra.Command, args []string) error {
			by.TenantID, query.Text = a.Tenant, strings.Join(args, " ")
			if query.K < 1 {
				return errTop
			}
			for _, s := range effects {
				effect := toolspec.Effect(s)
				if !effect.Valid() {
					return app.Usage(fmt.Errorf("--effect %q is none of read_only, state_change, external_side_effect", s))
				}
				query.Effects = append(query.Effects, effect)
			}
			for _, s := range risks {
				risk := toolspec.Risk(s)
				if !risk.Valid() {
					return app.Usage(fmt.Errorf("--risk %q is none of low, medium, high", s))
				}
				query.Risks = append(query.Risks, risk)
			}
			return searchTools(cmd.Context(), a, by, query)
		},
	}
	viewerFlags(cmd, &by)
	cmd.Flags().IntVar(&query.K, "top", catalog.DefaultPick, "maximum number of tools")
	cmd.Flags().StringSliceVar(&query.Tags, "tag", nil, "only tools that have all of these tags")
	cmd.Flags().StringSliceVar(&effects, "effect", nil, "only tools of one of these effects")
	cmd.Flags().StringSliceVar(&risks, "risk", nil, "only tools of one of these risks")
	return cmd
}

var errTop = app.Usage(errors.New("--top must be 1 or more"))

// viewerFlags defines the flags that describe the caller, besides the tenant.
func viewerFlags(cmd *cobra.Command, by *catalog.Viewer) {
	app.ActorVar(cmd.Flags(), &by.ActorID, "actor", "", "the actor; default no actor")
	cmd.Flags().StringSliceVar(&by.ToolIDs, "tool-ids", nil, "the tools of the run, as in context.toolIds")
}

func searchTools(ctx context.Context, a *app.App, by catalog.Viewer, query catalog.Query) error {
	return app.WithStore(ctx, func(s *app.Session) error {
		found, err := s.Client().PickTools(ctx, by, query)
		if err != nil {
			return err
		}
		nothing := fmt.Sprintf("no tool that tenant %s may see fits; `pawl tools list` shows them all", a.Tenant)
		headings := []string{"TOOL", "SCORE", "ACCESS", "EFFECT", "RISK", "WHY"}
		return app.PrintRows(a, found, nothing, headings, func(m catalog.Match) []string {
			return []string{m.Name, strconv.FormatFloat(m.Score, 'f', 2, 64), access(m.Entry, true), string(m.Effect), string(m.Risk), because(m.Why)}
		})
	})
}

// because lists the words of the query that matched.
func because(hits []catalog.Hit) string {
	words := make([]string, len(hits))
	for i, hit := range hits {
		words[i] = hit.Word
	}
	return strings.Join(words, ", ")
}
