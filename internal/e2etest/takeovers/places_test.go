package takeovers

import (
	"errors"
	"slices"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/postgres/reads"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/workflows/contract"
)

// releaseTime says when a cancelled call that is held is released.
type releaseTime int

const (
	// With afterEnd, the call is released after its end. It can end although the held code ignores the cancellation.
	afterEnd releaseTime = iota
	// With whenSeen, it is released when the workflow has got the cancellation and is in a step that cannot be cancelled.
	whenSeen
	// With atOnce, it is released when the server has accepted the cancellation and the workflow has not got it yet.
	atOnce
)

// stop is a row of the matrix: a place, the tool whose call is held there, and how the call ends when it is cancelled: its code, the number of its attempts
// and effects, and when it is released.
type stop struct {
	place, tool string
	code        toolspec.Code // "" = ok
	attempts    int
	effects     int
	release     releaseTime
}

// stops returns the places in the life of a call, in both lanes.
func stops() []stop {
	const read, write, send, asked = "test__read", "test__write", "test__send", "test__asked"
	const cancelled, unknown, ok = toolspec.CodeCancelled, toolspec.CodeOutcomeUnknown, toolspec.Code("")
	return []stop{
		{inQueue, send, cancelled, 0, 0, afterEnd},
		{inAdmit, send, cancelled, 0, 0, whenSeen},
		{"willAuthorize", send, cancelled, 0, 0, afterEnd},
		{"willCheckConsent", send, cancelled, 0, 0, afterEnd},
		{inWait, asked, cancelled, 0, 0, afterEnd},
		{approved, asked, cancelled, 0, 0, afterEnd},
		{"willNormalizeInput", send, cancelled, 0, 0, afterEnd},
		{"willNormalizeInput", asked, cancelled, 0, 0, afterEnd},
		{"willReadCache", send, cancelled, 0, 0, afterEnd},
		{inClaim, send, cancelled, 0, 0, afterEnd},
		{"willExecute", send, unknown, 1, 0, afterEnd},
		{"willExecute", write, cancelled, 1, 0, afterEnd},
		{inTool, send, unknown, 1, 1, afterEnd},
		{inTool, asked, unknown, 1, 1, afterEnd},
		{inTool, write, cancelled, 1, 1, afterEnd},
		{"didExecute", send, unknown, 1, 1, afterEnd},
		{inRetry, send, cancelled, 1, 1, afterEnd},
		{"onRetry", send, cancelled, 1, 1, afterEnd},
		{"onError", send, toolspec.CodeExecution, 1, 1, whenSeen},
		{"willTransformOutput", send, ok, 1, 1, whenSeen},
		{"willAudit", send, ok, 1, 1, whenSeen},
		{"willFinalizeInvoke", send, ok, 1, 1, whenSeen},
		{inSettle, send, ok, 1, 1, whenSeen},
		{inClosing, send, ok, 1, 1, atOnce},

		{inQueue, read, cancelled, 0, 0, afterEnd},
		{inRetry, read, cancelled, 1, 1, afterEnd},
		{"onRetry", read, cancelled, 1, 1, afterEnd},
		{inAdmit, read, cancelled, 0, 0, whenSeen},
		{"willAuthorize", read, cancelled, 0, 0, afterEnd},
		{"willCheckConsent", read, cancelled, 0, 0, afterEnd},
		{"willNormalizeInput", read, cancelled, 0, 0, afterEnd},
		{"willReadCache", read, cancelled, 0, 0, afterEnd},
		{"willExecute", read, ok, 1, 1, atOnce},
		{inTool, read, ok, 1, 1, atOnce},
		{"willTransformOutput", read, ok, 1, 1, whenSeen},
		{"willAudit", read, ok, 1, 1, whenSeen},
		{"willFinalizeInvoke", read, ok, 1, 1, whenSeen},
		{inSettle, read, ok, 1, 1, whenSeen},
		{inClosing, read, ok, 1, 1, atOnce},
	}
}

func (s stop) invocation() toolspec.Invocation {
	return e2etest.Invocation(s.place+"-"+s.tool, s.tool, `{"text":"hello"}`)
}

// swept returns how the call ends if its workflow was ended and not cancelled: its code and its attempts. Both depend on the claims in the record.
func (s stop) swept(code toolspec.Code) (toolspec.Code, int) {
	claims := s.attempts
	if s.tool == "test__read" {
		claims = 0 // the local lane has no claims
	}
	switch {
	case s.place == inClosing:
		return "", s.attempts
	case claims > 0 && s.tool != "test__write":
		return toolspec.CodeOutcomeUnknown, claims
	}
	return code, claims
}

// slow reports whether a call needs some time to reach the place.
func (s stop) slow() bool {
	return slices.Contains([]string{inWait, approved, inRetry, "onRetry"}, s.place) || s.tool != "test__read"
}

// TestCancelledAtEveryPlace: a cancelled call ends by itself at every place. Before execute begins, it ends as cancelled and without an effect. After that, it
// ends with what is known about its effect. The stages that end every call have run, and no request is open.
func TestCancelledAtEveryPlace(t *testing.T) {
	t.Parallel()
	p := newPlaces(t)
	w := p.w
	all := map[stop]*held{}
	cancel := func(s stop) {
		if err := w.Pawl.Cancel(t.Context(), s.invocation().Identity().WorkflowID()); err != nil {
			t.Fatal(err)
		}
		if s.release == atOnce {
			all[s].release()
		}
	}
	end := p.reach(all, func(s stop) { w.Start(s.invocation()) }, cancel)
	for s, h := range all {
		if s.release == whenSeen {
			w.Until(func() bool {
				return e2etest.CountEvents(w.History(h.inv.Identity().WorkflowID(), ""),
					enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED) == 1
			}, h.inv.ToolCallID+" is told")
			h.release()
		}
	}
	records, more := map[stop]reads.Detail{}, map[stop]int{}
	for s, h := range all {
		r := w.Ended(w.Temporal.GetWorkflow(t.Context(), h.inv.Identity().WorkflowID(), ""))
		record := w.Record(h.inv)
		if record.Result == nil || !e2etest.SameResult(*record.Result, r) {
			t.Errorf("%s ended %+v, and its record is %+v", h.inv.ToolCallID, r, record.Result)
			continue
		}
		late, lost := s.late(record), p.lost(s)
		late = late || r.ErrorCode == toolspec.CodeCancelled && r.Attempts == 0 && p.forgot(s)
		if !late && (r.OK != (s.code == "") || r.ErrorCode != s.code || r.Attempts < s.attempts || r.Attempts > s.attempts+s.repeats(lost)) {
			t.Errorf("%s ended ok=%t %q after %d attempts, want %q after %d", h.inv.ToolCallID, r.OK, r.ErrorCode, r.Attempts, s.code,
				s.attempts)
		}
		if late && !r.OK && r.ErrorCode != toolspec.CodeCancelled {
			t.Errorf("%s ended with %q after an attempt that ran out of time", h.inv.ToolCallID, r.ErrorCode)
		}
		if s.code == toolspec.CodeOutcomeUnknown && r.Details.Cause != "cancelled" && !endedUnknown(&r, lost) {
			t.Errorf("%s: the cause is %q", h.inv.ToolCallID, r.Details.Cause)
		}
		for _, stage := range []string{"willAudit", "willFinalizeInvoke"} {
			if !slices.ContainsFunc(record.Stages, func(e reads.StageRecord) bool { return e.Stage == stage && e.Outcome == "ok" }) {
				t.Errorf("%s: %s has not run: %+v", h.inv.ToolCallID, stage, record.Stages)
			}
		}
		records[s], more[s] = record, s.repeats(lost)
	}
	p.nothingOpen()
	end(records)
	for s, h := range all {
		if n := p.effects.Of(h.inv.ToolCallID); (n < s.effects || n > s.effects+more[s]) && !s.late(records[s]) {
			t.Errorf("%s had %d effects, want %d", h.inv.ToolCallID, n, s.effects)
		}
	}
}

// TestTerminatedAtEveryPlace: one sweep ends every call whose workflow was terminated, at every place. When held code is released after that, it starts no effect
// and changes no record. The test does not force a worker to try to settle the call at that time.
func TestTerminatedAtEveryPlace(t *testing.T) {
	t.Parallel()
	p := newPlaces(t)
	w := p.w
	all := map[stop]*held{}
	terminate := func(s stop) {
		w.Terminate(s.invocation())
		if s.place == inAdmit {
			// If the admit takes effect in spite of the termination, the sweep must end the call.
			all[s].release()
			w.Until(func() bool { return p.known(s) || !all[s].inTransaction() }, all[s].inv.ToolCallID+" is admitted, or given up")
		}
	}
	end := p.reach(all, func(s stop) { w.Start(s.invocation()) }, terminate)
	p.sweptAt(all, end, toolspec.CodeCancelled, "terminated")
}

// TestTimedOutAtEveryPlace: one sweep ends every call whose workflow has timed out, at every place.
func TestTimedOutAtEveryPlace(t *testing.T) {
	t.Parallel()
	p := newPlaces(t)
	all := map[stop]*held{}
	end := p.reach(all, func(s stop) {
		// This is long enough for all other calls to reach their places.
		limit := 45 * time.Second
		if s.place == inQueue {
			limit = time.Second
		}
		if _, err := p.w.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
			ID: s.invocation().Identity().WorkflowID(), TaskQueue: toolspec.TaskQueue, WorkflowExecutionTimeout: limit,
			WorkflowTaskTimeout: 5 * time.Second,
		}, toolspec.WorkflowType, s.invocation()); err != nil {
			t.Fatal(err)
		}
	}, func(s stop) {
		if s.place == inQueue {
			p.w.Closed(s.invocation())
		}
	})
	p.sweptAt(all, end, toolspec.CodeTimeout, "timed_out")
}

// reach starts a call for every row of the matrix, and calls halt for each when it is at its place. end releases all of them, starts every call again, waits
// until nothing runs any more, and compares the records with the earlier ones.
func (p *places) reach(all map[stop]*held, start, halt func(stop)) (end func(records map[stop]reads.Detail)) {
	w := p.w
	w.T.Helper()
	begin := func(s stop) {
		all[s] = p.hold(s.invocation(), s.place)
		start(s)
	}
	for _, s := range stops() {
		if s.place == inQueue {
			begin(s)
			halt(s)
		}
	}
	stopWork := p.work()
	w.Until(func() bool { return w.Log.Has("worker runs") }, "the worker runs")
	for _, s := range stops() {
		if s.place != inQueue && s.slow() {
			begin(s)
		}
	}
	for _, s := range stops() {
		if s.place != inQueue && s.slow() {
			all[s].there()
		}
	}
	// These calls start last, because a tool in the local lane has only two seconds.
	for _, s := range stops() {
		if !s.slow() && s.place != inQueue {
			begin(s)
			all[s].there()
			halt(s)
		}
	}
	for _, s := range stops() {
		if s.place != inQueue && s.slow() {
			halt(s)
		}
	}
	return func(records map[stop]reads.Detail) {
		for _, h := range all {
			h.release()
		}
		for s, h := range all {
			again := w.RunAgain(h.inv)
			if before, ok := records[s]; ok {
				if !e2etest.SameResult(again, *before.Result) {
					w.T.Errorf("%s: a new run answered %+v, want %+v", h.inv.ToolCallID, again, before.Result)
				}
			} else if !again.OK || p.effects.Of(h.inv.ToolCallID) != 1 {
				w.T.Errorf("%s left no record: a new run answered %+v with %d effects", h.inv.ToolCallID, again, p.effects.Of(h.inv.ToolCallID))
			}
		}
		stopWork()
		for s, before := range records {
			if after := w.Record(all[s].inv); e2etest.AsJSON(after) != e2etest.AsJSON(before) {
				w.T.Errorf("%s: the record was %s\nand is %s", all[s].inv.ToolCallID, e2etest.AsJSON(before), e2etest.AsJSON(after))
			}
		}
		p.nothingOpen()
	}
}

// sweptAt runs one sweep, and compares the records with the matrix.
func (p *places) sweptAt(all map[stop]*held, end func(map[stop]reads.Detail), code toolspec.Code, cause string) {
	w := p.w
	w.T.Helper()
	for _, h := range all {
		w.Closed(h.inv)
	}
	out := w.Sweep()
	w.T.Logf("swept %+v", out.Calls)
	if out.Calls.Running != 0 || out.Calls.MovedOn > 1 {
		w.T.Errorf("the sweep counted %+v", out.Calls)
	}
	p.nothingOpen()
	records, more := map[stop]reads.Detail{}, map[stop]int{}
	for s, h := range all {
		if !p.known(s) {
			if s.place != inQueue && s.place != inAdmit {
				w.T.Errorf("%s left no record", h.inv.ToolCallID)
			}
			continue
		}
		record := w.Record(h.inv)
		lost := p.lost(s)
		records[s], more[s] = record, s.repeats(lost)
		r := *record.Result
		want, attempts := s.swept(code)
		if s.place == inAdmit && s.tool == "test__read" && r.OK {
			// The worker completed the call before it learned that the workflow has ended.
			want, attempts = "", 1
		}
		if r.OK != (want == "") || r.ErrorCode != want || r.Attempts < attempts || r.Attempts > attempts+more[s] {
			w.T.Errorf("%s ended ok=%t %q after %d attempts, want %q after %d", h.inv.ToolCallID, r.OK, r.ErrorCode, r.Attempts, want, attempts)
		}
		bySweep := want != "" && !endedUnknown(&r, lost)
		if bySweep && want == toolspec.CodeOutcomeUnknown && (r.Details == nil || r.Details.Cause != cause) {
			w.T.Errorf("%s: the details are %+v, want the cause %s", h.inv.ToolCallID, r.Details, cause)
		}
		if slices.ContainsFunc(record.Events, func(e reads.EventRecord) bool { return e.Kind == "swept" }) != bySweep {
			w.T.Errorf("%s: the events are %+v", h.inv.ToolCallID, record.Events)
		}
	}
	for s, h := range all {
		if s.place == string(hook.WillExecute.Stage()) && s.slow() {
			// An attempt learns by its next heartbeat that its workflow has ended. Before that it would still run its tool.
			w.Until(func() bool { return w.Log.Has("tool left behind", h.inv.Identity().InvocationID()) }, h.inv.ToolCallID+" is left behind")
		}
	}
	end(records)
	for s, h := range all {
		_, recorded := records[s]
		if s.tool == "test__read" || !recorded {
			continue // a read that its worker has given up may still run its tool, or another attempt
		}
		if n := p.effects.Of(h.inv.ToolCallID); n < s.effects || n > s.effects+more[s] {
			w.T.Errorf("%s had %d effects, want %d", h.inv.ToolCallID, n, s.effects)
		}
	}
}

// known reports whether the database has the call.
func (p *places) known(s stop) bool {
	p.w.T.Helper()
	_, err := p.w.Store.Show(p.w.T.Context(), s.invocation().Context.TenantID, s.invocation().Identity().InvocationID())
	if err != nil && !errors.Is(err, postgres.ErrNotFound) {
		p.w.T.Fatal(err)
	}
	return err == nil
}

// nothingOpen fails the test if a call or a request is still open.
func (p *places) nothingOpen() {
	p.w.T.Helper()
	for _, sql := range []string{
		`SELECT tool_call_id FROM invocations WHERE state = 'open'`,
		`SELECT approval_id FROM approvals WHERE state = '` + string(contract.RequestOpen) + `'`,
	} {
		if open := e2etest.Query[string](p.w, sql); len(open) > 0 {
			p.w.T.Errorf("still open: %v", open)
		}
	}
}
