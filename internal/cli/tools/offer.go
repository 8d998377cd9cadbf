package tools

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire"
)

func newToolsOffer(a *app.App) *cobra.Command {
	var by catalog.Viewer
	var format, choice string
	var strict, serial bool
	var query catalog.Query
	cmd := &cobra.Command{
		Use:   "offer",
		Short: "Print what a request offers to a model",
		Long: "Print the tools that a caller may see as a request in the provider's format has them (`tools`), with what each name\n" +
			"stands for (`names`), and what could not be offered as it is (`changed`). With --choice, the members of the request that\n" +
			"stand beside `tools` are in `choice`. Keep it: `pawl turn --offer` reads the response by it.",
		Example: `  pawl tools offer --format openai --actor agent:one > offer.json
  jq .tools offer.json`,
		Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			codec, err := app.FindWireFormat(format)
			if err != nil {
				return err
			}
			by.TenantID = a.Tenant
			options := client.OfferOptions{Codec: codec, Strict: strict, Choice: choiceOf(choice, serial)}
			if cmd.Flags().Changed("query") || cmd.Flags().Changed("top") {
				options.Query = &query
			}
			if query.K < 1 {
				return errTop
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				offer, err := s.Client().Offer(cmd.Context(), by, options)
				if err != nil {
					return err
				}
				return app.PrintJSON(a.Out, offer)
			})
		},
	}
	cmd.Flags().StringVar(&format, "format", "", "the provider's format")
	cmd.Flags().StringVar(&query.Text, "query", "", "`words` that say what the tools are for: only those that fit them best; see pawl tools search")
	cmd.Flags().IntVar(&query.K, "top", catalog.DefaultPick, "how many tools at the most, with --query")
	cmd.Flags().BoolVar(&strict, "strict", false, "ask the provider to hold the model to the schemas, where format and tool allow it")
	cmd.Flags().StringVar(&choice, "choice", "", "whether the model calls tools: auto, none, required, or the id of the one tool to call")
	cmd.Flags().BoolVar(&serial, "serial", false, "ask for one call at the most, where the format can say so")
	viewerFlags(cmd, &by)
	return cmd
}

// choiceOf returns the choice that --choice and --serial describe. The id of a tool has a namespace,
// so that it is no mode.
func choiceOf(choice string, serial bool) wire.Choice {
	if slices.Contains([]wire.Mode{"", wire.Auto, wire.None, wire.Required}, wire.Mode(choice)) {
		return wire.Choice{Mode: wire.Mode(choice), Serial: serial}
	}
	return wire.Choice{Mode: wire.Named, Name: choice, Serial: serial}
}
