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
		Short: "Print the tools of a request to a model, in the provider's format",
		Long: "Print the tools that a caller may see in the form of the provider's request (`tools`), the tool of each offered name\n" +
			"(`names`), and the tools that are offered in another form or left out (`changed`). With --choice, `choice` has the\n" +
			"members of the request that go beside `tools`. Keep the output: `pawl turn --offer` needs it to read the response.",
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
	cmd.Flags().StringVar(&query.Text, "query", "", "`words` of the task: offer only the tools that fit best; see pawl tools search")
	cmd.Flags().IntVar(&query.K, "top", catalog.DefaultPick, "maximum number of tools, with --query")
	cmd.Flags().BoolVar(&strict, "strict", false, "ask the provider to enforce the schemas, if the format and the tool allow it")
	cmd.Flags().StringVar(&choice, "choice", "", "tool choice for the model: auto, none, required, or the id of the tool that it must call")
	cmd.Flags().BoolVar(&serial, "serial", false, "ask for at most one call, if the format has a field for that")
	viewerFlags(cmd, &by)
	return cmd
}

// choiceOf returns the choice that --choice and --serial describe. A choice that is no mode, such as auto, is the id
// of a tool; the id has a namespace, so it cannot be equal to a mode.
func choiceOf(choice string, serial bool) wire.Choice {
	if slices.Contains([]wire.Mode{"", wire.Auto, wire.None, wire.Required}, wire.Mode(choice)) {
		return wire.Choice{Mode: wire.Mode(choice), Serial: serial}
	}
	return wire.Choice{Mode: wire.Named, Name: choice, Serial: serial}
}
