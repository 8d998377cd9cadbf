package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/client/runhttp"
	"github.com/pawl-run/pawl/toolspec"
)

type script struct{}

func (script) OwnsRun(context.Context, string, string, string) (bool, error) { return true, nil }
func (script) Watch(ctx context.Context, _, _ string, after int64) iter.Seq2[toolspec.RunEvent, error] {
	call := func(id, tool string, kind toolspec.RunEventKind) toolspec.RunEvent {
		return toolspec.RunEvent{Kind: kind, ToolCallID: id, InvocationID: id, ToolID: tool}
	}
	st := func(id, tool, args string) toolspec.RunEvent {
		e := call(id, tool, toolspec.RunCallStart)
		e.Args = json.RawMessage(args)
		return e
	}
	rs := func(id, tool string, r toolspec.Result) toolspec.RunEvent {
		e := call(id, tool, toolspec.RunCallResult)
		e.Result = &r
		return e
	}
	ap := func(id, tool string, a toolspec.RunApproval, k toolspec.RunEventKind) toolspec.RunEvent {
		e := call(id, tool, k)
		e.Approval = &a
		return e
	}
	pr := call("c5", "report__index", toolspec.RunCallProgress)
	pr.Progress = &toolspec.Progress{Done: 14, Total: 40, Text: "file 14"}
	events := []toolspec.RunEvent{
		{Kind: toolspec.RunTextDelta, Text: "I read the notes first, <script>alert(1)</script> then I write."},
		st("c1", "core__read_file", `{"path":"notes/today.md"}`),
		rs("c1", "core__read_file", toolspec.Result{OK: true, Value: json.RawMessage(`{"text":"<img src=x onerror=alert(1)> hello ` + strings.Repeat("words and ", 30) + `"}`)}),
		st("c2", "core__shell", `{"command":"make test"}`),
		rs("c2", "core__shell", toolspec.Failure(toolspec.CodeTimeout, "", nil)),
		ap("c3", "core__write_file", toolspec.RunApproval{ApprovalID: "c3.1", Message: "May the agent write notes/plan.md?"}, toolspec.RunApprovalRequested),
		st("c4", "shop__refund", `{"order":"A-1001"}`),
		ap("c4", "shop__refund", toolspec.RunApproval{ApprovalID: "c4.1", Message: "Refund 40 EUR?"}, toolspec.RunApprovalRequested),
		ap("c4", "shop__refund", toolspec.RunApproval{ApprovalID: "c4.1", Decision: "denied", Approver: "user:bob"}, toolspec.RunApprovalDecided),
		rs("c4", "shop__refund", toolspec.Failure(toolspec.CodeApprovalDenied, "", nil)),
		st("c5", "report__index", `{"files":40,"milliseconds":200}`), pr,
	}
	return func(yield func(toolspec.RunEvent, error) bool) {
		for n, e := range events {
			e.Seq = int64(n + 1)
			if !yield(e, nil) {
				return
			}
		}
		<-ctx.Done()
	}
}

func TestLook(t *testing.T) {
	h, err := pages(runhttp.Options{Watcher: script{}, Owners: script{}, Authenticator: viewer{"user:ann", sha256.Sum256([]byte("t"))}})
	if err != nil {
		t.Fatal(err)
	}
	js, _ := os.ReadFile("page/watch.js")
	go http.ListenAndServe("127.0.0.1:8299", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/watch.js" {
			w.Header().Set("Content-Type", "text/javascript")
			w.Write(js)
			w.Write([]byte("\ndocument.querySelector('[name=token]').value='t';document.getElementById('form').requestSubmit();"))
			return
		}
		h.ServeHTTP(w, r)
	}))
	time.Sleep(100 * time.Second)
}
