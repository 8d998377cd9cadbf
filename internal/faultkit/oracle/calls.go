package oracle

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

func settled(v *view, out *Verdict) {
	for i := range v.Calls {
		c := &v.Calls[i]
		if !c.Accepted {
			continue
		}
		out.Checked++
		switch {
		case c.Record == nil:
			out.blame(c.ToolCallID, "it was accepted, and there is no record of it")
		case c.Record.Result != nil && c.Workflow.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		case c.Record.Result != nil:
			out.blame(c.ToolCallID, "the record is settled, and the workflow still runs")
		case !c.Undecided:
			out.blame(c.ToolCallID, fmt.Sprintf("the record is still %s, the workflow %s", c.Record.Status, c.Workflow.Status))
		case c.Record.Status != toolspec.StatusWaitingApproval || c.Workflow.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
			out.blame(c.ToolCallID, fmt.Sprintf("it should wait for a person; the record is %s, the workflow %s", c.Record.Status, c.Workflow.Status))
		}
	}
}

func unbroken(v *view, out *Verdict) {
	for i := range v.Calls {
		c := &v.Calls[i]
		if !c.Accepted {
			continue
		}
		out.Checked++
		switch c.Workflow.Status {
		case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		default:
			out.blame(c.ToolCallID, "the workflow is "+c.Workflow.Status.String())
		}
	}
}

func released(v *view, out *Verdict) {
	v.settledRecords(func(c *Call) {
		out.Checked++
		for _, a := range c.Record.Approvals {
			if a.State == contract.RequestOpen {
				out.blame(c.ToolCallID, fmt.Sprintf("settled, and its request %s is still open", a.ApprovalID))
			}
		}
	})
}

// survived ignores calls with an approval request, which may be denied, and calls that a fault
// ended.
func survived(v *view, out *Verdict) {
	v.settledRecords(func(c *Call) {
		if !c.Repeatable || len(c.Record.Approvals) > 0 || v.ended(c) {
			return
		}
		out.Checked++
		result := c.Record.Result
		deadlineMs := c.Record.Plan.Budgets.DeadlineMs
		if result.OK || deadlineMs > 0 && result.EndedAtMs-result.StartedAtMs >= deadlineMs {
			return
		}
		out.blame(c.ToolCallID, fmt.Sprintf("ended with %s after %d attempts and %d ms", result.ErrorCode, result.Attempts, result.EndedAtMs-result.StartedAtMs))
	})
}

func checkWorkerExits(v *view, out *Verdict) {
	for _, f := range v.Faults {
		switch f.Kind {
		case Kill, Term:
			out.Checked++
		case Crash:
			out.Checked++
			out.blame("", fmt.Sprintf("worker %d ended by itself at %s", f.PID, f.From.Format(time.TimeOnly)))
		default: // no worker ended
		}
	}
}

// Bounds of the length of a history: the events of a call without faults, and the events that each
// attempt and each fault can add.
const (
	plainEvents   = 60
	attemptEvents = 40
	faultEvents   = 30
)

func bounded(v *view, out *Verdict) {
	for i := range v.Calls {
		c := &v.Calls[i]
		if c.Workflow.Events == 0 {
			continue
		}
		out.Checked++
		bound := int64(plainEvents)
		if c.Record != nil {
			bound += int64(attemptEvents * c.Record.Attempts)
		}
		for _, f := range v.faultsOf(c) {
			if !f.To.Before(c.Workflow.Started) && (c.Workflow.Ended.IsZero() || !f.From.After(c.Workflow.Ended)) {
				bound += faultEvents
			}
		}
		if c.Workflow.Events > bound {
			out.blame(c.ToolCallID, fmt.Sprintf("%d events; at most %d are explained", c.Workflow.Events, bound))
		}
	}
}

// leastProgress is the percentage of calls that must end ok.
const leastProgress = 60

func progress(v *view, out *Verdict) {
	ok := 0
	for i := range v.Calls {
		c := &v.Calls[i]
		if !c.Accepted {
			continue
		}
		out.Checked++
		if c.Record != nil && c.Record.Result != nil && c.Record.Result.OK {
			ok++
		}
	}
	if out.Checked == 0 {
		out.blame("", "no call was accepted")
	} else if 100*ok < leastProgress*out.Checked {
		out.blame("", fmt.Sprintf("%d of %d calls ended ok", ok, out.Checked))
	}
}
