package attack

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"go.temporal.io/api/activity/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/pawl-run/pawl/toolspec"
)

// textOf is the text of arguments or of a value.
func textOf(raw json.RawMessage) string {
	var v in
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	return v.Text
}

// answerAttacks answer activities that a worker runs at that moment.
func answerAttacks() []attack {
	execute := target{activities, "execute"}
	var all []attack
	for what, made := range map[string]object{
		"a value":             {"outcome": "done", "token": "T", "value": object{"text": madeUp}},
		"nothing happened":    {"outcome": "refused", "token": "T", "nothingHappened": true, "retryable": true, "failure": object{"code": "rate_limited"}},
		"undispatched":        {"outcome": "undispatched"},
		"undispatched, token": {"outcome": "undispatched", "token": "T"},
		"unpermitted":         {"outcome": "unpermitted"},
		"superseded":          {"outcome": "superseded"},
		"redelivered":         {"outcome": "redelivered"},
		"unleased":            {"outcome": "unleased"},
		"changed":             {"outcome": "changed"},
		"missing":             {"outcome": "missing", "by": "tool"},
		"unheard of":          {"outcome": "unheard of"},
		"a refusal":           {"outcome": "refused", "failure": object{"code": "policy_denied", "safeMessage": madeUp}},
	} {
		all = append(all, attack{target: execute, what: "answered with " + what, run: func(t *testing.T, w *world) { answeredExecute(t, w, "answer "+what, plain(made)) }})
	}
	undecodable := plain(nil)
	undecodable.Data = []byte("{")
	return append(all,
		attack{target: execute, what: "answered with rubbish", run: func(t *testing.T, w *world) { answeredExecute(t, w, "answer rubbish", undecodable) }},
		attack{target: execute, what: "answered with another call's answer", run: answeredWithAnothers},
		attack{target: execute, what: "answered with an earlier attempt's answer", run: answeredWithAnEarlier},
		attack{target: execute, what: "failed", run: failedExecute},
		attack{target: execute, what: "cancelled, and beaten for", run: beatenExecute},
		attack{target: execute, what: "failed, and tried again by the server", run: retriedExecute},
		attack{target: target{activities, "reconcile"}, what: "answered", run: answeredReconcile},
		attack{target: target{activities, "willAcquireQuota"}, what: "answered", run: answeredStage},
		attack{target: target{activities, "willAcquireQuota"}, what: "polled", run: polledStage},
	)
}

// heldCall starts a call whose tool waits after its effect, and returns its activity.
func heldCall(t *testing.T, w *world, id, toolID string) (toolspec.Invocation, scheduled) {
	t.Helper()
	inv := call(id, toolID, args("text of "+id, noteHold))
	started := w.start(t, inv)
	until(t, id+" has its effect", func() bool { return w.effects.arrivals(inTool(id)) > 0 })
	t.Cleanup(func() { w.effects.release(inTool(id)) })
	return inv, w.attacker.running(t, started.WorkflowID, "execute", 1)
}

// lostOnce fails unless a call that must not be repeated ended as one whose attempt was lost: the effect happened once, and the record knows
// no more. forged is how many made-up answers the audit trail has.
func (w *world) lostOnce(t *testing.T, inv toolspec.Invocation, forged int) {
	t.Helper()
	result := w.result(t, w.start(t, inv))
	if result.OK || result.ErrorCode != toolspec.CodeOutcomeUnknown {
		t.Errorf("%s ended with ok=%t %q (%s) and %s, want %s", inv.ToolCallID, result.OK, result.ErrorCode, result.SafeMessage, result.Value, toolspec.CodeOutcomeUnknown)
	}
	if n := w.effects.of(inv.ToolCallID); n != 1 {
		t.Errorf("%s had its effect %d times, want once", inv.ToolCallID, n)
	}
	if n := w.forged(t, inv); n != forged {
		t.Errorf("the audit trail of %s has %d forged answers, want %d", inv.ToolCallID, n, forged)
	}
}

func answeredExecute(t *testing.T, w *world, id string, made *common.Payload) {
	inv, running := heldCall(t, w, id, toolSend)
	w.attacker.complete(t, inv.Identity().WorkflowID(), running.id, made)
	w.lostOnce(t, inv, 1)
}

// answeredWithAnothers copies what a worker answered for another call of the tool, with its receipt.
func answeredWithAnothers(t *testing.T, w *world) {
	other := call("answered before", toolSend, args(madeUp, ""))
	started := w.start(t, other)
	w.endsRightly(t, other)
	genuine := w.attacker.activities(t, started.WorkflowID, "execute")[0]
	inv, running := heldCall(t, w, "answered with another's", toolSend)
	w.attacker.complete(t, inv.Identity().WorkflowID(), running.id, genuine.answer)
	w.lostOnce(t, inv, 1)
}

// answeredWithAnEarlier copies what a worker answered for the attempt before, of a call that may be repeated: that goes on.
func answeredWithAnEarlier(t *testing.T, w *world) {
	const id = "answered with an earlier"
	inv := call(id, toolPut, args("text", noteAgain))
	started := w.start(t, inv)
	until(t, "the second attempt", func() bool { return w.effects.arrivals(inTool(id)) > 0 })
	running := w.attacker.running(t, started.WorkflowID, "execute", 2)
	genuine := w.attacker.activities(t, started.WorkflowID, "execute")[0]
	w.attacker.complete(t, started.WorkflowID, running.id, genuine.answer)
	w.effects.release(inTool(id))
	if result := w.result(t, started); !result.OK || textOf(result.Value) != "text" || result.Attempts != 3 || w.effects.of(id) != 3 {
		t.Errorf("it ended with %+v after %d effects", result, w.effects.of(id))
	}
	if n := w.forged(t, inv); n != 1 {
		t.Errorf("the audit trail has %d forged answers, want 1", n)
	}
}

// failedExecute has the activity fail as one that may be tried again.
func failedExecute(t *testing.T, w *world) {
	inv, running := heldCall(t, w, "failed", toolSend)
	if _, err := w.attacker.client.WorkflowService().RespondActivityTaskFailedById(t.Context(), &workflowservice.RespondActivityTaskFailedByIdRequest{
		Namespace: w.namespace, WorkflowId: inv.Identity().WorkflowID(), ActivityId: running.id,
		Failure: again(),
	}); err != nil {
		t.Fatal(err)
	}
	w.lostOnce(t, inv, 0)
}

// beatenExecute says that the activity was cancelled, which nobody asked for, and beats in its place.
func beatenExecute(t *testing.T, w *world) {
	inv, running := heldCall(t, w, "beaten", toolSend)
	workflowID := inv.Identity().WorkflowID()
	if _, err := w.attacker.client.WorkflowService().RecordActivityTaskHeartbeatById(t.Context(), &workflowservice.RecordActivityTaskHeartbeatByIdRequest{
		Namespace: w.namespace, WorkflowId: workflowID, ActivityId: running.id,
		Details: &common.Payloads{Payloads: []*common.Payload{plain(object{"outcome": "done", "value": object{"text": madeUp}})}},
	}); err != nil {
		t.Fatal(err)
	}
	_, err := w.attacker.client.WorkflowService().RespondActivityTaskCanceledById(t.Context(), &workflowservice.RespondActivityTaskCanceledByIdRequest{
		Namespace: w.namespace, WorkflowId: workflowID, ActivityId: running.id,
	})
	var refused *serviceerror.InvalidArgument
	if !errors.As(err, &refused) {
		t.Errorf("the server takes it: %v", err)
	}
	w.effects.release(inTool("beaten"))
	w.endsRightly(t, inv)
}

// retriedExecute allows the activity more attempts than it has, and has it fail: the worker gets the same task a second time.
func retriedExecute(t *testing.T, w *world) {
	inv, running := heldCall(t, w, "tried again", toolSend)
	service, id := w.attacker.client.WorkflowService(), inv.Identity().WorkflowID()
	if _, err := service.UpdateActivityOptions(t.Context(), &workflowservice.UpdateActivityOptionsRequest{
		Namespace: w.namespace, Execution: &common.WorkflowExecution{WorkflowId: id},
		Activity:        &workflowservice.UpdateActivityOptionsRequest_Id{Id: running.id},
		ActivityOptions: &activity.ActivityOptions{RetryPolicy: &common.RetryPolicy{MaximumAttempts: 5}},
		UpdateMask:      &fieldmaskpb.FieldMask{Paths: []string{"retry_policy.maximum_attempts"}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := service.RespondActivityTaskFailedById(t.Context(), &workflowservice.RespondActivityTaskFailedByIdRequest{
		Namespace: w.namespace, WorkflowId: id, ActivityId: running.id, Failure: again(),
	}); err != nil {
		t.Fatal(err)
	}
	w.lostOnce(t, inv, 0)
	if answered := w.attacker.activities(t, id, "execute"); len(answered) != 1 || answered[0].answer == nil {
		t.Errorf("the worker did not get the task again: %+v", answered)
	}
}

// answeredReconcile answers each probe of a call whose effect happened, but the last: it is asked again, and tells what is so.
func answeredReconcile(t *testing.T, w *world) {
	const id = "reconciled"
	inv := call(id, toolOrder, args("text", noteLate))
	started := w.start(t, inv)
	made := []object{{"outcome": "done", "value": object{"text": madeUp}}, {"outcome": "free"}}
	for i, one := range made {
		running := w.attacker.running(t, started.WorkflowID, "reconcile", i+1)
		w.attacker.complete(t, started.WorkflowID, running.id, plain(one))
	}
	w.effects.release(inProbe(id))
	w.endsRightly(t, inv)
	if n := w.forged(t, inv); n != len(made) {
		t.Errorf("the audit trail has %d forged answers, want %d", n, len(made))
	}
}

// answeredStage answers a durable hook ahead of the tool. No answer of the attacker's lets the call go on.
func answeredStage(t *testing.T, w *world) {
	for what, made := range map[string]object{
		"go on":           {"durationUs": 1},
		"other arguments": {"delta": object{"args": object{"text": madeUp}, "safeArgs": object{"text": madeUp}}},
		"a value":         {"outcome": "respond", "value": object{"text": madeUp}},
		"another output":  {"delta": object{"output": object{"text": madeUp}}},
	} {
		id := "stage " + what
		inv := call(id, toolHooked, args("text", ""))
		started := w.start(t, inv)
		running := w.attacker.running(t, started.WorkflowID, "willAcquireQuota", 1)
		w.attacker.complete(t, started.WorkflowID, running.id, plain(made))
		w.endsWithout(t, inv)
		w.effects.release(inHook(id))
	}
}

// endsWithout fails unless a call ended by a forged answer without any effect.
func (w *world) endsWithout(t *testing.T, inv toolspec.Invocation) {
	t.Helper()
	if result := w.result(t, w.start(t, inv)); result.OK || result.ErrorCode != toolspec.CodeInternal || len(result.Value) > 0 {
		t.Errorf("%s ended with %+v", inv.ToolCallID, result)
	}
	if n := w.effects.of(inv.ToolCallID); n != 0 {
		t.Errorf("%s had its effect %d times, want never", inv.ToolCallID, n)
	}
	if n := w.forged(t, inv); n != 1 {
		t.Errorf("the audit trail of %s has %d forged answers, want 1", inv.ToolCallID, n)
	}
}

// polledStage has the server hand the task of a durable hook to the attacker, who answers it by its token as a worker does. On the victim's
// own queue, where the worker polls too, that is a matter of luck; so the attacker moves the activity to a queue of his.
func polledStage(t *testing.T, w *world) {
	const id = "polled"
	inv := call(id, toolHooked, args("text", ""))
	started := w.start(t, inv)
	running := w.attacker.running(t, started.WorkflowID, "willAcquireQuota", 1)
	service, queue := w.attacker.client.WorkflowService(), &taskqueue.TaskQueue{Name: anyID()}
	if _, err := service.UpdateActivityOptions(t.Context(), &workflowservice.UpdateActivityOptionsRequest{
		Namespace: w.namespace, Execution: &common.WorkflowExecution{WorkflowId: started.WorkflowID},
		Activity:        &workflowservice.UpdateActivityOptionsRequest_Id{Id: running.id},
		ActivityOptions: &activity.ActivityOptions{TaskQueue: queue}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"task_queue.name"}},
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := service.RespondActivityTaskFailedById(t.Context(), &workflowservice.RespondActivityTaskFailedByIdRequest{
		Namespace: w.namespace, WorkflowId: started.WorkflowID, ActivityId: running.id, Failure: again(),
	}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	got, err := service.PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{Namespace: w.namespace, TaskQueue: queue, Identity: "attacker"})
	if err != nil || len(got.GetTaskToken()) == 0 {
		t.Fatalf("the task does not come to the attacker: %v", err)
	}
	if _, err := service.RespondActivityTaskCompleted(t.Context(), &workflowservice.RespondActivityTaskCompletedRequest{
		Namespace: w.namespace, TaskToken: got.GetTaskToken(), Result: &common.Payloads{Payloads: []*common.Payload{plain(object{"durationUs": 1})}},
	}); err != nil {
		t.Fatal(err)
	}
	w.endsWithout(t, inv)
	w.effects.release(inHook(id))
}

// again is a failure after which the server hands the task out anew, where the activity may be tried again.
func again() *failure.Failure {
	return &failure.Failure{Message: madeUp, FailureInfo: &failure.Failure_ApplicationFailureInfo{
		ApplicationFailureInfo: &failure.ApplicationFailureInfo{Type: "unavailable"},
	}}
}
