package approvals

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
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
// denied unless policy allows such tools. If policy allows them, each call waits for
// a person, in every mode and under every rule. If the author of the tool has denied
// calls without a schema, policy cannot allow them.
func TestToolWithoutSchema(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, noSchemaPolicy)
	var effects e2etest.Ledger
	open := func(id string, mode toolspec.NoSchemaMode) toolspec.Tool {
		return toolspec.DefineSchema(toolspec.Definition{
			ID: id, Description: "Takes anything.", Version: "1", Effect: toolspec.ReadOnly, Risk: toolspec.LowRisk,
			Redaction: toolspec.Redaction{Allow: []string{"/text"}}, AllowNoSchema: true, NoSchemaMode: mode,
		}, nil, json.RawMessage(`{"type":"object"}`), func(_ context.Context, args json.RawMessage, call toolspec.Call) (json.RawMessage, error) {
			effects.Add(call)
			return args, nil
		})
	}
	w.Work(worker.Tools(open("test__open", toolspec.NoSchemaAsk), open("test__never", toolspec.NoSchemaDeny)))

	asks := w.Start(e2etest.Invocation("asks", "test__open", `{"text":"hello","anything":[1]}`))
	w.Waiting(asks.WorkflowID)
	if effects.Of("asks") != 0 {
		t.Error("it ran before anybody was asked")
	}
	w.Approve(asks.WorkflowID)
	e2etest.WantText(t, w.Result(asks), "hello")

	denied := e2etest.Invocation("denied", "test__open", `{"text":"hello"}`)
	denied.Context.TenantID = "globex"
	e2etest.WantCode(t, w.Result(w.Start(denied)), toolspec.CodePolicyDenied)
	if r := w.Result(w.Start(e2etest.Invocation("never", "test__never", `{"text":"hello"}`))); r.OK {
		t.Errorf("its author denies it: %+v", r)
	}
	if r := w.Result(w.Start(e2etest.Invocation("list", "test__open", `["text"]`))); r.OK {
		t.Errorf("arguments that are no object: %+v", r)
	}
	if effects.Of("asks") != 1 || effects.Of("denied")+effects.Of("never")+effects.Of("list") != 0 {
		t.Errorf("the runs were %v", effects.Counts)
	}
}
