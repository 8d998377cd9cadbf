package approvals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// decideTimeout is the maximum time that a decision waits for a worker to confirm it.
const decideTimeout = 15 * time.Second

// anApproval names the arguments of approve and deny in a usage error.
const anApproval = "an approval id; `pawl approvals` lists them"

func newApprove(a *app.App) *cobra.Command {
	var m rememberFlags
	cmd := newDecide(a, &cobra.Command{Use: "approve APPROVAL...", Short: "Approve open approval requests, each with its own decision", Args: app.SomeArgs(anApproval)}, func(args []string, d *toolspec.Decision) ([]string, error) {
		d.Decision = toolspec.Approve
		return args, m.ask(d)
	})
	m.flags(cmd)
	return cmd
}

func newDeny(a *app.App) *cobra.Command {
	return newDecide(a, &cobra.Command{Use: "deny APPROVAL...", Short: "Deny open approval requests, each with its own decision", Args: app.SomeArgs(anApproval)}, func(args []string, d *toolspec.Decision) ([]string, error) {
		d.Decision = toolspec.Deny
		return args, nil
	})
}

func newResolve(a *app.App) *cobra.Command {
	return newDecide(a, &cobra.Command{
		Use: "resolve APPROVAL retry|settle_ok|settle_failed", Short: "Decide on a call whose outcome is unknown",
		Long: "Decide on a call whose tool gave no answer, so that the outcome is unknown. Find out first whether the call took effect.\n\n" +
			"  retry          run the tool again; if the lost attempt took effect, there are two effects\n" +
			"  settle_ok      the call took effect: it ends ok, without a value\n" +
			"  settle_failed  the call did not take effect: it ends as failed",
		Args: app.ExactArgs(2, "an approval id and one of retry, settle_ok, settle_failed; `pawl approvals` lists what waits"),
	}, func(args []string, d *toolspec.Decision) ([]string, error) {
		d.Decision = toolspec.Verb(args[1])
		if _, fits := contract.Becomes(d.Decision, true); !fits {
			return nil, app.Usage(fmt.Errorf("%q is none of retry, settle_ok and settle_failed", args[1]))
		}
		return args[:1], nil
	})
}

// newDecide completes cmd so that it sends a decision. say fills in the decision from the
// arguments and returns the ids of the requests to decide on.
func newDecide(a *app.App, cmd *cobra.Command, say func(args []string, d *toolspec.Decision) (ids []string, err error)) *cobra.Command {
	var approver, reason string
	p := proving{in: a.In}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		said := toolspec.Decision{ApprovalID: args[0], Approver: approver, Reason: reason}
		ids, err := say(args, &said)
		if err != nil {
			return err
		}
		if err := p.check(len(ids)); err != nil {
			return err
		}
		if len(ids) > 1 {
			return decideEach(a, cmd, ids, p, said)
		}
		if p.printNonce {
			return printNonce(a, cmd, p, said)
		}
		s, err := app.Connect(cmd.Context(), app.Servers{Temporal: true, Database: true})
		if err != nil {
			return err
		}
		defer s.Close()
		answer, err := decide(cmd.Context(), s, a.Tenant, p, said)
		if err != nil {
			return err
		}
		return printAnswer(a, said.Decision, answer)
	}
	app.IdentityVar(cmd.Flags(), &approver, "as", app.DefaultApprover(), "your identity as the approver (PAWL_APPROVER)")
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, for the record")
	p.flags(cmd)
	return cmd
}

// decide proves and sends a decision on one request.
func decide(ctx context.Context, s *app.Session, tenantID string, p proving, said toolspec.Decision) (toolspec.Answer, error) {
	workflowID, decision, err := proveDecision(ctx, s, tenantID, p, said)
	if err != nil {
		return toolspec.Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, decideTimeout)
	defer cancel()
	answer, err := s.Client().Decide(ctx, workflowID, decision)
	if errors.Is(err, client.ErrSettled) {
		err = fmt.Errorf("too late: %w; see `pawl show %s`", err, said.ApprovalID)
	}
	return answer, err
}

func printAnswer(a *app.App, verb toolspec.Verb, answer toolspec.Answer) error {
	if a.JSON {
		if err := app.PrintJSON(a.Out, answer); err != nil {
			return err
		}
	}
	if err := Refusal(answer); err != nil {
		return err
	}
	if !a.JSON {
		fmt.Fprintln(a.Out, Counted(verb, answer))
	}
	return nil
}

// Counted says that a decision counts, and why or for what.
func Counted(verb toolspec.Verb, answer toolspec.Answer) string {
	return strings.TrimSpace(string(verb) + " counted " + app.OneLine(answer.Reason, 200))
}
