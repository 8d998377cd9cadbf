package cli

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
)

func newList(a *App) *cobra.Command {
	f := reads.Filter{}
	var status string
	cmd := &cobra.Command{
		Use: "list", Short: "List the tenant's calls, the newest first", Args: ExactArgs(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.TenantID, f.Status = a.tenant, toolspec.Status(status)
			if err := checkFilter(f); err != nil {
				return err
			}
			return withStore(cmd.Context(), func(s *session) error {
				calls, err := s.store.List(cmd.Context(), f)
				if err != nil {
					return err
				}
				nothing := fmt.Sprintf("tenant %s has no such calls", a.tenant)
				shown := documents(calls, func(c reads.Call) callDocument { return callDocument(c) })
				return tabled(a, shown, nothing, []string{"STARTED", "TOOL", "STATE", "ACTOR", "RUN", "CALL", "INVOCATION"}, func(c callDocument) []string {
					state := cmp.Or(c.Outcome, string(c.Status))
					return []string{clockTime(c.StartedAt), c.ToolID, state, name(c.ActorID), c.RunID, c.ToolCallID, c.InvocationID}
				})
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "running, waiting_approval, waiting_capacity, parked_unknown or settled")
	cmd.Flags().StringVar(&f.Outcome, "outcome", "", "ok or an error code")
	cmd.Flags().StringVar(&f.ToolID, "tool", "", "tool id")
	cmd.Flags().IntVar(&f.Limit, "limit", 50, "how many, 1–500")
	return cmd
}

// checkFilter refuses what no call can be, rather than find nothing.
func checkFilter(f reads.Filter) error {
	switch f.Status {
	case "", toolspec.StatusRunning, toolspec.StatusWaitingApproval, toolspec.StatusWaitingCapacity, toolspec.StatusParkedUnknown, toolspec.StatusSettled:
	default:
		return usageError{errors.New("--status is running, waiting_approval, waiting_capacity, parked_unknown or settled")}
	}
	if f.Outcome != "" && f.Outcome != "ok" && !toolspec.Code(f.Outcome).Known() {
		return usageError{fmt.Errorf("--outcome is ok or an error code; %q is none", f.Outcome)}
	}
	if f.Limit < 1 || f.Limit > 500 {
		return usageError{errors.New("--limit is between 1 and 500")}
	}
	return nil
}

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
				return listing(a, documents(requests, approvalDocumentOf), "nothing waits", func([]approvalDocument) {
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
