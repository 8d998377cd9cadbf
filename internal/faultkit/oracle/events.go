package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
)

func checkEvents(v *view, out *Verdict) {
	for i := range v.Calls {
		c := &v.Calls[i]
		if c.Record == nil {
			continue
		}
		out.Checked++
		if err := CheckEvents(c.Record); err != nil {
			out.blame(c.ToolCallID, err.Error())
		}
	}
}

// CheckEvents returns an error if the events of a record are wrong. A settled call has one start
// event and one result event, another call has none, and every approval request has an event before
// the start.
func CheckEvents(d *reads.Detail) error {
	var seen []string
	for _, e := range d.Events {
		if e.AuditID == "" {
			seen = append(seen, e.Kind)
		}
	}
	count := func(kind string) (n int) {
		for _, k := range seen {
			if k == kind {
				n++
			}
		}
		return n
	}
	want := 0
	if d.Result != nil {
		want = 1
	}
	if starts, results := count(toolspec.EventStart), count(toolspec.EventResult); starts != want || results != want {
		return fmt.Errorf("%d start events and %d result events, want %d of each", starts, results, want)
	}
	if n := count(toolspec.EventApprovalRequested); n != len(d.Approvals) {
		return fmt.Errorf("%d events for %d requests", n, len(d.Approvals))
	}
	if d.Result == nil {
		return nil
	}
	start := slices.Index(seen, toolspec.EventStart)
	if seen[len(seen)-1] != toolspec.EventResult {
		return fmt.Errorf("the result is not the last of the events %q", seen)
	}
	// A parked call asks after its start.
	parked := slices.ContainsFunc(d.Approvals, func(a reads.Approval) bool { return a.Parked != "" })
	if !parked && slices.Contains(seen[start:], toolspec.EventApprovalRequested) {
		return fmt.Errorf("the start is ahead of a request in the events %q", seen)
	}
	return checkDetails(d, slices.Contains(seen, toolspec.EventSwept))
}

// checkDetails compares the start and result events with the record. After a sweep the start event
// may have no arguments.
func checkDetails(d *reads.Detail, swept bool) error {
	for _, e := range d.Events {
		if e.AuditID != "" || e.Kind != toolspec.EventStart && e.Kind != toolspec.EventResult {
			continue
		}
		var content struct {
			ToolCallID string           `json:"toolCallId"`
			Args       json.RawMessage  `json:"args"`
			Result     *toolspec.Result `json:"result"`
		}
		if err := json.Unmarshal(e.Detail, &content); err != nil {
			return fmt.Errorf("%s: %w", e.Kind, err)
		}
		if content.ToolCallID != d.ToolCallID {
			return fmt.Errorf("%s is of the call %q", e.Kind, content.ToolCallID)
		}
		if e.Kind == toolspec.EventResult {
			if content.Result == nil || !same(*content.Result, *d.Result) {
				return errors.New("the result event tells another result")
			}
			continue
		}
		if content.Args != nil && !bytes.Equal(compact(content.Args), compact(d.SafeArgs)) {
			return errors.New("the start event tells other arguments")
		}
		if content.Args == nil && d.SafeArgs != nil && d.Result.Attempts > 0 && !swept {
			return errors.New("the start event of a call that ran tells no arguments")
		}
	}
	return nil
}
