package approvals

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
)

// previewLines bounds how much of each preview the list shows, in lines.
const previewLines = 20

func newApprovals(a *app.App) *cobra.Command {
	var f client.ApprovalFilter
	var after string
	cmd := &cobra.Command{
		Use: "approvals", Short: "List open approval requests", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Limit < 1 || f.Limit > client.MaxList {
				return app.Usage(fmt.Errorf("--limit is between 1 and %d", client.MaxList))
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				if f.TenantID = a.Tenant; after != "" {
					last, err := findRequest(cmd.Context(), s, a.Tenant, after)
					if err != nil {
						return err
					}
					f.After = &last
				}
				requests, err := s.Store.Approvals(cmd.Context(), f)
				if err != nil {
					return err
				}
				return app.PrintList(a, requests, "nothing waits", func(requests []reads.Approval) {
					for _, r := range requests {
						Print(a, r)
					}
				})
			})
		},
	}
	cmd.Flags().StringVar(&after, "after", "", "id of the last request of the previous page: list older requests")
	cmd.Flags().IntVar(&f.Limit, "limit", client.MaxList, "maximum number of requests, 1–500")
	cmd.Flags().StringVar(&f.RunID, "run", "", "only requests of calls with this run `id`, also of agents that the run has started")
	cmd.Flags().BoolVar(&f.Decided, "all", false, "also list requests that are decided or expired")
	cmd.AddCommand(newGrants(a), newRevokeGrant(a))
	return cmd
}
