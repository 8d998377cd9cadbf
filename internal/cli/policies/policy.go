package policies

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/policy/strictyaml"
)

func newPolicy(a *app.App) *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Check, apply, compare and show the policy"}
	cmd.AddCommand(&cobra.Command{
		Use: "check FILE", Short: "Check a policy file", Args: app.ExactArgs(1, "a policy file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := readPolicy(args[0])
			if err != nil {
				return err
			}
			return checkPolicy(cmd.Context(), a, p)
		},
	}, &cobra.Command{
		Use: "show", Short: "Show the active policy", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				active, ok, err := s.Store.ActivePolicy(cmd.Context())
				if err != nil {
					return err
				}
				if !ok {
					return fmt.Errorf("no policy is active: every call is denied; `pawl policy apply FILE` makes one active")
				}
				p, err := s.Store.Policy(cmd.Context(), active.Digest)
				if err != nil {
					return err
				}
				fmt.Fprintln(a.Out, app.FormatJSON(p.Source(), ""))
				if !a.JSON {
					fmt.Fprintf(a.Err, "%s, since %s by %s\n", active.Digest, app.FormatTime(active.At), app.QuoteName(active.By))
				}
				return nil
			})
		},
	}, newPolicyApply(a), newPolicyDiff(a), newPolicyHistory(a), newPolicyRollback(a), newPolicyBacktest(a), newPolicyShadow(a), newPolicyExplain(a), newPolicyTest(a))
	return app.Group(cmd)
}

func readPolicy(file string) (*policy.Policy, error) {
	doc, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return policy.Parse(file, doc)
}

func printPolicy(a *app.App, p *policy.Policy, said string, found ...*strictyaml.Error) error {
	warnings := review.Warnings(p)
	for _, f := range found {
		warnings = append(warnings, f.Error())
	}
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]any{"digest": p.Digest(), "state": said, "warnings": app.NonNil(warnings)})
	}
	fmt.Fprintf(a.Out, "%s  %s\n", p.Digest(), said)
	for _, w := range warnings {
		fmt.Fprintln(a.Out, "  ! "+app.Printable(w))
	}
	return nil
}
