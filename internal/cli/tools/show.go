package tools

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
	"github.com/pawl-run/pawl/toolspec/wire"
)

func newToolsShow(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use: "show TOOL", Short: "Show a tool with its schemas", Args: app.ExactArgs(1, "the id of a tool"),
		Long: "Show a tool as workers published it: its effect and risk, the schema of its arguments, and the name and the schema\n" +
			"that each provider gets. TOOL may leave out the namespace if no other tool has that name.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var specs []toolspec.Spec
			var pools map[string][]string
			err := app.WithStore(cmd.Context(), func(s *app.Session) (err error) {
				if specs, err = s.Store.Specs(cmd.Context()); err == nil {
					pools, err = s.Store.ToolPools(cmd.Context())
				}
				return err
			})
			if err != nil {
				return err
			}
			every := catalog.New(specs, func(toolspec.Spec) catalog.Visibility { return catalog.Visible })
			e, ok := every.Resolve(args[0])
			if !ok {
				return notPublished(args[0])
			}
			shown, err := shownToolOf(e.Spec)
			if err != nil {
				return err
			}
			shown.Pools = pools[e.Spec.Name]
			if a.JSON {
				return app.PrintJSON(a.Out, shown)
			}
			shown.print(a.Out)
			return nil
		},
	}
}

// shownTool is a tool as workers publish it, and in the forms that are sent to providers.
type shownTool struct {
	toolspec.Spec
	// Pools are the pools whose workers have the tool. It is nil if a worker of the shared queue has it.
	Pools []string   `json:"pools,omitempty"`
	Sent  []sentTool `json:"sent"`
}

// sentTool is a tool in one provider's format, as an offer contains it.
type sentTool struct {
	Format string `json:"format"`
	// As is nil if the tool cannot be offered in this format. Changed then says why.
	As      *wire.Offered   `json:"as,omitempty"`
	Changed *client.Changed `json:"changed,omitempty"`
}

func shownToolOf(spec toolspec.Spec) (shownTool, error) {
	shown := shownTool{Spec: spec}
	for _, codec := range app.WireFormats() {
		offer, err := client.NewOffer(codec, []toolspec.Spec{spec}, false)
		if err != nil {
			return shown, err
		}
		sent := sentTool{Format: codec.Format()}
		if len(offer.Names.Tools) > 0 {
			sent.As = &offer.Names.Tools[0]
		}
		if len(offer.Changed) > 0 {
			sent.Changed = &offer.Changed[0]
		}
		shown.Sent = append(shown.Sent, sent)
	}
	return shown, nil
}

func (t shownTool) print(w io.Writer) {
	fmt.Fprintf(w, "%s  (%s, %s risk, version %s)\n\n%s\n\n", t.Name, t.Effect, t.Risk, app.OneLine(t.Version, 100), app.Printable(t.Description))
	line := func(what string, values ...string) {
		if text := strings.Join(values, " "); text != "" {
			fmt.Fprintf(w, "%-8s %s\n", what, app.OneLine(text, 1000))
		}
	}
	line("digest", t.Digest)
	line("source", strings.TrimSpace(t.Origin+" "+t.ProvidedBy))
	line("pool", t.Pools...)
	if t.Idempotent || t.Effect == toolspec.ReadOnly {
		line("runs", "again where an attempt was lost, with the same idempotency key")
	} else {
		line("runs", "once")
	}
	line("needs", t.Capabilities...)
	if t.RequiresConnection {
		line("acts", strings.TrimSuffix("with a connection, and its scopes "+strings.Join(t.Scopes, " "), ", and its scopes "))
	}
	line("takes", fmt.Sprintf("at most %d bytes of arguments", cmp.Or(t.MaxArgsBytes, toolspec.DefaultMaxArgs)))
	switch {
	case t.NoSchema:
		line("checks", fmt.Sprintf("no arguments: it has no schema for them (%s)", t.NoSchemaMode))
	case t.Validator == nil:
		line("checks", fmt.Sprintf("the input schema %s, and says in each call's provenance by which validator", t.SchemaHash))
	default:
		line("checks", fmt.Sprintf("the input schema %s, by the validator %s %s", t.SchemaHash, t.Validator.Name, t.Validator.Version))
	}
	line("shows", t.Redaction.Allow...)
	line("masks", t.Redaction.MaskInput...)
	for _, m := range t.Redaction.MaskOutput {
		line("masks in results", fmt.Sprintf("%s: %s", m.Path, m.With))
	}
	if len(t.HarmlessNames) > 0 {
		line("harmless", strings.Join(t.HarmlessNames, ", ")+": named like a secret, and none, as the author declares")
	}
	line("tags", t.Tags...)
	line("sent as", wire.SentName(t.Name))
	for _, sent := range t.Sent {
		if difference := sent.difference(); difference != "" {
			fmt.Fprintf(w, "%-8s to %s: %s\n", "", sent.Format, app.OneLine(difference, 1000))
		}
	}
	fmt.Fprintf(w, "\ninput    %s\n\noutput   %s\n", app.FormatJSON(t.InputSchema, "         "), app.FormatJSON(t.OutputSchema, "         "))
}

// difference describes how the form that is sent differs from the published tool. It is empty if there
// is no difference.
func (t sentTool) difference() string {
	switch {
	case t.As == nil && t.Changed != nil:
		return "is not offered: " + t.Changed.LeftOut
	case t.Changed == nil:
		return ""
	}
	var words []string
	if t.Changed.NotStrict {
		words = append(words, "is offered without strict")
	}
	for _, f := range t.Changed.Findings {
		if rule := string(f.Effect) + " " + f.Pointer; !slices.Contains(words, rule) {
			words = append(words, rule)
		}
	}
	return strings.Join(words, ", ")
}
