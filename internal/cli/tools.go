package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/catalog"
)

func newTools(a *app) *cobra.Command {
	cmd := &cobra.Command{Use: "tools", Short: "Show the tools that workers have"}
	var all bool
	list := &cobra.Command{
		Use: "list", Short: "List the tools that the tenant may see", Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.listTools(cmd.Context(), all) },
	}
	list.Flags().BoolVar(&all, "all", false, "also those that policy hides from the tenant")
	cmd.AddCommand(list, &cobra.Command{
		Use: "show TOOL", Short: "Show a tool with its schemas", Args: exactly(1, "the id of a tool"),
		RunE: func(cmd *cobra.Command, args []string) error {
			specs, _, err := a.specs(cmd.Context())
			if err != nil {
				return err
			}
			for _, s := range specs {
				if s.Name == args[0] {
					return a.tool(s)
				}
			}
			return fmt.Errorf("no worker has published %q; `pawl tools list --all` shows the tools", args[0])
		},
	})
	return group(cmd)
}

func (a *app) listTools(ctx context.Context, all bool) error {
	specs, p, err := a.specs(ctx)
	if err != nil {
		return err
	}
	visible := catalog.New(specs, func(s toolspec.Spec) catalog.Visibility { return visibility(p, a.tenant, s) })
	if a.json {
		if all {
			return printJSON(a.Out, listed(specs))
		}
		return printJSON(a.Out, listed(visible.List()))
	}
	var rows [][]string
	for _, s := range specs {
		access := "denied"
		if e, ok := visible.Get(s.Name); ok {
			access = "allowed"
			if e.NeedsApproval {
				access = "with approval"
			}
		} else if !all {
			continue
		}
		first, _, _ := strings.Cut(s.Description, ".")
		rows = append(rows, []string{s.Name, access, string(s.Effect), string(s.Risk), s.Origin, first})
	}
	if len(rows) == 0 {
		fmt.Fprintf(a.Out, "tenant %s may see no tools; `pawl tools list --all` shows what workers have\n", a.tenant)
		return nil
	}
	table(a.Out, "", []string{"TOOL", "ACCESS", "EFFECT", "RISK", "SOURCE", "WHAT"}, rows)
	return nil
}

// visibility is what policy says before anybody calls: rules that need arguments
// may still decide otherwise.
func visibility(p *policy.Policy, tenantID string, s toolspec.Spec) catalog.Visibility {
	switch p.Decide(policy.Facts{TenantID: tenantID, ToolID: s.Name, Effect: s.Effect, Risk: s.Risk}).Verb {
	case policy.Allow:
		return catalog.Visible
	case policy.RequireApproval:
		return catalog.VisibleWithApproval
	case policy.Deny:
	}
	return catalog.Hidden
}

// specs are what workers have published, with the active policy.
func (a *app) specs(ctx context.Context) ([]toolspec.Spec, *policy.Policy, error) {
	s, err := connect(ctx, false, true)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	specs, err := s.store.Specs(ctx)
	if err != nil {
		return nil, nil, err
	}
	active, _, err := s.store.ActivePolicy(ctx)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.store.Policy(ctx, active.Digest)
	return specs, p, err
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
	fmt.Fprintf(a.Out, "\ninput    %s\n\noutput   %s\n", indented(s.InputSchema, "         "), indented(s.OutputSchema, "         "))
	return nil
}
