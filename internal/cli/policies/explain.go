package policies

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/toolspec"
)

// activePolicy stands for the active version in the place of a file name.
const activePolicy = "active"

func newPolicyExplain(a *app.App) *cobra.Command {
	var args, file, effect, risk string
	facts := policy.Facts{RunID: "cli"}
	cmd := &cobra.Command{
		Use:   "explain TOOL",
		Short: "Explain how policy judges a call",
		Long: "Show the rule that decides on a call, the rules that it overrides, and why the other rules do not apply.\n" +
			"Without --args, explain judges the call as the gate does before it knows the arguments.",
		Example: `  pawl policy explain core__write_file --actor user:ann --args '{"path":"/etc/hosts","content":""}'
  pawl policy explain core__write_file --actor user:ann --role admin --file policy.yaml`,
		Args: app.ExactArgs(1, "the id of a tool; `pawl tools list --all` shows them"),
		RunE: func(cmd *cobra.Command, positional []string) error {
			facts.TenantID, facts.ToolID = a.Tenant, positional[0]
			p, specs, err := policyOf(cmd.Context(), a, file)
			if err != nil {
				return err
			}
			spec, published := byName(specs)[facts.ToolID]
			spec.Name, facts.TagsUnknown = facts.ToolID, !published
			if effect != "" {
				spec.Effect = toolspec.Effect(effect)
			}
			if risk != "" {
				spec.Risk = toolspec.Risk(risk)
			}
			if !spec.Effect.Valid() || !spec.Risk.Valid() {
				return app.Usage(fmt.Errorf("no worker has published %q: say with --effect and --risk what it declares", facts.ToolID))
			}
			if cmd.Flags().Changed("args") {
				if facts.Args, err = review.AcceptedArgs(spec, json.RawMessage(args)); err != nil {
					return err
				}
				facts.HasArgs = true
			}
			x := review.Explain(p, facts.Of(spec))
			if a.JSON {
				return app.PrintJSON(a.Out, x)
			}
			fmt.Fprint(a.Out, app.Printable(x.Text()))
			return nil
		},
	}
	cmd.Flags().StringVar(&args, "args", "", "the arguments, a JSON object")
	app.ActorVar(cmd.Flags(), &facts.ActorID, "actor", "agent:cli", "the actor of the call")
	app.IdentityVar(cmd.Flags(), &facts.SubjectID, "subject", "", "the subject, treated as proven")
	cmd.Flags().StringVar(&facts.ConnectionID, "connection", "", "the connection that the call names")
	cmd.Flags().StringArrayVar(&facts.Roles, "role", nil, "an additional role of the actor; may be repeated")
	cmd.Flags().StringVar(&file, "file", activePolicy, "a policy file, or active")
	cmd.Flags().StringVar(&effect, "effect", "", "declared by the tool; default from the tool that workers published")
	cmd.Flags().StringVar(&risk, "risk", "", "declared by the tool; default from the tool that workers published")
	return cmd
}

func byName(specs []toolspec.Spec) map[string]toolspec.Spec {
	tools := make(map[string]toolspec.Spec, len(specs))
	for _, s := range specs {
		tools[s.Name] = s
	}
	return tools
}

// policyOf returns the policy in a file, or the active version if file is activePolicy, and the tools that workers
// have published. A policy in a file needs no database: if the tools cannot be read, policyOf prints why and returns
// no tools.
func policyOf(ctx context.Context, a *app.App, file string) (*policy.Policy, []toolspec.Spec, error) {
	if file == activePolicy {
		return activeVersion(ctx)
	}
	p, err := readPolicy(file)
	if err != nil {
		return nil, nil, err
	}
	specs, err := app.PublishedSpecs(ctx)
	if err != nil { // the file of cases or the flags say what the tools declare
		fmt.Fprintln(a.Err, "the published tools could not be read, so only what the file or the flags declare is known:", app.Printable(err.Error()))
		return p, nil, nil
	}
	return p, specs, nil
}

func activeVersion(ctx context.Context) (p *policy.Policy, specs []toolspec.Spec, err error) {
	err = app.WithStore(ctx, func(s *app.Session) error {
		if p, err = s.ActivePolicy(ctx); err != nil {
			return err
		}
		specs, err = s.Store.Specs(ctx)
		return err
	})
	return p, specs, err
}
