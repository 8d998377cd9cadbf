package calls

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

func newList(a *app.App) *cobra.Command {
	f := client.CallFilter{}
	var status, after string
	cmd := &cobra.Command{
		Use: "list", Short: "List the tenant's calls, newest first", Args: app.ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.TenantID, f.Status = a.Tenant, toolspec.Status(status)
			if err := checkFilter(f); err != nil {
				return err
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				if after != "" {
					last, err := s.FindCall(cmd.Context(), a.Tenant, after)
					if err != nil {
						return err
					}
					f.After = &last.CallSummary
				}
				calls, err := s.Store.List(cmd.Context(), f)
				if err != nil {
					return err
				}
				nothing := fmt.Sprintf("tenant %s has no such calls", a.Tenant)
				return app.PrintRows(a, calls, nothing, []string{"STARTED", "TOOL", "STATE", "ACTOR", "RUN", "CALL", "INVOCATION"}, func(c client.CallSummary) []string {
					state := cmp.Or(c.Outcome, string(c.Status))
					return []string{app.FormatTime(c.StartedAt), c.ToolID, state, app.QuoteName(c.ActorID), c.RunID, c.ToolCallID, c.InvocationID}
				})
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "running, waiting_approval, waiting_capacity, parked_unknown or settled")
	cmd.Flags().StringVar(&f.Outcome, "outcome", "", "ok or an error code")
	cmd.Flags().StringVar(&f.ToolID, "tool", "", "tool id")
	cmd.Flags().StringVar(&after, "after", "", "`id` of the last call of the previous page: list older calls")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "maximum number of rows, 1–500")
	return cmd
}

// checkFilter refuses values that no call can have. Without it, such a filter would find nothing
// and report no error.
func checkFilter(f client.CallFilter) error {
	switch f.Status {
	case "", toolspec.StatusRunning, toolspec.StatusWaitingApproval, toolspec.StatusWaitingCapacity, toolspec.StatusParkedUnknown, toolspec.StatusSettled:
	default:
		return app.Usage(errors.New("--status is running, waiting_approval, waiting_capacity, parked_unknown or settled"))
	}
	if f.Outcome != "" && f.Outcome != "ok" && !toolspec.Code(f.Outcome).Known() {
		return app.Usage(fmt.Errorf("--outcome is ok or an error code; %q is none", f.Outcome))
	}
	if f.Limit < 1 || f.Limit > 500 {
		return app.Usage(errors.New("--limit is between 1 and 500"))
	}
	return nil
}
