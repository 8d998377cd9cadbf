package agents

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/modelserver"
	"github.com/pawl-run/pawl/toolspec"
)

// child starts a worker in a separate process. Its configuration allows it to ask the model of the world.
func (w *world) child(environment ...string) *process {
	w.T.Helper()
	return w.ServeInChildWith(append(environment, "PAWL_MODEL_URLS="+w.model.URL.String())...)
}

// TestApproval: a call of a run waits for a person. Meanwhile its worker is killed, and another worker goes on. The actor of the run cannot approve the call, a
// person can, and the write happens once. The model gets the answer that a person denied a call.
func TestApproval(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "effects")
	asked := modelserver.Script(calls(modelserver.Call{Name: "test__asked", Args: fmt.Sprintf(`{"text":%q}`, file)}), modelserver.Reply{Text: "done"})
	w := newWorldOf(t, "anthropic", scripts{"approved": asked, "denied": asked})
	first := w.child()
	w.apply(w.document("anthropic", "test__asked"))
	approved, denied := w.start(input("approved", "approved")), w.start(input("denied", "denied"))
	one, two := w.calling(approved, 1)[0].WorkflowID, w.calling(denied, 1)[0].WorkflowID
	view, other := w.Waiting(one), w.Waiting(two)
	if answer := w.Decide(one, e2etest.Approving(view.ApprovalID, e2etest.Actor)); answer.Counted {
		t.Error("the actor of the run has approved its own call")
	}
	e2etest.Kill(first)
	second := w.child()
	w.Decide(two, toolspec.Decision{ApprovalID: other.ApprovalID, Decision: toolspec.Deny, Approver: e2etest.Ann})
	want(t, w.result(denied), agent.Completed, "done")
	if texts := answersIn(t, w.asks("denied")); len(texts) != 1 || !strings.Contains(texts[0], string(toolspec.CodeApprovalDenied)) {
		t.Errorf("the model was told %q", texts)
	}
	if n := len(w.Effects(file)); n != 0 {
		t.Errorf("%d effects before the approval", n)
	}
	if answer := w.Decide(one, e2etest.Approving(view.ApprovalID, e2etest.Ann)); !answer.Counted {
		t.Errorf("the approval did not count: %s", answer.Reason)
	}
	want(t, w.result(approved), agent.Completed, "done")
	if got := w.Effects(file); !slices.Equal(got, []string{fmt.Sprint(second.Process.Pid)}) {
		t.Errorf("the tool was run by %v, want %d", got, second.Process.Pid)
	}
	if n := len(w.asks("approved")); n != 2 || w.dones("approved") != 1 || w.codes("denied") != string(toolspec.CodeApprovalDenied) {
		t.Errorf("%d requests, %d done events, and the denied call is %s", n, w.dones("approved"), w.codes("denied"))
	}
	w.Replay(agent.WorkflowID("acme", "approved"))
}
