package e2etest

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

const noSchemaPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: yolo
    noSchemaMode: ask
    rules:
      - {tool: "test__*", decision: allow}
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
  globex:
    allowedTools: ["test__*"]
    mode: yolo
    approvals: {enabled: true, expiresAfter: 1h, allowUnsigned: true}
`

// TestToolWithoutSchema (SP-23, SP-24, C-42): a tool without an input schema is
// denied unless policy says otherwise, and then each call waits for a person,
// whatever mode and rules say; its author's deny stands above that.
func TestToolWithoutSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t, noSchemaPolicy)
	var effects ledger
	open := func(id string, mode toolspec.NoSchemaMode) toolspec.Tool {
		return toolspec.DefineSchema(toolspec.Definition{
			ID: id, Description: "Takes anything.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}}, AllowNoSchema: true, NoSchemaMode: mode,
		}, nil, json.RawMessage(`{"type":"object"}`), func(_ context.Context, args json.RawMessage, call toolspec.Call) (json.RawMessage, error) {
			effects.add(call)
			return args, nil
		})
	}
	w.work(worker.Tools(open("test__open", toolspec.NoSchemaAsk), open("test__never", toolspec.NoSchemaDeny)))

	asks := w.start(invocation("asks", "test__open", `{"text":"hello","anything":[1]}`))
	w.waiting(asks.WorkflowID)
	if effects.of("asks") != 0 {
		t.Error("it ran before anybody was asked")
	}
	w.approve(asks.WorkflowID)
	wantText(t, w.result(asks), "hello")

	denied := invocation("denied", "test__open", `{"text":"hello"}`)
	denied.Context.TenantID = "globex"
	wantCode(t, w.result(w.start(denied)), toolspec.CodePolicyDenied)
	if r := w.result(w.start(invocation("never", "test__never", `{"text":"hello"}`))); r.OK {
		t.Errorf("its author denies it: %+v", r)
	}
	if r := w.result(w.start(invocation("list", "test__open", `["text"]`))); r.OK {
		t.Errorf("arguments that are no object: %+v", r)
	}
	if effects.of("asks") != 1 || effects.of("denied")+effects.of("never")+effects.of("list") != 0 {
		t.Errorf("the runs were %v", effects.counts)
	}
}
