package takeovers

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// resetWithout resets a workflow so that Temporal does not deliver messages of a kind, such as signals, to the new run again.
func resetWithout(w *e2etest.World, workflowID, kind string) (runID string) {
	w.T.Helper()
	before := w.Describe(workflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
	w.MustCLI("workflow", "reset", "--workflow-id", workflowID, "--type", "FirstWorkflowTask", "--reason", "a test", "--reapply-exclude", kind)
	w.Until(func() bool {
		runID = w.Describe(workflowID).GetWorkflowExecutionInfo().GetExecution().GetRunId()
		return runID != before
	}, "the reset run is the current one")
	return runID
}

// edit edits the arguments of the first request as ann, and returns both requests.
func edit(w *e2etest.World, call *pawl.Call, bySignal bool) (first, second toolspec.ApprovalView) {
	w.T.Helper()
	first = w.Waiting(call.WorkflowID)
	d := toolspec.Decision{ApprovalID: first.ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ann,
		EditedArgs: json.RawMessage(`{"text":"edited"}`)}
	if bySignal {
		if err := w.Temporal.SignalWorkflow(w.T.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
			w.T.Fatal(err)
		}
	} else if answer := w.Decide(call.WorkflowID, d); !answer.Counted {
		w.T.Fatalf("the edit did not count: %s", answer.Reason)
	}
	return first, w.Waiting(call.WorkflowID, first.ApprovalID)
}

// requestStates returns the states of the requests of a call, in order.
func requestStates(w *e2etest.World, inv toolspec.Invocation) string {
	w.T.Helper()
	var states []string
	for _, a := range w.Record(inv).Approvals {
		states = append(states, string(a.State))
	}
	return strings.Join(states, " ")
}

// TestResetAfterEdit: an edit stays valid after a reset. If the new run gets the edit again, it continues with the request that the edit has caused, in its
// present state. If it does not get the edit, it opens a request for the first arguments again.
func TestResetAfterEdit(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	var effects e2etest.Ledger
	var hold atomic.Bool
	errHeld := errs.Transient(errors.New("held"))
	w.Work(
		worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky),
			e2etest.Tool("test__held", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)),
		worker.ToolHooks("test__held", hook.New("hold", hook.WillReadCache.Do(func(context.Context, *hook.Lookup) error {
			if hold.Load() {
				return errHeld
			}
			return nil
		}))))
	type stand struct {
		w             *e2etest.World
		inv           toolspec.Invocation
		call          *pawl.Call
		first, second toolspec.ApprovalView
	}
	each := func(name, toolID string, bySignal bool, f func(s stand)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.T = t
			s := stand{w: &w, inv: e2etest.Invocation(strings.ReplaceAll(name, " ", "_"), toolID, `{"text":"hello"}`)}
			s.call = w.Start(s.inv)
			s.first, s.second = edit(&w, s.call, bySignal)
			f(s)
		})
	}
	ends := func(s stand, runID, text, states string) {
		s.w.T.Helper()
		e2etest.WantText(s.w.T, s.w.ResultOf(s.call.WorkflowID, runID), text)
		if n := effects.Of(s.inv.ToolCallID); n != 1 {
			s.w.T.Errorf("the tool ran %d times", n)
		}
		if got := requestStates(s.w, s.inv); got != states {
			s.w.T.Errorf("the requests are %q, want %q", got, states)
		}
	}
	for _, how := range []string{"Signal", "Update"} {
		each("while waiting, by "+how, "test__send", how == "Signal", func(s stand) {
			runID := s.w.Reset(s.call.WorkflowID)
			again := s.w.Waiting(s.call.WorkflowID)
			if again.ApprovalID != s.second.ApprovalID || again.Digest != s.second.Digest || string(again.Args) != `{"text":"edited"}` ||
				again.ExpiresAtMs != s.second.ExpiresAtMs {
				s.w.T.Errorf("after the reset the request is %+v, want %+v", again, s.second)
			}
			if answer := s.w.Decide(s.call.WorkflowID, e2etest.Approving(again.ApprovalID, e2etest.Ann)); answer.Counted {
				s.w.T.Error("who edited the arguments approved them")
			}
			s.w.Decide(s.call.WorkflowID, e2etest.Approving(again.ApprovalID, e2etest.Ben))
			ends(s, runID, "edited", "edited approved")
		})
		each("without the edit, by "+how, "test__send", how == "Signal", func(s stand) {
			runID := resetWithout(s.w, s.call.WorkflowID, how)
			third := s.w.Waiting(s.call.WorkflowID)
			if want := toolspec.ApprovalID(s.inv.Identity().InvocationID(), 3); third.ApprovalID != want || third.Digest != s.first.Digest ||
				string(third.Args) != `{"text":"hello"}` {
				s.w.T.Errorf("the request is %+v, want %s about the first arguments", third, want)
			}
			s.w.Decide(s.call.WorkflowID, e2etest.Approving(third.ApprovalID, e2etest.Ann))
			ends(s, runID, "hello", "edited closed approved")
		})
		each("after the end, by "+how, "test__send", how == "Signal", func(s stand) {
			s.w.Decide(s.call.WorkflowID, e2etest.Approving(s.second.ApprovalID, e2etest.Ben))
			e2etest.WantText(s.w.T, s.w.Result(s.call), "edited")
			ends(s, s.w.Reset(s.call.WorkflowID), "edited", "edited approved")
		})
	}
	each("after a second edit", "test__send", false, func(s stand) {
		d := toolspec.Decision{ApprovalID: s.second.ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ben,
			EditedArgs: json.RawMessage(`{"text":"twice"}`)}
		s.w.Decide(s.call.WorkflowID, d)
		third := s.w.Waiting(s.call.WorkflowID, s.second.ApprovalID)
		runID := s.w.Reset(s.call.WorkflowID)
		if again := s.w.Waiting(s.call.WorkflowID); again.ApprovalID != third.ApprovalID {
			s.w.T.Errorf("after the reset the request is %s, want %s", again.ApprovalID, third.ApprovalID)
		}
		s.w.Decide(s.call.WorkflowID, e2etest.Approving(third.ApprovalID, e2etest.Ann))
		ends(s, runID, "twice", "edited edited approved")
	})
	// The hook holds only the calls after this point.
	hold.Store(true)
	each("after the approval", "test__held", true, func(s stand) {
		s.w.Decide(s.call.WorkflowID, e2etest.Approving(s.second.ApprovalID, e2etest.Ben))
		s.w.Until(func() bool { return s.w.Log.Has("will be tried again\" activity=willReadCache") }, "the call is held before execute")
		runID := s.w.Reset(s.call.WorkflowID)
		hold.Store(false)
		ends(s, runID, "edited", "edited approved")
	})
}
