package approvals

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
)

func newApprovals(a *app.App) *cobra.Command {
	var everything bool
	cmd := &cobra.Command{
		Use: "approvals", Short: "List open approval requests", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				requests, err := s.Store.Approvals(cmd.Context(), a.Tenant, !everything)
				if err != nil {
					return err
				}
				return app.PrintList(a, requests, "nothing waits", func(requests []reads.Approval) {
					for _, r := range requests {
						fmt.Fprintf(a.Out, "%s  %s\n  tool     %s (%s, %s risk), asked for by %s\n  args     %s\n  digest   %s\n  who      %s\n  expires  %s\n",
							r.ApprovalID, r.State, r.ToolID, r.Effect, r.Risk, app.QuoteName(r.RequestedBy), app.OneLine(string(r.Args), 400),
							r.Digest, app.OneLine(r.Approvers, 200), app.FormatTime(r.ExpiresAt))
						a.PrintEscalations(r, 7)
						a.PrintMissing(r, 7)
						if r.Parked != "" {
							fmt.Fprintf(a.Out, "  unknown  %s: the tool ran and gave no answer, so the effect is unknown: `pawl resolve` decides\n", r.Parked)
						}
						if r.Message != "" {
							fmt.Fprintf(a.Out, "  why      %s\n", app.OneLine(r.Message, 200))
						}
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "also list requests that are decided or expired")
	cmd.AddCommand(newGrants(a), newRevokeGrant(a))
	return cmd
}
