package policies

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/policy"
	"github.com/pawl-run/pawl/policy/review"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
)

// mostBacktest is the maximum number of calls of a tenant that a backtest reads.
const mostBacktest = 1_000_000

// backtest is the result of a backtest: the verdicts about recorded calls that the candidate, a policy file, would
// change.
type backtest struct {
	review.Backtest
	// masked counts the calls with masked arguments.
	masked int
	// argsUnknown counts the calls that ended before their arguments were known.
	argsUnknown int
	// unreadable counts the calls that were judged by a version that cannot be read.
	unreadable int
	// tools are the tools that workers have published now. Their tags are used, because the record of a call has none.
	tools map[string]toolspec.Spec
	// cut says that --limit has left out some calls.
	cut bool
}

func newPolicyBacktest(a *app.App) *cobra.Command {
	var since string
	var most int
	cmd := &cobra.Command{
		Use: "backtest FILE", Short: "Judge the recorded calls of the last days by a policy file, and show which verdicts would change",
		Long: "Judge settled calls by a policy file and by the version that judged them, from the data in the record, and show\n" +
			"the calls that the file would newly deny, allow or ask a person about. With --tenant, judge only that tenant's calls.\n\n" +
			"The record is redacted: a rule that reads a masked argument sees " + toolspec.Mask + ". The record has neither the toolIds\n" +
			"of a run nor the tags of tools: backtest uses the tags of the published tools. Both policies see the same data, so\n" +
			"each difference comes from the policy.",
		Args: app.ExactArgs(1, "a policy file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			candidate, err := readPolicy(args[0])
			if err != nil {
				return err
			}
			ago, err := app.ParseTimespan("--since", since)
			if err != nil {
				return err
			}
			if most < 1 || most > mostBacktest {
				return app.Usage(fmt.Errorf("--limit is between 1 and %d", mostBacktest))
			}
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				if err := checkFits(cmd.Context(), s.Store, candidate); err != nil {
					return err
				}
				current, err := s.ActivePolicy(cmd.Context())
				if err != nil {
					return err
				}
				tenants := review.Tenants(current, candidate)
				if cmd.Flags().Changed("tenant") {
					tenants = []string{a.Tenant}
				}
				b, err := runBacktest(cmd.Context(), s, candidate, tenants, time.Now().Add(-ago), most)
				if err != nil {
					return err
				}
				return printBacktest(a, b, since)
			})
		},
	}
	cmd.Flags().StringVar(&since, "since", "30d", "age of the oldest calls, such as 12h or 30d")
	cmd.Flags().IntVar(&most, "limit", 100_000, "maximum number of calls per tenant, newest first")
	return cmd
}

func runBacktest(ctx context.Context, s *app.Session, candidate *policy.Policy, tenants []string, since time.Time, limit int) (*backtest, error) {
	specs, err := s.Store.Specs(ctx)
	if err != nil {
		return nil, err
	}
	b := &backtest{tools: byName(specs)}
	for _, tenant := range tenants {
		remaining := limit
		var failed error
		err := s.Store.EachDecided(ctx, tenant, since, func(c reads.DecidedCall) bool {
			if remaining == 0 {
				b.cut = true
				return false
			}
			remaining--
			failed = replayCall(ctx, s, b, c, candidate)
			return failed == nil
		})
		if err := errors.Join(err, failed); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// replayCall judges a recorded call by the version that judged it before and by candidate, and adds both verdicts to b.
func replayCall(ctx context.Context, s *app.Session, b *backtest, c reads.DecidedCall, candidate *policy.Policy) error {
	judgedBy, err := s.Store.Policy(ctx, c.PolicyDigest)
	switch {
	case err != nil && ctx.Err() == nil && !errs.IsTransient(err):
		b.unreadable++
		return nil
	case err != nil:
		return err
	case c.SafeArgs == nil:
		b.argsUnknown++
	case bytes.Contains(c.SafeArgs, []byte(strconv.Quote(toolspec.Mask))):
		b.masked++
	}
	facts := c.Facts()
	if spec, known := b.tools[c.ToolID]; known {
		facts.Tags, facts.TagsUnknown = spec.Tags, false
		if c.SafeArgs == nil { // the call ended before its arguments were checked
			facts.NoSchema = spec.NoSchema
		}
	}
	b.Add(c.InvocationID, facts, judgedBy, candidate)
	return nil
}

// moveView is a review.Moved in the form that --json prints.
type moveView struct {
	Tenant  string `json:"tenant"`
	Tool    string `json:"tool"`
	Before  string `json:"before"`
	After   string `json:"after"`
	Rule    string `json:"rule"`
	Calls   int    `json:"calls"`
	Example string `json:"example"`
}

func printBacktest(a *app.App, b *backtest, since string) error {
	var moves []moveView
	for _, m := range b.Moves() {
		moves = append(moves, moveView{
			Tenant: m.TenantID, Tool: m.ToolID, Before: verdict(policy.Decision{Verb: m.Before}),
			After: verdict(policy.Decision{Verb: m.After, Undetermined: m.Undetermined}), Rule: m.Rule, Calls: m.Calls, Example: m.Example,
		})
	}
	if a.JSON {
		return app.PrintJSON(a.Out, map[string]any{
			"calls": b.Calls, "unchanged": b.Unchanged, "changes": app.NonNil(moves), "maskedArguments": b.masked, "unknownArguments": b.argsUnknown,
			"unreadableVersions": b.unreadable, "cut": b.cut,
		})
	}
	fmt.Fprintf(a.Out, "%d calls of the last %s, %d judged as before\n", b.Calls, since, b.Unchanged)
	if len(moves) > 0 {
		var rows [][]string
		for _, m := range moves {
			rows = append(rows, []string{strconv.Itoa(m.Calls), m.Tenant, m.Tool, m.Before, m.After, m.Rule, m.Example})
		}
		app.PrintTable(a.Out, "  ", []string{"CALLS", "TENANT", "TOOL", "BEFORE", "AFTER", "BY", "SUCH AS"}, rows)
	}
	for _, remark := range []struct {
		n    int
		text string
	}{
		{b.masked, "with masked arguments: rules that look into those may judge the real ones otherwise"},
		{b.argsUnknown, "without arguments, for they ended before these were known: judged without them"},
		{b.unreadable, "more are left out: the version that judged them cannot be read"},
	} {
		if remark.n > 0 {
			fmt.Fprintf(a.Out, "%d %s\n", remark.n, remark.text)
		}
	}
	if b.cut {
		fmt.Fprintln(a.Out, "there were more calls: raise --limit to judge them")
	}
	return nil
}
