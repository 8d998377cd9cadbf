package attack

import (
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/toolspec"
)

// holeAttacks are cases that succeed, or that no audit event tells of.
func holeAttacks() []attack {
	execute, invoke := target{activities, "execute"}, target{workflowTypes, "InvokeTool"}
	return []attack{
		{target: execute, what: "answered with a worker's refusal of a copy", run: answeredWithARefusal},
		{target: execute, what: "answered with refusals of copies, again and again", run: answeredWithRefusals},
		{target: invoke, what: "in another namespace of the database", run: invokedElsewhere},
		{target: invoke, what: "after a workflow of the attacker's took its id", run: invokedTooLate},
	}
}

// refusalOf has a worker turn down a copy of a running attempt: the refusal has the receipt of a worker, over the very input.
func refusalOf(t *testing.T, w *world, running scheduled) answer {
	t.Helper()
	refused := w.attacker.schedule(t, anyID(), task{"execute", running.input})[0]
	w.turnedDown(t, forgery{what: "a copy of an attempt", outcomes: []string{"unpermitted"}}, refused)
	return refused
}

// answeredWithARefusal answers an attempt with what a worker said of a copy of it.
func answeredWithARefusal(t *testing.T, w *world) {
	inv, running := heldCall(t, w, "answered with a refusal", toolSend)
	refused := refusalOf(t, w, running)
	w.attacker.complete(t, inv.Identity().WorkflowID(), running.id, refused.payload)
	w.lostOnce(t, inv, 1)
}

// answeredWithRefusals does so with a tool that may be repeated: each effect is that of an attempt, and attempts have an end.
func answeredWithRefusals(t *testing.T, w *world) {
	const id = "answered with refusals"
	inv := call(id, toolPut, args("text", noteHold))
	started := w.start(t, inv)
	t.Cleanup(func() { w.effects.release(inTool(id)) })
	for n := range 2 {
		running := w.attacker.running(t, started.WorkflowID, "execute", n+1)
		until(t, "the tool has its effect", func() bool { return w.effects.arrivals(inTool(id)) > n })
		w.attacker.complete(t, started.WorkflowID, running.id, refusalOf(t, w, running).payload)
	}
	w.effects.release(inTool(id))
	result := w.result(t, started)
	if n := w.effects.of(id); n > result.Attempts {
		t.Errorf("the tool had its effect %d times in what counts as %d attempts", n, result.Attempts)
	}
}

// invokedElsewhere starts a running call a second time, in another namespace whose workers share the database. It is no run of the call.
func invokedElsewhere(t *testing.T, w *world) {
	inv, _ := heldCall(t, w, "invoked elsewhere", toolSend)
	run := w.record(t, inv).TemporalRunID
	neighbour := w.neighbour(t)
	again, err := neighbour.temporal.ExecuteWorkflow(t.Context(), startOf(inv), toolspec.WorkflowType, converter.NewRawValue(plain(inv)))
	if err != nil {
		t.Fatal(err)
	}
	if result := neighbour.ended(t, again); result.OK {
		t.Errorf("elsewhere it ended with %+v", result)
	}
	if record := w.record(t, inv); record.TemporalRunID != run || record.Status == toolspec.StatusSettled {
		t.Errorf("a run of another namespace took the record over: the call is %s (%+v) while its tool runs", record.Status, record.Result)
	}
	w.effects.release(inTool("invoked elsewhere"))
	w.endsRightly(t, inv)
}

// invokedTooLate runs a workflow of the attacker's under the id of a call to come. The caller is told no result of his.
func invokedTooLate(t *testing.T, w *world) {
	inv := call("too late", toolSend, args("text", ""))
	run, err := w.attacker.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: inv.Identity().WorkflowID(), TaskQueue: foreignQueue}, resultType,
		converter.NewRawValue(plain(object{"ok": true, "toolId": inv.ToolID, "toolCallId": inv.ToolCallID, "value": object{"text": madeUp}})))
	if err == nil {
		err = run.Get(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := soon(t)
	defer cancel()
	started, err := w.pawl.Start(ctx, inv)
	if err != nil {
		return // it is refused: so be it
	}
	if result, err := w.pawl.Result(ctx, started); err == nil {
		t.Errorf("the caller is told %s, which no worker said", result.Value)
	}
}
