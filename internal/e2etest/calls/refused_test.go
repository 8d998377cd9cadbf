package calls

import (
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
)

// TestRefusedInput: an input that admit refuses gives a completed workflow with the code `validation`, no record, and one event without any text of the
// input.
func TestRefusedInput(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	const shaped = "sk-abcdefghijklmnopqrstuvwx"
	field := func(context string) string {
		return `{"toolId":"core__ls","toolCallId":"call","args":{},"context":{"runId":"run",` + context + `}}`
	}
	for name, c := range map[string]struct {
		id   string // "" = tool:acme:run:call, with another number in the place of run for each case
		kind string
		send []any
	}{
		"nothing":        {kind: "undecodable"},
		"a list":         {kind: "type_mismatch", send: e2etest.RawArgs(`[1,2]`)},
		"a number":       {kind: "type_mismatch", send: e2etest.RawArgs(`7`)},
		"null":           {kind: "", send: e2etest.RawArgs(`null`)},
		"a wrong type":   {kind: "type_mismatch", send: e2etest.RawArgs(`{"toolId":7}`)},
		"a binary":       {kind: "undecodable", send: []any{[]byte{0, 1, 2}}},
		"an unknown":     {kind: "unknown_field", send: e2etest.RawArgs(field(`"tenantId":"acme","actorId":"agent:a","budget":1`))},
		"a secret name":  {kind: "secret_shaped", send: e2etest.RawArgs(field(`"tenantId":"acme","actorId":"agent:a","apiKey":"x"`))},
		"a secret value": {kind: "secret_shaped", send: e2etest.RawArgs(field(`"tenantId":"acme","actorId":"agent:a","sessionId":"` + shaped + `"`))},
		"a secret in it": {kind: "secret_shaped", send: e2etest.RawArgs(`{"toolId":"core__ls","toolCallId":"call","args":{"path":"` + shaped + `"},"context":{}}`)},
		"no tenant":      {kind: "invalid_field", send: e2etest.RawArgs(field(`"actorId":"agent:a"`))},
		"no actor":       {kind: "invalid_field", send: e2etest.RawArgs(field(`"tenantId":"acme"`))},
		"a role":         {kind: "invalid_field", send: e2etest.RawArgs(field(`"tenantId":"acme","actorId":"role:ops"`))},
		"another's id": {kind: "foreign_workflow_id", id: "tool:acme:run:other",
			send: e2etest.RawArgs(field(`"tenantId":"acme","actorId":"agent:a"`))},
		"another's realm": {kind: "foreign_workflow_id", id: "tool:globex:run:call",
			send: e2etest.RawArgs(field(`"tenantId":"acme","actorId":"agent:a"`))},
		"a key twice": {kind: "", send: e2etest.RawArgs(`{"toolId":"core__ls","toolId":"core__grep"}`)},
		"too large":   {kind: "", send: e2etest.RawArgs(`{"toolId":"` + strings.Repeat("x", toolspec.MaxInvocation) + `"}`)},
	} {
		t.Run(name, func(t *testing.T) {
			w := *w
			w.T = t
			id := c.id
			if id == "" {
				id = "tool:acme:" + strings.ReplaceAll(name, " ", "-") + ":call"
				id = strings.ReplaceAll(id, "'", "")
			}
			run, err := w.Temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: toolspec.TaskQueue},
				toolspec.WorkflowType, c.send...)
			if err != nil {
				t.Fatal(err)
			}
			wantRefused(&w, run, c.kind)
			for _, e := range w.History(id, "").GetEvents() {
				if e.GetEventId() > 1 && strings.Contains(e.String(), shaped) {
					t.Errorf("the secret stands in %s", e.GetEventType())
				}
			}
			if strings.Contains(w.Log.String(), shaped) {
				t.Error("the secret stands in the log")
			}
		})
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*) FROM invocations`); n != 0 {
		t.Errorf("refused input made %d records", n)
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*) FROM events WHERE detail::text LIKE '%sk-%'`); n != 0 {
		t.Error("the secret stands in an event")
	}
}

// TestRefusedByCLI sends such input with the temporal program, as a person could type it.
func TestRefusedByCLI(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	w.Work()
	for name, input := range map[string][]string{
		"none": nil, "list": {"--input", "[1,2]"}, "number": {"--input", "7"}, "type": {"--input", `{"toolId":7}`},
		"bytes": {"--input", `not json`, "--input-meta", "encoding=binary/plain"},
		"two":   {"--input", `{}`, "--input", `{}`},
	} {
		id := "tool:acme:" + name + ":call"
		rawStart(w, id, input...)
		wantRefused(w, w.Temporal.GetWorkflow(t.Context(), id, ""), "")
	}
}

// wantRefused waits for the end of a workflow, and fails unless it has the code `validation`, one event and no record. kind is the expected kind of the
// details, and "" means any.
func wantRefused(w *e2etest.World, run client.WorkflowRun, kind string) {
	w.T.Helper()
	result := w.Ended(run)
	if result.OK || result.ErrorCode != toolspec.CodeValidation || result.Attempts != 0 {
		w.T.Errorf("result %+v, want validation", result)
	}
	if kind != "" && (result.Details == nil || result.Details.Kind != kind) {
		w.T.Errorf("details %+v, want the kind %s", result.Details, kind)
	}
	n := e2etest.Scalar[int](w, `SELECT count(*) FROM events WHERE kind = 'refused' AND workflow_id = $1`, run.GetID())
	if n < 1 || n > 1 && (n > 4 || w.TriedAgain(run.GetID(), run.GetRunID()) == 0) {
		// If the answer to the write was lost on a busy machine, the step was repeated and wrote another event. The history shows the repetition.
		w.T.Errorf("%s: %d events say that the input was refused, want one", run.GetID(), n)
	}
	if n := e2etest.Scalar[int](w, `SELECT count(*) FROM invocations WHERE workflow_id = $1`, run.GetID()); n != 0 {
		w.T.Errorf("%s: refused input made a record", run.GetID())
	}
}
