package e2etest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// resetWithout is reset, where Temporal delivers nothing again of a kind.
func (w *world) resetWithout(workflowID, kind string) (runID string) {
	w.t.Helper()
	before := w.describe(workflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
	w.mustCLI("workflow", "reset", "--workflow-id", workflowID, "--type", "FirstWorkflowTask", "--reason", "a test", "--reapply-exclude", kind)
	w.until(func() bool {
		runID = w.describe(workflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
		return runID != before
	}, "the reset run is the current one")
	return runID
}

// edit answers the first request with other arguments, as ann, and returns the second request.
func (w *world) edit(call *pawl.Call, bySignal bool) (first, second toolspec.ApprovalView) {
	w.t.Helper()
	first = w.waiting(call.WorkflowID)
	d := toolspec.Decision{ApprovalID: first.ApprovalID, Decision: toolspec.Edit, Approver: ann, EditedArgs: json.RawMessage(`{"text":"edited"}`)}
	if bySignal {
		if err := w.temporal.SignalWorkflow(w.t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
			w.t.Fatal(err)
		}
	} else if answer := w.decide(call.WorkflowID, d); !answer.Counted {
		w.t.Fatalf("the edit did not count: %s", answer.Reason)
	}
	return first, w.waiting(call.WorkflowID, first.ApprovalID)
}

// requestStates are the states of a call's requests, in order.
func (w *world) requestStates(inv toolspec.Invocation) string {
	w.t.Helper()
	var states []string
	for _, a := range w.record(inv).Approvals {
		states = append(states, string(a.State))
	}
	return strings.Join(states, " ")
}

// TestResetAfterEdit: an edit that was given stays given. The run that takes over follows it to the request that came of it, as that
// stands, and does not ask about the first arguments again; unless nobody brings it the edit.
func TestResetAfterEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, plainPolicy)
	var effects ledger
	var hold atomic.Bool
	errHeld := hook.Transient(errors.New("held"))
	w.work(
		worker.Tools(tool("test__send", effects.counted(echo), once, risky), tool("test__held", effects.counted(echo), once, risky)),
		worker.ToolHooks("test__held", hook.New("hold", hook.WillReadCache.Do(func(context.Context, *hook.Lookup) error {
			if hold.Load() {
				return errHeld
			}
			return nil
		}))))
	type stand struct {
		w             *world
		inv           toolspec.Invocation
		call          *pawl.Call
		first, second toolspec.ApprovalView
	}
	each := func(name, toolID string, bySignal bool, f func(s stand)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			s := stand{w: &w, inv: invocation(strings.ReplaceAll(name, " ", "_"), toolID, `{"text":"hello"}`)}
			s.call = w.start(s.inv)
			s.first, s.second = w.edit(s.call, bySignal)
			f(s)
		})
	}
	ends := func(s stand, runID, text, states string) {
		s.w.t.Helper()
		wantText(s.w.t, s.w.resultOf(s.call.WorkflowID, runID), text)
		if n := effects.of(s.inv.ToolCallID); n != 1 {
			s.w.t.Errorf("the tool ran %d times", n)
		}
		if got := s.w.requestStates(s.inv); got != states {
			s.w.t.Errorf("the requests are %q, want %q", got, states)
		}
	}
	for _, how := range []string{"Signal", "Update"} {
		each("while waiting, by "+how, "test__send", how == "Signal", func(s stand) {
			runID := s.w.reset(s.call.WorkflowID)
			again := s.w.waiting(s.call.WorkflowID)
			if again.ApprovalID != s.second.ApprovalID || again.Digest != s.second.Digest || string(again.Args) != `{"text":"edited"}` || again.ExpiresAtMs != s.second.ExpiresAtMs {
				s.w.t.Errorf("after the reset the request is %+v, want %+v", again, s.second)
			}
			if answer := s.w.decide(s.call.WorkflowID, approval(again.ApprovalID, ann)); answer.Counted {
				s.w.t.Error("who edited the arguments approved them")
			}
			s.w.decide(s.call.WorkflowID, approval(again.ApprovalID, ben))
			ends(s, runID, "edited", "edited approved")
		})
		each("without the edit, by "+how, "test__send", how == "Signal", func(s stand) {
			runID := s.w.resetWithout(s.call.WorkflowID, how)
			third := s.w.waiting(s.call.WorkflowID)
			if want := toolspec.ApprovalID(s.inv.Identity().InvocationID(), 3); third.ApprovalID != want || third.Digest != s.first.Digest || string(third.Args) != `{"text":"hello"}` {
				s.w.t.Errorf("the request is %+v, want %s about the first arguments", third, want)
			}
			s.w.decide(s.call.WorkflowID, approval(third.ApprovalID, ann))
			ends(s, runID, "hello", "edited closed approved")
		})
		each("after the end, by "+how, "test__send", how == "Signal", func(s stand) {
			s.w.decide(s.call.WorkflowID, approval(s.second.ApprovalID, ben))
			wantText(s.w.t, s.w.result(s.call), "edited")
			ends(s, s.w.reset(s.call.WorkflowID), "edited", "edited approved")
		})
	}
	each("after a second edit", "test__send", false, func(s stand) {
		d := toolspec.Decision{ApprovalID: s.second.ApprovalID, Decision: toolspec.Edit, Approver: ben, EditedArgs: json.RawMessage(`{"text":"twice"}`)}
		s.w.decide(s.call.WorkflowID, d)
		third := s.w.waiting(s.call.WorkflowID, s.second.ApprovalID)
		runID := s.w.reset(s.call.WorkflowID)
		if again := s.w.waiting(s.call.WorkflowID); again.ApprovalID != third.ApprovalID {
			s.w.t.Errorf("after the reset the request is %s, want %s", again.ApprovalID, third.ApprovalID)
		}
		s.w.decide(s.call.WorkflowID, approval(third.ApprovalID, ann))
		ends(s, runID, "twice", "edited edited approved")
	})
	// The others do not meet the hook.
	hold.Store(true)
	each("after the approval", "test__held", true, func(s stand) {
		s.w.decide(s.call.WorkflowID, approval(s.second.ApprovalID, ben))
		s.w.until(func() bool { return s.w.log.has("will be tried again\" activity=willReadCache") }, "the call is held before execute")
		runID := s.w.reset(s.call.WorkflowID)
		hold.Store(false)
		ends(s, runID, "edited", "edited approved")
	})
}
