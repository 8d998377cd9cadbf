package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/postgres"
)

func newApprovals(a *App) *cobra.Command {
	var everything bool
	cmd := &cobra.Command{
		Use: "approvals", Short: "List calls that wait for a person", Args: ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				requests, err := s.store.Approvals(cmd.Context(), a.tenant, !everything)
				if err != nil {
					return err
				}
				return listing(a, requests, "nothing waits", func(requests []postgres.Approval) {
					for _, r := range requests {
						fmt.Fprintf(a.Out, "%s  %s\n  tool     %s (%s, %s risk), asked for by %s\n  args     %s\n  digest   %s\n  who      %s\n  expires  %s\n",
							r.ApprovalID, r.State, r.ToolID, r.Effect, r.Risk, name(r.RequestedBy), OneLine(string(r.Args), 400),
							r.Digest, OneLine(r.Approvers, 200), clockTime(r.ExpiresAt))
						a.escalations(r, 7)
						if r.Parked != "" {
							fmt.Fprintf(a.Out, "  unknown  %s: the call was made, and nobody knows whether it took effect; `pawl resolve`\n", r.Parked)
						}
						if r.Message != "" {
							fmt.Fprintf(a.Out, "  why      %s\n", OneLine(r.Message, 200))
						}
					}
				})
			})
		},
	}
	cmd.Flags().BoolVar(&everything, "all", false, "also those that were decided")
	cmd.AddCommand(newGrants(a), newRevokeGrant(a))
	return cmd
}
