package calls

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/client/turn"
	"github.com/pawl-run/pawl/internal/cli/app"
	"github.com/pawl-run/pawl/toolspec"
)

// printOutcomes prints the state of each call for a person.
func printOutcomes(a *app.App, s *app.Session, outcomes []turn.Outcome) {
	for _, o := range outcomes {
		fmt.Fprintf(a.Err, "%d  %s  %s", o.Call.Index, app.OneLine(o.Call.Name, 64), outcomeStatus(o))
		if o.WorkflowID != "" {
			fmt.Fprintf(a.Err, "  %s  %s", o.WorkflowID, s.Link(o.WorkflowID))
		}
		if !o.Pending && o.Result.RetryAfterMs > 0 {
			fmt.Fprintf(a.Err, "  again in %s", time.Duration(o.Result.RetryAfterMs)*time.Millisecond)
		}
		fmt.Fprintln(a.Err)
	}
}

func outcomeStatus(o turn.Outcome) string {
	switch {
	case o.Err != nil:
		return "no answer"
	case o.Pending && !o.Started:
		return "not started"
	case o.Pending:
		return "waits"
	case o.Result.OK:
		return "ok"
	}
	return string(o.Result.ErrorCode)
}

// shownOutcome is an outcome in the form that --json prints.
type shownOutcome struct {
	Index        int              `json:"index"`
	Name         string           `json:"name"`
	ToolID       string           `json:"toolId"`
	ToolCallID   string           `json:"toolCallId,omitempty"`
	InvocationID string           `json:"invocationId,omitempty"`
	WorkflowID   string           `json:"workflowId,omitempty"`
	Status       string           `json:"status"`
	Result       *toolspec.Result `json:"result,omitempty"`
}

type shown struct {
	Finish   string            `json:"finish"`
	Text     string            `json:"text,omitempty"`
	Calls    []shownOutcome    `json:"calls"`
	Messages []json.RawMessage `json:"messages,omitempty"`
}

func shownReply(r turn.Reply) shown {
	all := shown{Finish: string(r.Response.Finish), Text: r.Response.Text, Calls: []shownOutcome{}, Messages: r.Messages}
	for _, o := range r.Outcomes {
		one := shownOutcome{
			Index: o.Call.Index, Name: o.Call.Name, ToolID: o.ToolID, ToolCallID: o.ToolCallID,
			InvocationID: o.InvocationID, WorkflowID: o.WorkflowID, Status: outcomeStatus(o),
		}
		if !o.Pending {
			one.Result = &o.Result
		}
		all.Calls = append(all.Calls, one)
	}
	return all
}
