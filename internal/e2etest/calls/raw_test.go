package calls

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// rawInput is the input of a call as a caller without any code of Pawl writes it.
const rawInput = `{
	"toolId": "core__write_file", "toolCallId": %q, "args": {"path": %q, "content": "hello"},
	"context": {"tenantId": "acme", "runId": "run", "actorId": "agent:one"}
}`

// helloSHA is the SHA-256 of "hello".
const helloSHA = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

type rawStarted struct{ WorkflowID, RunID, Type string }

func rawStart(w *e2etest.World, workflowID string, more ...string) {
	w.T.Helper()
	started := e2etest.CLIJSON[rawStarted](w, append([]string{
		"workflow", "start", "--type", "InvokeTool", "--task-queue", "pawl", "--workflow-id", workflowID,
	}, more...)...)
	if started.WorkflowID != workflowID {
		w.T.Fatalf("started %+v, want %s", started, workflowID)
	}
}

// rawState waits until the call needs an approval, and returns its state from the query of the temporal program.
func rawState(w *e2etest.World, workflowID string) map[string]any {
	w.T.Helper()
	w.Waiting(workflowID)
	answer := e2etest.CLIJSON[struct{ QueryResult []map[string]any }](w, "workflow", "query", "--type", "state", "--workflow-id", workflowID)
	if len(answer.QueryResult) != 1 {
		w.T.Fatalf("the state query answered %v", answer)
	}
	return answer.QueryResult[0]
}

func rawResult(w *e2etest.World, workflowID string) map[string]any {
	w.T.Helper()
	answer := e2etest.CLIJSON[struct {
		Status string
		Result map[string]any
	}](w, "workflow", "result", "--workflow-id", workflowID)
	if answer.Status != "COMPLETED" {
		w.T.Fatalf("the workflow ended %s: every outcome the domain knows is a completed workflow", answer.Status)
	}
	return answer.Result
}

// TestRawSignal runs a write from start to result with the temporal program alone: start, query, signal, result.
func TestRawSignal(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	const id = "tool:acme:run:call"
	inv := e2etest.Invocation("call", "core__write_file", `{"path":"out.md","content":"hello"}`)
	rawStart(w, id, "--input", fmt.Sprintf(rawInput, "call", "out.md"))

	state := rawState(w, id)
	approvalID := inv.Identity().InvocationID() + ".1"
	request, ok := state["approval"].(map[string]any)
	if !ok || state["status"] != "waiting_approval" {
		t.Fatalf("state %v, want a call that waits for approval", state)
	}
	for field, want := range map[string]any{
		"approvalId": approvalID, "toolId": "core__write_file", "effect": "state_change", "risk": "medium", "requestedBy": e2etest.Actor,
		"args": map[string]any{"path": "out.md", "content": "hello"},
	} {
		if !reflect.DeepEqual(request[field], want) {
			t.Errorf("approval.%s is %v, want %v", field, request[field], want)
		}
	}
	for _, field := range []string{"digest", "approvers", "expiresAtMs", "message"} {
		if request[field] == nil {
			t.Errorf("approval.%s is missing", field)
		}
	}

	file := filepath.Join(w.Workspace, "out.md")
	if _, err := os.Stat(file); err == nil {
		t.Fatal("the file was written before anybody approved")
	}
	w.MustCLI("workflow", "signal", "--name", "decide", "--workflow-id", id,
		"--input", fmt.Sprintf(`{"approvalId":%q,"decision":"approve","approver":"user:ann"}`, approvalID))
	result := rawResult(w, id)
	if content, err := os.ReadFile(file); err != nil || string(content) != "hello" {
		t.Errorf("the file holds %q (%v), want hello", content, err)
	}
	started, ended := result["startedAtMs"], result["endedAtMs"]
	delete(result, "startedAtMs")
	delete(result, "endedAtMs")
	want := map[string]any{
		"toolCallId": "call", "invocationId": inv.Identity().InvocationID(), "inputDigest": state["inputDigest"], "ok": true,
		"value": map[string]any{"bytesWritten": 5.0, "sha256": helloSHA}, "source": "executed", "attempts": 1.0, "bytes": 94.0,
	}
	if !reflect.DeepEqual(result, want) {
		t.Errorf("result %v, want %v", result, want)
	}
	if from, to := started.(float64), ended.(float64); from <= 0 || to < from {
		t.Errorf("started at %v, ended at %v", started, ended)
	}
	// A signal after the end of the call is an error for its sender, and the result stays.
	if _, err := w.CLI("workflow", "signal", "--name", "decide", "--workflow-id", id,
		"--input", fmt.Sprintf(`{"approvalId":%q,"decision":"deny","approver":"user:ben"}`, approvalID)); err == nil {
		t.Error("a settled call took a signal")
	}
	if record := w.Record(inv); record.Outcome != "ok" || record.Approvals[0].Approver != e2etest.Ann {
		t.Errorf("the record ended %q, approved by %q", record.Outcome, record.Approvals[0].Approver)
	}
}

// TestRawUpdate decides by updates: a malformed update leaves no event in the history, a decision of the requester does not count, and a decision of another
// person counts.
func TestRawUpdate(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	const id = "tool:acme:run:call"
	rawStart(w, id, "--input", fmt.Sprintf(rawInput, "call", "out.md"))
	approvalID, _ := rawState(w, id)["approval"].(map[string]any)["approvalId"].(string)
	update := func(payload string) (string, error) {
		return w.CLI("workflow", "update", "execute", "--name", "decide", "--workflow-id", id, "--input", payload)
	}

	before := len(w.History(id, "").GetEvents())
	for _, malformed := range []string{
		`{}`, `7`, `{"approvalId":"nonsense","decision":"approve","approver":"user:ann"}`,
		fmt.Sprintf(`{"approvalId":%q,"decision":"perhaps","approver":"user:ann"}`, approvalID),
		fmt.Sprintf(`{"approvalId":%q,"decision":"approve"}`, approvalID),
		`{"approvalId":"00000000-0000-8000-8000-000000000000.1","decision":"approve","approver":"user:ann"}`,
	} {
		if answer, err := update(malformed); err == nil {
			t.Errorf("the update %s was taken, with the answer %s", malformed, answer)
		}
	}
	for _, e := range w.History(id, "").GetEvents()[before:] {
		// The server writes the events of workflow tasks, also because of a busy machine. They say nothing about the update.
		if e.GetWorkflowTaskScheduledEventAttributes() == nil && e.GetWorkflowTaskStartedEventAttributes() == nil &&
			e.GetWorkflowTaskCompletedEventAttributes() == nil && e.GetWorkflowTaskTimedOutEventAttributes() == nil &&
			e.GetWorkflowTaskFailedEventAttributes() == nil {
			t.Errorf("a refused update left %s in the history", e.GetEventType())
		}
	}

	for _, step := range []struct {
		approver string
		counted  bool
		reason   string
	}{
		{e2etest.Actor, false, "requester"},
		{e2etest.Ann, true, ""},
	} {
		text, err := update(fmt.Sprintf(`{"approvalId":%q,"decision":"approve","approver":%q}`, approvalID, step.approver))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Result toolspec.Answer }
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Result.Counted != step.counted || !strings.Contains(answer.Result.Reason, step.reason) ||
			step.counted != (answer.Result.Reason == "") {
			t.Errorf("%s approves: the answer is %+v", step.approver, answer.Result)
		}
	}
	if result := rawResult(w, id); result["ok"] != true {
		t.Errorf("result %v", result)
	}
	if content, err := os.ReadFile(filepath.Join(w.Workspace, "out.md")); err != nil || string(content) != "hello" {
		t.Errorf("the file holds %q (%v), want hello", content, err)
	}
}

// TestRawFailure compares the result of a failed call with its documented JSON.
func TestRawFailure(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	rawStart(w, "tool:acme:run:bad", "--input",
		`{"toolId":"core__read_file","toolCallId":"bad","args":{"path":7},"context":{"tenantId":"acme","runId":"run","actorId":"agent:one"}}`)
	result := rawResult(w, "tool:acme:run:bad")
	details, _ := result["details"].(map[string]any)
	if result["ok"] != false || result["errorCode"] != "validation" || result["httpStatus"] != 422.0 || result["attempts"] != 0.0 ||
		result["safeMessage"] == "" || details["path"] != "/path" || details["kind"] != "type_mismatch" {
		t.Errorf("result %v", result)
	}
	want := []string{
		"attempts", "details", "endedAtMs", "errorCode", "httpStatus", "inputDigest", "invocationId", "ok", "safeMessage", "startedAtMs", "toolCallId",
	}
	if got := e2etest.SortedKeys(result); !slices.Equal(got, want) {
		t.Errorf("fields %v, want %v", got, want)
	}
}
