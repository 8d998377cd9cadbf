package takeovers

import (
	enumspb "go.temporal.io/api/enums/v1"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// These functions say what a busy machine has done to a call that is held.

// forgot reports whether a workflow task of a call in the local lane timed out. The history has no results of such a task. So the
// next task runs the stages again, and the cancellation can arrive before it runs the tool.
func (p *places) forgot(s stop) bool {
	return s.tool == "test__read" &&
		e2etest.CountEvents(p.w.History(s.invocation().Identity().WorkflowID(), ""), enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT) > 0
}

// lost counts the attempts of a call that were given up: by the server, because no heartbeat came for 8 s, or by the worker, because the server
// answered none for 4 s. On a busy machine that can happen while a call is held.
func (p *places) lost(s stop) (n int) {
	for _, e := range p.w.History(s.invocation().Identity().WorkflowID(), "").GetEvents() {
		var out contract.ExecuteOut
		if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
			e2etest.Decode(p.w, a.GetResult().GetPayloads()[0], &out)
		}
		if e.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT || out.Outcome == contract.Interrupted && out.Failure.Code == contract.CauseLost {
			n++
		}
	}
	return n
}

// repeats counts the attempts that may follow those that were given up.
func (s stop) repeats(lost int) int {
	if s.tool != "test__write" {
		return 0
	}
	return lost
}

// endedUnknown reports whether the call ended by itself because its attempt was given up.
func endedUnknown(r *toolspec.Result, lost int) bool {
	return lost > 0 && r.ErrorCode == toolspec.CodeOutcomeUnknown && r.Details != nil && toolspec.Code(r.Details.Cause) == contract.CauseLost
}

// late reports whether, on a busy machine, the call was released after the time limit of a tool in the local lane. Then the call ends by the cancellation or with
// the answer of another attempt. An attempt that the cancellation itself has stopped is not late.
func (s stop) late(record reads.Detail) bool {
	return s.release == atOnce && s.place != inClosing && len(record.AttemptList) > 0 &&
		record.AttemptList[0].Outcome == "interrupted" && record.AttemptList[0].Code == toolspec.CodeTimeout
}
