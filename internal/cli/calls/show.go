package calls

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
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func newShow(a *app.App) *cobra.Command {
	var output, run bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show a call: stages, attempts, approval, result",
		Long:  "Show a call. ID is its invocation id, its workflow id, its toolCallId or the id of an approval request.",
		Args:  app.ExactArgs(1, "an id; `pawl list` shows them"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return app.WithStore(cmd.Context(), func(s *app.Session) error {
				if run {
					return showRun(cmd.Context(), a, s, args[0])
				}
				record, err := s.FindCall(cmd.Context(), a.Tenant, args[0])
				if err != nil {
					return err
				}
				if output {
					return printOutput(cmd.Context(), a, s, record)
				}
				dropped := countDropped(cmd.Context(), s, record)
				if a.JSON {
					return app.PrintJSON(a.Out, struct {
						client.CallRecord

						UI      string `json:"ui,omitempty"`
						Dropped int    `json:"dropped,omitempty"`
					}{record, s.Link(record.WorkflowID), dropped})
				}
				printCall(a, s, record)
				if dropped > 0 {
					fmt.Fprintf(a.Out, "\nwarning: the call dropped %d signals with decisions that cannot count; find out who sends them\n", dropped)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&output, "output", false, "print only the value, also if it is stored outside of the result")
	cmd.Flags().BoolVar(&run, "run", false, "ID is a run: show the totals of its calls")
	cmd.MarkFlagsMutuallyExclusive("run", "output")
	return cmd
}

// showTimeout is the maximum time that show waits for an answer of the call's workflow.
const showTimeout = 5 * time.Second

// countDropped asks a call that waits for a decision how many signals it has dropped. It returns
// 0 if the call waits for no decision, or if Temporal or the call does not answer within
// showTimeout.
func countDropped(ctx context.Context, s *app.Session, d reads.Detail) int {
	open := func(r reads.Approval) bool { return r.State == contract.RequestOpen }
	if d.Result != nil || !slices.ContainsFunc(d.Approvals, open) {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, showTimeout)
	defer cancel()
	server, err := temporal.DialContext(ctx, app.WithTimeout(s.Config.Temporal, showTimeout))
	if err != nil {
		return 0
	}
	defer server.Close()
	state, err := client.New(server, client.Options{DataConverter: s.Config.Temporal.DataConverter}).State(ctx, d.WorkflowID)
	if err != nil {
		return 0
	}
	return state.Dropped
}

func printOutput(ctx context.Context, a *app.App, s *app.Session, record reads.Detail) error {
	switch r := record.Result; {
	case r == nil:
		return errors.New("the call is not settled yet")
	case !r.OK:
		return fmt.Errorf("the call has no value: %s", r.ErrorCode)
	case !r.Truncated && (r.OutputRef == "" || len(r.Value) > 0):
		fmt.Fprintln(a.Out, app.FormatJSON(r.Value, ""))
		return nil
	default:
		value, err := s.Store.Output(ctx, a.Tenant, r.OutputRef)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, app.FormatJSON(value, ""))
		return nil
	}
}

func printCall(a *app.App, s *app.Session, d reads.Detail) {
	w := a.Out
	fmt.Fprintf(w, "%s  %s\n", d.ToolID, d.Status)
	fmt.Fprintf(w, "  workflow    %s\n  invocation  %s\n  asked by    %s\n  started     %s\n  lane        %s\n",
		d.WorkflowID, d.InvocationID, app.QuoteName(d.ActorID), app.FormatTime(d.StartedAt), d.Plan.Lane)
	if d.PolicyDigest != "" {
		fmt.Fprintf(w, "  policy      %s\n", d.PolicyDigest)
	}
	if link := s.Link(d.WorkflowID); link != "" {
		fmt.Fprintf(w, "  look        %s\n", link)
	}
	if len(d.SafeArgs) > 0 {
		fmt.Fprintf(w, "\narguments (redacted)\n  %s\n", app.FormatJSON(d.SafeArgs, "  "))
	}
	showHistory(a, "arguments over time (redacted)", d.InputHistory)
	showHistory(a, "output over time (redacted)", d.OutputHistory)
	showCapacity(a, d)
	showHydrations(a, d)
	showStages(a, d)
	showApprovals(a, d)
	showOutputs(a, d)
	showResult(a, d)
}

// showOutputs prints the stored outputs that are being written or can be read.
func showOutputs(a *app.App, d reads.Detail) {
	var rows [][]string
	for _, o := range d.Outputs {
		if o.State != "expired" {
			rows = append(rows, []string{o.State, fmt.Sprint(o.Bytes), app.OneLine(o.MediaType, 60), o.Ref})
		}
	}
	if len(rows) > 0 {
		fmt.Fprintln(a.Out, "\noutputs")
		app.PrintTable(a.Out, "  ", []string{"STATE", "BYTES", "MEDIA TYPE", "OUTPUT"}, rows)
	}
}

// showHistory prints values under a title, the oldest value first. A value is null if redaction has removed all of it.
func showHistory(a *app.App, title string, values []json.RawMessage) {
	if len(values) == 0 {
		return
	}
	fmt.Fprintf(a.Out, "\n%s\n", title)
	for i, v := range values {
		fmt.Fprintf(a.Out, "  %d. %s\n", i+1, app.FormatJSON(v, "     "))
	}
}

// showCapacity prints the slots, the tokens of quotas and the leases of connections that an open call holds, waits for or has lost.
func showCapacity(a *app.App, d reads.Detail) {
	if len(d.Capacity) == 0 {
		return
	}
	var rows [][]string
	for _, c := range d.Capacity {
		state := c.State
		if c.State == "waiting" && c.Kind == "quota" {
			state += " until " + app.FormatTime(c.At)
		} else if c.State == "waiting" {
			state += fmt.Sprintf(" behind %d", c.Ahead)
		}
		rows = append(rows, []string{c.Kind, state, app.OneLine(c.Key, 200)})
	}
	fmt.Fprintln(a.Out, "\ncapacity")
	app.PrintTable(a.Out, "  ", []string{"KIND", "STATE", "LIMIT"}, rows)
}

func showStages(a *app.App, d reads.Detail) {
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
		app.PrintTable(a.Out, "  ", []string{"STAGE", "ATTEMPT", "OUTCOME", "TOOK", "BY"}, rows)
	}
	if len(d.AttemptList) > 0 {
		var rows [][]string
		for _, t := range d.AttemptList {
			rows = append(rows, []string{fmt.Sprint(t.Attempt), string(t.Lane), t.Outcome, string(t.Code), micros(t.DurationUs), app.FormatTime(t.At)})
		}
		fmt.Fprintln(a.Out, "\nattempts")
		app.PrintTable(a.Out, "  ", []string{"ATTEMPT", "LANE", "OUTCOME", "CODE", "TOOK", "AT"}, rows)
	}
}

func showApprovals(a *app.App, d reads.Detail) {
	for _, r := range d.Approvals {
		kind := "approval"
		if r.Parked != "" {
			kind = "outcome unknown (" + r.Parked + "),"
		}
		fmt.Fprintf(a.Out, "\n%s %s: %s\n  digest      %s\n  who         %s\n  expires     %s\n",
			kind, r.ApprovalID, r.State, r.Digest, app.OneLine(r.Approvers, 200), app.FormatTime(r.ExpiresAt))
		a.PrintPreview(r, 10, 0)
		a.PrintEscalations(r, 10)
		a.PrintMissing(r, 10)
		for _, dec := range r.Decisions {
			counted := "counted"
			if !dec.Counted {
				counted = "did not count: " + dec.WhyNot
			}
			fmt.Fprintf(a.Out, "  %s by %s at %s, %s%s\n", dec.Decision, app.QuoteName(dec.Approver), app.FormatTime(dec.At), app.OneLine(counted, 200),
				prefixed(" — ", app.OneLine(dec.Reason, 200)))
		}
	}
}

func showResult(a *app.App, d reads.Detail) {
	r := d.Result
	switch {
	case r == nil:
		fmt.Fprintln(a.Out, "\nno result yet")
	case !r.OK:
		fmt.Fprintf(a.Out, "\nresult: %s — %s\n", r.ErrorCode, app.OneLine(r.SafeMessage, 500))
		if r.Details != nil && r.Details.Cause != "" {
			fmt.Fprintf(a.Out, "  cause: %s\n", app.OneLine(r.Details.Cause, 200))
		}
		if r.RetryAfterMs > 0 && d.SettledAt != nil {
			fmt.Fprintf(a.Out, "  again after %s\n", app.FormatTime(d.SettledAt.Add(time.Duration(r.RetryAfterMs)*time.Millisecond)))
		}
	case r.OutputRef != "" && len(r.Value) == 0:
		fmt.Fprintf(a.Out, "\nresult: ok (%s), stored as %s; --output prints it\n", r.Source, r.OutputRef)
	default:
		fmt.Fprintf(a.Out, "\nresult: ok (%s)\n  %s\n  value       %s\n", r.Source, app.FormatJSON(r.Value, "  "), describeValue(*r))
		if r.OutputRef != "" {
			fmt.Fprintf(a.Out, "  output      %s\n", r.OutputRef)
		}
	}
}

// describeValue describes the value of a result: its kind, its size, and whether it is truncated.
func describeValue(r toolspec.Result) string {
	text := r.Kind.String()
	if r.Bytes > 0 {
		text += fmt.Sprintf(", %d bytes", r.Bytes)
	}
	if r.Truncated {
		text += fmt.Sprintf(", truncated; `pawl show %s --output` prints the whole", r.InvocationID)
	}
	return text
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

func micros(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(10 * time.Microsecond).String()
}
