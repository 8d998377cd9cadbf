package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/mcp"
	"github.com/pawl-run/pawl/internal/postgres/policies"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/document"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/toolspec"
)

func newTrust(a *app.App) *cobra.Command {
	var by, effect, risk string
	var r policy.MCPReview
	cmd := &cobra.Command{
		Use: "trust TOOL", Short: "Write the review of a tool into the active policy, for all workers at once",
		Args: app.ExactArgs(1, "the id of a tool; `pawl mcp list` shows the tools"),
		Long: "Make a version of the active policy with the review of a tool active. Calls run from then on, if the policy allows the\n" +
			"tool to the tenant. Nothing changes if the definition has another digest than the one that you have reviewed.\n\n" +
			"Policy files do not get the review. Add the entry that this command prints to yours: the next `pawl policy apply`\n" +
			"of a file without it, and a worker that starts with --apply-policy, withdraw the review.",
		Example: "  pawl mcp review mcp__github__create_issue\n" +
			"  pawl mcp trust mcp__github__create_issue --digest 3b0c… --effect external_side_effect --risk medium --allow /text",
		RunE: func(cmd *cobra.Command, args []string) error {
			r.Effect, r.Risk = toolspec.Effect(effect), toolspec.Risk(risk)
			if err := checkReview(r); err != nil {
				return app.Usage(err)
			}
			if err := app.RequireIdentity("--as", by, app.ForAudit); err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error { return trust(cmd.Context(), a, s, args[0], by, r) })
		},
	}
	app.IdentityVar(cmd.Flags(), &by, "as", app.DefaultApprover(), "your identity, for the audit trail (PAWL_APPROVER)")
	cmd.Flags().StringVar(&r.Digest, "digest", "", "the digest of the definition that you have reviewed")
	cmd.Flags().StringVar(&effect, "effect", "", "what calls may change: read_only, state_change or external_side_effect")
	cmd.Flags().StringVar(&risk, "risk", "", "low, medium or high")
	cmd.Flags().StringArrayVar(&r.Allow, "allow", nil, "a part of the output that may leave, as a JSON `pointer`, such as /text; repeatable")
	cmd.Flags().BoolVar(&r.Idempotent, "idempotent", false, "a repeated call has no further effect, so that a lost attempt may be made again")
	cmd.Flags().StringArrayVar(&r.HarmlessNames, "harmless", nil, "the `name` of an argument that looks like a credential and carries none; repeatable")
	return cmd
}

// checkReview returns an error if a flag of the review is missing or has an invalid value.
func checkReview(r policy.MCPReview) error {
	switch {
	case r.Digest == "":
		return errors.New("--digest is missing: the one that `pawl mcp review` shows")
	case !r.Effect.Valid():
		return errors.New("--effect is read_only, state_change or external_side_effect")
	case !r.Risk.Valid():
		return errors.New("--risk is low, medium or high")
	case len(r.Allow) == 0:
		return errors.New("--allow is missing: which parts of the output may leave, such as /text")
	}
	return nil
}

// trust writes the review r of a tool into the active policy, if r is of the definition that the tool has now.
func trust(ctx context.Context, a *app.App, s *app.Session, name, by string, r policy.MCPReview) error {
	tools, p, err := findTools(ctx, s)
	if err != nil {
		return err
	}
	f, err := findOffered(tools, name)
	switch {
	case err != nil:
		return err
	case f.Digest != r.Digest:
		return fmt.Errorf("the definition of %s has the digest %s now; nothing was changed: run `pawl mcp review %s` again", f.ToolID, f.Digest, f.ToolID)
	case p.Digest() == "":
		return errors.New("no policy is active, so there is none to write the review into; `pawl policy apply FILE` makes one active")
	case f.ToolID != toolspec.MCPToolID(f.Server, f.Name):
		return fmt.Errorf("%s does not have the id of a tool of the MCP server %s, so no policy can review it", f.ToolID, toolspec.Quoted(f.Server))
	}
	with, err := p.WithReview(f.Server, f.Name, r)
	if err != nil {
		return err
	}
	if err := mcp.CheckAllow(f.spec.OutputSchema, r.Allow); err != nil {
		return fmt.Errorf("--allow does not fit %s, so its worker would not use the review: %w", f.ToolID, err)
	}
	// Activate fails if the active policy is not the one that this command has read: another person may have changed
	// it in the meantime.
	active := p.Digest()
	if _, err := s.Store.Activate(ctx, policies.Activation{Policy: with, By: by, Expected: &active}); err != nil {
		return err
	}
	entry := review.MCPEntry(f.Server, f.Name, r)
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]any{"toolId": f.ToolID, "policyDigest": with.Digest(), "entry": entry})
	}
	fmt.Fprintf(a.Out, "%s is trusted by policy %s, which is active now\n", f.ToolID, with.Digest())
	if !isAllowed(with, f.ToolID) {
		fmt.Fprintln(a.Out, "no tenant may use it yet: add it to allowedTools of a tenant")
	}
	fmt.Fprintf(a.Out, "add this to your policy file, or its next `pawl policy apply` withdraws the review:\n\n%s", entry)
	return nil
}

// isAllowed reports whether a tenant may use the tool.
func isAllowed(p *policy.Policy, toolID string) bool {
	for _, t := range p.Document().Tenants {
		if document.MatchesAny(t.AllowedTools, toolID) {
			return true
		}
	}
	return false
}
