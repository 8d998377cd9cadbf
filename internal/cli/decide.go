package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
)

// decideTimeout is how long a decision waits for a worker to confirm it.
const decideTimeout = 15 * time.Second

func newApprove(a *app) *cobra.Command {
	return newDecide(a, "approve APPROVAL", "Approve a waiting call", toolspec.Approve)
}

func newDeny(a *app) *cobra.Command {
	return newDecide(a, "deny APPROVAL", "Deny a waiting call", toolspec.Deny)
}

func newDecide(a *app, use, short string, verb toolspec.Verb) *cobra.Command {
	var approver, reason string
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: exactly(1, "an approval id; `pawl approvals` lists them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := connect(cmd.Context(), true, true)
			if err != nil {
				return err
			}
			defer s.close()
			workflowID, err := s.workflowOf(cmd.Context(), a.tenant, args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), decideTimeout)
			defer cancel()
			answer, err := s.client().Decide(ctx, workflowID, toolspec.Decision{
				ApprovalID: args[0], Decision: verb, Approver: approver, Reason: reason,
			})
			if errors.Is(err, client.ErrSettled) {
				return fmt.Errorf("too late: %w; see `pawl show %s`", err, args[0])
			}
			if err != nil {
				return err
			}
			return a.answered(verb, answer)
		},
	}
	cmd.Flags().StringVar(&approver, "as", defaultApprover(), "who decides (PAWL_APPROVER)")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the record")
	return cmd
}

func (a *app) answered(verb toolspec.Verb, answer toolspec.Answer) error {
	if a.json {
		if err := printJSON(a.Out, answer); err != nil {
			return err
		}
	}
	if !answer.Counted {
		return fmt.Errorf("the decision did not count: %s", answer.Reason)
	}
	if !a.json {
		fmt.Fprintf(a.Out, "%s counted %s\n", verb, oneLine(answer.Reason, 200))
	}
	return nil
}

// workflowOf finds the call of an approval request. Of another tenant there is
// none.
func (s *session) workflowOf(ctx context.Context, tenantID, approvalID string) (string, error) {
	if _, _, ok := toolspec.SplitApprovalID(approvalID); !ok {
		return "", usageError{errors.New("an approval id looks like <invocationId>.<n>; `pawl approvals` lists them")}
	}
	record, err := s.find(ctx, tenantID, approvalID)
	if err != nil {
		return "", err
	}
	return record.WorkflowID, nil
}
