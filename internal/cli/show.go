package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows"
)

func newShow(a *app) *cobra.Command {
	var output bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a call: stages, attempts, approval, result",
		Long:  "Shows a call by its invocation id, workflow id, toolCallId or an approval id.",
		Args:  exactly(1, "an id; `pawl list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				record, err := s.find(cmd.Context(), a.tenant, args[0])
				if err != nil {
					return err
				}
				if output {
					return a.output(cmd.Context(), s, record)
				}
				if a.json {
					return printJSON(a.Out, struct {
						postgres.Detail
						UI string `json:"ui,omitempty"`
					}{record, s.link(record.WorkflowID)})
				}
				a.show(s, record)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&output, "output", false, "print the value, also where it is stored outside of the result")
	return cmd
}

// find returns a call of the tenant by any of its names.
func (s *session) find(ctx context.Context, tenantID, name string) (postgres.Detail, error) {
	if invocationID, _, ok := toolspec.SplitApprovalID(name); ok {
		name = invocationID
	}
	record, err := s.store.Show(ctx, tenantID, name)
	if errors.Is(err, postgres.ErrNotFound) {
		return record, fmt.Errorf("tenant %s has no call %q; `pawl list` shows its calls", tenantID, name)
	}
	return record, err
}

func (a *app) output(ctx context.Context, s *session, record postgres.Detail) error {
	switch r := record.Result; {
	case r == nil:
		return errors.New("the call is not settled yet")
	case !r.OK:
		return fmt.Errorf("the call has no value: %s", r.ErrorCode)
	case r.OutputRef == "":
		fmt.Fprintln(a.Out, indented(r.Value, ""))
		return nil
	default:
		value, err := s.store.Output(ctx, a.tenant, r.OutputRef)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, indented(value, ""))
		return nil
	}
}

func (a *app) show(s *session, d postgres.Detail) {
	w := a.Out
	fmt.Fprintf(w, "%s  %s\n", d.ToolID, d.Status)
	fmt.Fprintf(w, "  workflow    %s\n  invocation  %s\n  asked by    %s\n  started     %s\n  lane        %s\n",
		d.WorkflowID, d.InvocationID, oneLine(d.ActorID, 100), clockTime(d.StartedAt), d.Plan.Lane)
	if d.PolicyDigest != "" {
		fmt.Fprintf(w, "  policy      %s\n", d.PolicyDigest)
	}
	if link := s.link(d.WorkflowID); link != "" {
		fmt.Fprintf(w, "  look        %s\n", link)
	}
	if len(d.SafeArgs) > 0 {
		fmt.Fprintf(w, "\narguments (redacted)\n  %s\n", indented(d.SafeArgs, "  "))
	}
	a.showHistory("arguments over time (redacted)", d.InputHistory)
	a.showHistory("output over time (redacted)", d.OutputHistory)
	a.showCapacity(d)
	a.showHydrations(d)
	a.showStages(d)
	a.showApprovals(d)
	a.showResult(d)
}

// showHistory prints values in the order they had; null is one of which nothing
// may be shown.
func (a *app) showHistory(title string, values []json.RawMessage) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(a.Out, "\n%s\n", title)
	for i, v := range values {
		fmt.Fprintf(a.Out, "  %d. %s\n", i+1, indented(v, "     "))
	}
}

// showCapacity says what an open call holds of limited capacity, and what it
// waits for.
func (a *app) showCapacity(d postgres.Detail) {
	if len(d.Capacity) == 0 {
		return
	}
	var rows [][]string
	for _, c := range d.Capacity {
		state := c.State
		if c.State == "waiting" && c.Kind == "quota" {
			state += " until " + clockTime(c.At)
		} else if c.State == "waiting" {
			state += fmt.Sprintf(" behind %d", c.Ahead)
		}
		rows = append(rows, []string{c.Kind, state, oneLine(c.Key, 200)})
	}
	fmt.Fprintln(a.Out, "\ncapacity")
	table(a.Out, "  ", []string{"KIND", "STATE", "LIMIT"}, rows)
}

func (a *app) showStages(d postgres.Detail) {
	if len(d.Stages) > 0 {
		var rows [][]string
		for _, st := range d.Stages {
			n := ""
			if st.Attempt > 0 {
				n = fmt.Sprint(st.Attempt)
			}
			by := st.ByHook
			if st.Rule != "" {
				by = join(by, st.Rule)
			}
			rows = append(rows, []string{st.Stage, n, st.Outcome, micros(st.DurationUs), by})
		}
		fmt.Fprintln(a.Out, "\nstages")
		table(a.Out, "  ", []string{"STAGE", "ATTEMPT", "OUTCOME", "TOOK", "BY"}, rows)
	}
	if len(d.AttemptList) > 0 {
		var rows [][]string
		for _, t := range d.AttemptList {
			rows = append(rows, []string{fmt.Sprint(t.Attempt), string(t.Lane), t.Outcome, string(t.Code), micros(t.DurationUs), clockTime(t.At)})
		}
		fmt.Fprintln(a.Out, "\nattempts")
		table(a.Out, "  ", []string{"ATTEMPT", "LANE", "OUTCOME", "CODE", "TOOK", "AT"}, rows)
	}
}

func (a *app) showApprovals(d postgres.Detail) {
	for _, r := range d.Approvals {
		kind := "approval"
		if r.Parked != "" {
			kind = "outcome unknown (" + r.Parked + "),"
		}
		fmt.Fprintf(a.Out, "\n%s %s: %s\n  digest      %s\n  who         %s\n  expires     %s\n",
			kind, r.ApprovalID, r.State, r.Digest, oneLine(r.Approvers, 200), clockTime(r.ExpiresAt))
		a.escalations(r, 10)
		for _, dec := range r.Decisions {
			counted := "counted"
			if !dec.Counted {
				counted = "did not count: " + dec.WhyNot
			}
			fmt.Fprintf(a.Out, "  %s by %s at %s, %s%s\n", dec.Decision, oneLine(dec.Approver, 100), clockTime(dec.At), oneLine(counted, 200),
				prefixed(" — ", oneLine(dec.Reason, 200)))
		}
	}
}

// escalations says to whom a request went while nobody decided, and to whom it still
// goes, under labels of a width.
func (a *app) escalations(r postgres.Approval, width int) {
	for i, e := range r.Escalations {
		label, since := "went to", "since"
		if i >= r.Escalated {
			if r.State != workflows.RequestOpen {
				return
			}
			label, since = "goes to", "at"
		}
		fmt.Fprintf(a.Out, "  %-*s  %s, %s %s\n", width, label, oneLine(e.Approvers, 200), since, clockTime(time.UnixMilli(e.AtMs)))
	}
}

func (a *app) showResult(d postgres.Detail) {
	r := d.Result
	switch {
	case r == nil:
		fmt.Fprintln(a.Out, "\nno result yet")
	case !r.OK:
		fmt.Fprintf(a.Out, "\nresult: %s — %s\n", r.ErrorCode, oneLine(r.SafeMessage, 500))
		if r.Details != nil && r.Details.Cause != "" {
			fmt.Fprintf(a.Out, "  cause: %s\n", oneLine(r.Details.Cause, 200))
		}
	case r.OutputRef != "":
		fmt.Fprintf(a.Out, "\nresult: ok (%s), stored as %s; --output prints it\n", r.Source, r.OutputRef)
	default:
		fmt.Fprintf(a.Out, "\nresult: ok (%s)\n  %s\n", r.Source, indented(r.Value, "  "))
	}
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
