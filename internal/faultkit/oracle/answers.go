package oracle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
)

func agreed(v *view, out *Verdict) {
	v.settledRecords(func(c *Call) {
		out.Checked++
		record := c.Record.Result
		if c.Workflow.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return // the oracle settled reports it
		}
		if c.Workflow.Result == nil {
			out.blame(c.ToolCallID, "the record is settled, and the workflow has no result")
		} else if !same(*record, *c.Workflow.Result) {
			out.blame(c.ToolCallID, fmt.Sprintf("the record says %s, the workflow %s", brief(*record), brief(*c.Workflow.Result)))
		}
		for _, a := range c.Answers {
			switch {
			case a.Err != "":
				out.blame(c.ToolCallID, "a submitter was told: "+a.Err)
			case !same(*record, a.Result):
				out.blame(c.ToolCallID, fmt.Sprintf("the record says %s, a submitter was told %s", brief(*record), brief(a.Result)))
			}
		}
		attempts := map[int]bool{}
		for _, e := range v.effects[c.InvocationID] {
			attempts[e.Attempt] = true
		}
		counted := record.Attempts
		if c.Record.Plan.Lane != hook.RegularLane && v.ended(c) {
			counted++ // the attempt in a lost workflow task is not recorded, and is not repeated if the call ends
		}
		// A new run of the call counts its attempts anew.
		if len(attempts) > counted && !v.rerun(c) {
			out.blame(c.ToolCallID, fmt.Sprintf("the record counts %d attempts, the ledger %d", record.Attempts, len(attempts)))
		}
	})
}

func genuine(v *view, out *Verdict) {
	v.settledRecords(func(c *Call) {
		out.Checked++
		results := []toolspec.Result{*c.Record.Result}
		for _, a := range c.Answers {
			results = append(results, a.Result)
		}
		for _, r := range results {
			value := r.Value
			if r.OutputRef != "" {
				value = c.Output
			}
			switch {
			case r.OK && !bytes.Equal(compact(value), compact(c.Value)):
				out.blame(c.ToolCallID, "its value is not the one that its tool gave")
				return
			case strings.Contains(r.SafeMessage, MadeUp):
				out.blame(c.ToolCallID, fmt.Sprintf("it ended with a %s that somebody made up", r.ErrorCode))
				return
			}
		}
	})
}

// same compares results as JSON. Values are compared without spaces, which Postgres and Temporal
// store differently.
func same(a, b toolspec.Result) bool {
	if !bytes.Equal(compact(a.Value), compact(b.Value)) {
		return false
	}
	a.Value, b.Value = nil, nil
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

func compact(raw json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}

func brief(r toolspec.Result) string {
	if r.OK {
		return fmt.Sprintf("ok in %d attempts", r.Attempts)
	}
	return fmt.Sprintf("%s in %d attempts", r.ErrorCode, r.Attempts)
}

func refused(v *view, out *Verdict) {
	for i := range v.Calls {
		c := &v.Calls[i]
		for _, a := range c.Rivals {
			out.Checked++
			switch {
			case a.Err != "":
				out.blame(c.ToolCallID, "whoever used its id for other arguments was told: "+a.Err)
			case a.Result.ErrorCode != toolspec.CodeConflict:
				out.blame(c.ToolCallID, "whoever used its id for other arguments was told "+brief(a.Result))
			case len(a.Result.Value) > 0:
				out.blame(c.ToolCallID, "whoever used its id for other arguments was shown its value")
			}
		}
	}
}
