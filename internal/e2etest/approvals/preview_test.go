package approvals_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestPreview: an approver sees a preview of the effect of a call, and the approval is valid only for this effect.
func TestPreview(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	path := filepath.Join(w.Workspace, "f")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(want string) {
		t.Helper()
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("the file holds %q, %v, want %q", got, err, want)
		}
	}
	args := func(newText string) string {
		return `{"path":"f","edits":[{"oldText":"b","newText":"` + newText + `"}]}`
	}
	put("a\nb\n")
	stale, edited := w.Start(e2etest.Invocation("stale", "core__edit_file", args("B"))), w.Start(e2etest.Invocation("edited", "core__edit_file", args("B")))
	views := []toolspec.ApprovalView{w.Waiting(stale.WorkflowID), w.Waiting(edited.WorkflowID)}
	for _, view := range views {
		if view.Preview == nil || !strings.HasSuffix(view.Preview.Text, " a\n-b\n+B\n") || len(view.PreviewDigest) != 64 {
			t.Fatalf("the approver sees %+v", view)
		}
	}
	recorded := w.ReadRecord(e2etest.Invocation("stale", "core__edit_file", args("B"))).Approvals[0]
	if recorded.Preview == nil || *recorded.Preview != *views[0].Preview || recorded.PreviewDigest != views[0].PreviewDigest {
		t.Errorf("the record has %+v", recorded.ApprovalView)
	}
	// A decision about another preview does not count.
	d := e2etest.Approving(views[0].ApprovalID, e2etest.Ann)
	d.PreviewDigest = strings.Repeat("0", 64)
	w.WantAnswer(stale, d, "another preview")
	// The file changes while the calls wait.
	put("x\nb\n")
	d.PreviewDigest = views[0].PreviewDigest
	if answer := w.Decide(stale.WorkflowID, d); !answer.Counted {
		t.Errorf("%+v", answer)
	}
	e2etest.WantCode(t, w.Result(stale), toolspec.CodeApprovalStale)
	holds("x\nb\n")
	// A call with edited arguments has a new preview.
	if answer := w.Decide(edited.WorkflowID, toolspec.Decision{
		ApprovalID: views[1].ApprovalID, Decision: toolspec.Edit, Approver: e2etest.Ann, EditedArgs: json.RawMessage(args("C")),
	}); !answer.Counted {
		t.Fatalf("the edit: %+v", answer)
	}
	view := w.Waiting(edited.WorkflowID, views[1].ApprovalID)
	if view.Preview == nil || !strings.HasSuffix(view.Preview.Text, " x\n-b\n+C\n") {
		t.Fatalf("after the edit the approver sees %+v", view)
	}
	if answer := w.Decide(edited.WorkflowID, e2etest.Approving(view.ApprovalID, e2etest.Ben)); !answer.Counted {
		t.Errorf("%+v", answer)
	}
	if result := w.Result(edited); !result.OK {
		t.Errorf("%+v", result)
	}
	holds("x\nC\n")
}
