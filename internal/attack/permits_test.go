package attack

import (
	"encoding/json"
	"slices"
	"testing"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/pawl-run/pawl/toolspec"
)

// permitAttacks schedule attempts with permits that a gate has given, from other runs.
func permitAttacks() []attack {
	execute, reconcile := target{activities, "execute"}, target{activities, "reconcile"}
	return []attack{
		{target: execute, what: "permitted to a run that is over", run: permitOfAnEnded},
		{target: execute, what: "permitted to a run that was terminated", run: permitOfATerminated},
		{target: execute, what: "permitted to the run before a reset", run: permitBeforeAReset},
		{target: execute, what: "of a tool whose attempts run inside the workflow task", run: attemptOfAQuickCall},
		{target: reconcile, what: "permitted to a run that was terminated", run: probeOfATerminated},
	}
}

// permitOfAnEnded takes the workflow id of a call that has ended, and schedules its attempt again, as it was and under the next number.
func permitOfAnEnded(t *testing.T, w *world) {
	inv := call("ended", toolPut, args("text", ""))
	started := w.start(t, inv)
	w.endsRightly(t, inv)
	w.replayed(t, inv, "execute", "unpermitted", w.attacker.activities(t, started.WorkflowID, "execute")[0], 1)
}

// attemptOfAQuickCall schedules the attempt of a call in the claimed lane as an activity, with the permit of another call: its own permit
// is in no input of an activity.
func attemptOfAQuickCall(t *testing.T, w *world) {
	inv, other := call("quick", toolQuick, args("text", "")), call("quick's other", toolPut, args("text", ""))
	started := w.start(t, inv)
	w.endsRightly(t, inv)
	if n := len(w.attacker.activities(t, started.WorkflowID, "execute")); n != 0 {
		t.Errorf("the call has %d activities execute", n)
	}
	stolen := w.start(t, other)
	w.endsRightly(t, other)
	genuine := w.attacker.activities(t, stolen.WorkflowID, "execute")[0]
	if w.sealed {
		return // the attacker cannot change an input
	}
	var in object
	if err := json.Unmarshal(genuine.input.GetData(), &in); err != nil {
		t.Fatal(err)
	}
	facts, ok := in["facts"].(object)
	if !ok {
		t.Fatalf("the input has the facts %v", in["facts"])
	}
	in["facts"] = with(facts, object{
		"toolId": toolQuick, "toolCallId": inv.ToolCallID, "invocationId": inv.Identity().InvocationID(), "toolDigest": w.record(t, inv).Plan.ToolDigest,
		"effect": toolspec.ExternalSideEffect,
	})
	for _, dispatch := range []int{0, 1, 2} {
		for _, a := range w.attacker.schedule(t, inv.Identity().WorkflowID(), task{"execute", plain(with(in, object{"dispatch": dispatch, "planVersion": 5}))}) {
			w.turnedDown(t, forgery{what: "an attempt of a quick call", outcomes: []string{"unpermitted"}}, a)
		}
	}
	if n := w.effects.of(inv.ToolCallID); n != 1 {
		t.Errorf("the call had its effect %d times", n)
	}
}

// permitOfATerminated does so with a call that the attacker terminated between two attempts: its record is open, and all its attempts are
// accounted for.
func permitOfATerminated(t *testing.T, w *world) {
	inv, running := heldCall(t, w, "terminated", toolPut)
	id := inv.Identity().WorkflowID()
	if err := w.attacker.client.TerminateWorkflow(t.Context(), id, "", ""); err != nil {
		t.Fatal(err)
	}
	w.replayed(t, inv, "execute", "unpermitted", running, 1)
	// Who submits the call again gets an attempt of the right kind: the tool may be repeated.
	w.effects.release(inTool("terminated"))
	again, err := w.attacker.client.ExecuteWorkflow(t.Context(), startOf(inv), toolspec.WorkflowType, w.input(t, inv))
	if err != nil {
		t.Fatal(err)
	}
	if result := w.ended(t, again); !result.OK || textOf(result.Value) != textOf(inv.Args) {
		t.Errorf("the call ended with %+v", result)
	}
}

// probeOfATerminated asks for a probe in the place of a run that was terminated while it probed.
func probeOfATerminated(t *testing.T, w *world) {
	const id = "terminated probe"
	inv := call(id, toolOrder, args("text", noteLate))
	started := w.start(t, inv)
	running := w.attacker.running(t, started.WorkflowID, "reconcile", 1)
	until(t, id+" is probed", func() bool { return w.effects.arrivals(inProbe(id)) > 0 })
	if err := w.attacker.client.TerminateWorkflow(t.Context(), started.WorkflowID, "", ""); err != nil {
		t.Fatal(err)
	}
	w.effects.release(inProbe(id))
	probes := w.effects.arrivals(inProbe(id))
	w.replayed(t, inv, "reconcile", "lost", running, 1)
	if n := w.effects.arrivals(inProbe(id)); n != probes {
		t.Errorf("the tool was probed %d times, want %d", n, probes)
	}
}

// replayed schedules a copy of an activity, and of what the attacker can change in it, from a workflow of his under the id of the call. No
// copy has an effect.
func (w *world) replayed(t *testing.T, inv toolspec.Invocation, name, outcome string, genuine scheduled, effects int) {
	t.Helper()
	tasks := []task{{name, genuine.input}}
	if !w.sealed {
		for _, change := range []object{{"dispatch": 2}, {"dispatch": 0}, {"dispatch": 2, "epoch": 2}, {"dispatch": 2, "epoch": 2, "answered": []object{{"dispatch": 1, "token": "T"}}}} {
			var in object
			if err := json.Unmarshal(genuine.input.GetData(), &in); err != nil {
				t.Fatal(err)
			}
			tasks = append(tasks, task{name, plain(with(in, change))})
		}
	}
	for _, a := range w.attacker.schedule(t, inv.Identity().WorkflowID(), tasks...) {
		w.turnedDown(t, forgery{what: "a copy of " + name + " of " + inv.ToolCallID, outcomes: []string{outcome}}, a)
	}
	if n := w.effects.of(inv.ToolCallID); n != effects {
		t.Errorf("%s had its effect %d times, want %d", inv.ToolCallID, n, effects)
	}
}

// permitBeforeAReset resets a call, approved by a person, to the task after its gate: the permit is in the history that both runs share.
func permitBeforeAReset(t *testing.T, w *world) {
	inv, running := heldCall(t, w, "reset", toolSend)
	id := inv.Identity().WorkflowID()
	var last int64
	for _, e := range w.attacker.history(t, id, "") {
		if e.GetWorkflowTaskCompletedEventAttributes() != nil {
			last = e.GetEventId()
		}
	}
	d, err := w.attacker.client.DescribeWorkflowExecution(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.attacker.client.ResetWorkflowExecution(t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: w.namespace, WorkflowExecution: d.GetWorkflowExecutionInfo().GetExecution(), WorkflowTaskFinishEventId: last, RequestId: "reset",
	}); err != nil {
		t.Fatal(err)
	}
	w.lostOnce(t, inv, 0)
	// The run before it is over: nobody can answer its attempt any more, and a copy of that is worth nothing.
	w.replayed(t, inv, "execute", "unpermitted", running, 1)
	if effects := w.effects.all(); slices.ContainsFunc(effects, func(e effect) bool { return e.toolCallID == "reset" && e.text != textOf(inv.Args) }) {
		t.Errorf("it had another effect: %+v", effects)
	}
}
