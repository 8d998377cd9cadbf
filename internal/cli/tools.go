package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/toolspec"
)

func newTools(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "Show the tools that workers have"}
	cmd.AddCommand(&cobra.Command{
		Use: "list", Short: "List the tools", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			specs, err := a.specs(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				return printJSON(a.Out, specs)
			}
			var rows [][]string
			for _, s := range specs {
				first, _, _ := strings.Cut(s.Description, ".")
				rows = append(rows, []string{s.Name, string(s.Effect), string(s.Risk), s.Origin, first})
			}
			table(a.Out, "", []string{"TOOL", "EFFECT", "RISK", "SOURCE", "WHAT"}, rows)
			return nil
		},
	}, &cobra.Command{
		Use: "show TOOL", Short: "Show a tool with its schemas", Args: exactly(1, "the id of a tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			specs, err := a.specs(cmd.Context())
			if err != nil {
				return err
			}
			for _, s := range specs {
				if s.Name == args[0] {
					return a.tool(s)
				}
			}
			return fmt.Errorf("no worker has published %q; `pawl tools list` shows the tools", args[0])
		},
	})
	return cmd
}

// specs are what workers have published.
func (a *app) specs(ctx context.Context) ([]toolspec.Spec, error) {
	s, err := a.connect(ctx, false, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.store.Specs(ctx)
}

func (a *app) tool(s toolspec.Spec) error {
	if a.json {
		return printJSON(a.Out, s)
	}
	fmt.Fprintf(a.Out, "%s  (%s, %s risk, version %s)\n\n%s\n\n", s.Name, s.Effect, s.Risk, s.Version, printable(s.Description))
	fmt.Fprintf(a.Out, "digest   %s\nshows    %s\n", s.Digest, strings.Join(s.Redaction.Allow, " "))
	if len(s.Redaction.MaskInput) > 0 {
		fmt.Fprintf(a.Out, "masks    %s\n", strings.Join(s.Redaction.MaskInput, " "))
	}
	if len(s.Capabilities) > 0 {
		fmt.Fprintf(a.Out, "needs    %s\n", strings.Join(s.Capabilities, " "))
	}
	fmt.Fprintf(a.Out, "\ninput    %s\n\noutput   %s\n", indented(s.InputSchema, "         "), indented(s.OutputSchema, "         "))
	return nil
}
