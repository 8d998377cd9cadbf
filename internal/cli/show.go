package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	temporal "go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func newShow(a *App) *cobra.Command {
	var output bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a call: stages, attempts, approval, result",
		Long:  "Shows a call by its invocation id, workflow id, toolCallId or an approval id.",
		Args:  ExactArgs(1, "an id; `pawl list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withStore(cmd.Context(), func(s *session) error {
				record, err := s.find(cmd.Context(), a.tenant, args[0])
				if err != nil {
					return err
				}
				if output {
					return a.output(cmd.Context(), s, record)
				}
				dropped := s.dropped(cmd.Context(), record)
				if a.JSON {
					return PrintJSON(a.Out, struct {
						showDocument

						UI      string `json:"ui,omitempty"`
						Dropped int    `json:"dropped,omitempty"`
					}{showDocumentOf(record), s.link(record.WorkflowID), dropped})
				}
				a.show(s, record)
				if dropped > 0 {
					fmt.Fprintf(a.Out, "\nwarning: the call dropped %d signals with decisions that cannot count; find out who sends them\n", dropped)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&output, "output", false, "print the value, also where it is stored outside of the result")
	return cmd
}

// showTimeout bounds how long show waits for what only the call itself knows.
const showTimeout = 5 * time.Second

// dropped is how many signals a call that waits for a decision has dropped; 0 where
// Temporal or the call does not answer in showTimeout.
func (s *session) dropped(ctx context.Context, d reads.Detail) int {
	open := func(r reads.Approval) bool { return r.State == contract.RequestOpen }
	if d.Result != nil || !slices.ContainsFunc(d.Approvals, open) {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	server, err := temporal.DialContext(ctx, WithTimeout(s.config.Temporal, showTimeout))
	if err != nil {
		return 0
	}
	defer server.Close()
	state, err := client.New(server, client.Options{DataConverter: s.config.Temporal.DataConverter}).State(ctx, d.WorkflowID)
	if err != nil {
		return 0
	}
	return state.Dropped
}

// find returns a call of the tenant by any of its names.
func (s *session) find(ctx context.Context, tenantID, name string) (reads.Detail, error) {
	if invocationID, _, ok := toolspec.SplitApprovalID(name); ok {
		name = invocationID
	}
	record, err := s.store.Show(ctx, tenantID, name)
	if errors.Is(err, postgres.ErrNotFound) {
		return record, fmt.Errorf("tenant %s has no call %q; `pawl list` shows its calls", tenantID, name)
	}
	return record, err
}

func (a *App) output(ctx context.Context, s *session, record reads.Detail) error {
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

func (a *App) show(s *session, d reads.Detail) {
	w := a.Out
	fmt.Fprintf(w, "%s  %s\n", d.ToolID, d.Status)
	fmt.Fprintf(w, "  workflow    %s\n  invocation  %s\n  asked by    %s\n  started     %s\n  lane        %s\n",
		d.WorkflowID, d.InvocationID, name(d.ActorID), clockTime(d.StartedAt), d.Plan.Lane)
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
func (a *App) showHistory(title string, values []json.RawMessage) {
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
func (a *App) showCapacity(d reads.Detail) {
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
		rows = append(rows, []string{c.Kind, state, OneLine(c.Key, 200)})
	}
	fmt.Fprintln(a.Out, "\ncapacity")
	PrintTable(a.Out, "  ", []string{"KIND", "STATE", "LIMIT"}, rows)
}

func (a *App) showStages(d reads.Detail) {
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
		PrintTable(a.Out, "  ", []string{"STAGE", "ATTEMPT", "OUTCOME", "TOOK", "BY"}, rows)
	}
	if len(d.AttemptList) > 0 {
		var rows [][]string
		for _, t := range d.AttemptList {
			rows = append(rows, []string{fmt.Sprint(t.Attempt), string(t.Lane), t.Outcome, string(t.Code), micros(t.DurationUs), clockTime(t.At)})
		}
		fmt.Fprintln(a.Out, "\nattempts")
		PrintTable(a.Out, "  ", []string{"ATTEMPT", "LANE", "OUTCOME", "CODE", "TOOK", "AT"}, rows)
	}
}

func (a *App) showApprovals(d reads.Detail) {
	for _, r := range d.Approvals {
		kind := "approval"
		if r.Parked != "" {
			kind = "outcome unknown (" + r.Parked + "),"
		}
		fmt.Fprintf(a.Out, "\n%s %s: %s\n  digest      %s\n  who         %s\n  expires     %s\n",
			kind, r.ApprovalID, r.State, r.Digest, OneLine(r.Approvers, 200), clockTime(r.ExpiresAt))
		a.escalations(r, 10)
		for _, dec := range r.Decisions {
			counted := "counted"
			if !dec.Counted {
				counted = "did not count: " + dec.WhyNot
			}
			fmt.Fprintf(a.Out, "  %s by %s at %s, %s%s\n", dec.Decision, name(dec.Approver), clockTime(dec.At), OneLine(counted, 200),
				prefixed(" — ", OneLine(dec.Reason, 200)))
		}
	}
}

// escalations says to whom a request went while nobody decided, and to whom it still
// goes, under labels of a width.
func (a *App) escalations(r reads.Approval, width int) {
	for i, e := range r.Escalations {
		label, since := "went to", "since"
		if i >= r.Escalated {
			if r.State != contract.RequestOpen {
				return
			}
			label, since = "goes to", "at"
		}
		fmt.Fprintf(a.Out, "  %-*s  %s, %s %s\n", width, label, OneLine(e.Approvers, 200), since, clockTime(time.UnixMilli(e.AtMs)))
	}
}

func (a *App) showResult(d reads.Detail) {
	r := d.Result
	switch {
	case r == nil:
		fmt.Fprintln(a.Out, "\nno result yet")
	case !r.OK:
		fmt.Fprintf(a.Out, "\nresult: %s — %s\n", r.ErrorCode, OneLine(r.SafeMessage, 500))
		if r.Details != nil && r.Details.Cause != "" {
			fmt.Fprintf(a.Out, "  cause: %s\n", OneLine(r.Details.Cause, 200))
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
