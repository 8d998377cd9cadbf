package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/policy"
)

func newPolicy(a *App) *cobra.Command {
	cmd := &cobra.Command{Use: "policy", Short: "Check, apply, compare and show the policy"}
	cmd.AddCommand(&cobra.Command{
		Use: "check FILE", Short: "Check a policy file", Args: ExactArgs(1, "a policy file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := readPolicy(args[0])
			if err != nil {
				return err
			}
			return a.checkPolicy(cmd.Context(), p)
		},
	}, &cobra.Command{
		Use: "show", Short: "Show the active policy", Args: ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				active, ok, err := s.store.ActivePolicy(cmd.Context())
				if err != nil {
					return err
				}
				if !ok {
					return fmt.Errorf("no policy is active: every call is denied; `pawl policy apply FILE` makes one active")
				}
				p, err := s.store.Policy(cmd.Context(), active.Digest)
				if err != nil {
					return err
				}
				fmt.Fprintln(a.Out, indented(p.Source(), ""))
				if !a.JSON {
					fmt.Fprintf(a.Err, "%s, since %s by %s\n", active.Digest, clockTime(active.At), name(active.By))
				}
				return nil
			})
		},
	}, newPolicyApply(a), newPolicyDiff(a), newPolicyHistory(a), newPolicyRollback(a), newPolicyBacktest(a), newPolicyShadow(a), newPolicyExplain(a), newPolicyTest(a))
	return group(cmd)
}

func readPolicy(file string) (*policy.Policy, error) {
	doc, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return policy.Parse(file, doc)
}

func (a *App) policy(p *policy.Policy, said string, found ...*policy.Error) error {
	warnings := p.Warnings()
	for _, f := range found {
		warnings = append(warnings, f.Error())
	}
	if a.JSON {
		return PrintJSON(a.Out, map[string]any{"digest": p.Digest(), "state": said, "warnings": listed(warnings)})
	}
	fmt.Fprintf(a.Out, "%s  %s\n", p.Digest(), said)
	for _, w := range warnings {
		fmt.Fprintln(a.Out, "  ! "+Printable(w))
	}
	return nil
}
