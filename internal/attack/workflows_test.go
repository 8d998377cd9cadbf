package attack

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/pawl-run/pawl/activities/agent"
	pawlagent "github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/conversation"
	"github.com/pawl-run/pawl/workflows/contract"
)

// workflowAttacks start the victim's workflows by hand.
func workflowAttacks() []attack {
	invoke := target{workflowTypes, "InvokeTool"}
	return []attack{
		{target: invoke, what: "under the id of another call", run: invokeUnderAnotherID},
		{target: invoke, what: "with what is no call", run: invokeRubbish},
		{target: invoke, what: "of a tenant that may use no tool", run: invokeBarred},
		{target: invoke, what: "in the place of a call that has ended", run: invokeAgain},
		{target: invoke, what: "as a call that has moved", run: invokeMoved},
		{target: target{workflowTypes, "RunAgent"}, what: "under another id", run: runUnderAnotherID},
		{target: target{workflowTypes, "RunAgent"}, what: "with what is no input", run: runRubbish},
		{target: target{workflowTypes, "RunAgent"}, what: "with the conversation of another actor", run: runForked},
		{target: target{workflowTypes, "RunAgent"}, what: "in another namespace of the database", run: runElsewhere},
		{target: target{workflowTypes, "Sweep"}, what: "by hand", run: sweepByHand},
		{target: target{workflowTypes, "VerifyHistory"}, what: "after a search that never was", run: verifyByHand},
		{target: target{workflowTypes, "FireTrigger"}, what: "by hand", run: fireByHand},
		{target: target{workflowTypes, "ResealSecrets"}, what: "with a key that nobody has", run: resealByHand},
	}
}

func startOf(inv toolspec.Invocation) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: inv.Identity().WorkflowID(), TaskQueue: victimQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowTaskTimeout: 5 * time.Second,
	}
}

// input is a call as the attacker sends it: in clear.
func (w *world) input(t *testing.T, inv toolspec.Invocation) converter.RawValue {
	t.Helper()
	return converter.NewRawValue(plain(inv))
}

// ended waits for a workflow and reads its result as the victim does.
func (w *world) ended(t *testing.T, run client.WorkflowRun) (result toolspec.Result) {
	t.Helper()
	ctx, cancel := soon(t)
	defer cancel()
	if err := w.temporal.GetWorkflow(ctx, run.GetID(), run.GetRunID()).Get(ctx, &result); err != nil {
		t.Fatalf("%s did not complete: %v", run.GetID(), err)
	}
	return result
}

// invokeBy starts the workflow of a call under an id, with any input.
func (w *world) invokeBy(t *testing.T, id string, input *common.Payload) toolspec.Result {
	t.Helper()
	run, err := w.attacker.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: victimQueue}, "InvokeTool", converter.NewRawValue(input))
	if err != nil {
		t.Fatal(err)
	}
	return w.ended(t, run)
}

// nowhere fails if the database knows the call, or a tool had its effect.
func (w *world) nowhere(t *testing.T, inv toolspec.Invocation) {
	t.Helper()
	if _, err := w.store.Show(t.Context(), inv.Context.TenantID, inv.Identity().InvocationID()); !errors.Is(err, postgres.ErrNotFound) {
		t.Errorf("there is a record of %s: %v", inv.ToolCallID, err)
	}
	if n := w.effects.of(inv.ToolCallID); n != 0 {
		t.Errorf("%s had its effect %d times, want never", inv.ToolCallID, n)
	}
}

func invokeUnderAnotherID(t *testing.T, w *world) {
	inv := call("misnamed", toolSend, args(madeUp, ""))
	for _, id := range []string{anyID(), "tool:barred:run:misnamed", inv.Identity().WorkflowID() + ":", strings.ToUpper(inv.Identity().WorkflowID())} {
		if result := w.invokeBy(t, id, plain(inv)); result.OK {
			t.Errorf("%s: %+v", id, result)
		}
	}
	w.nowhere(t, inv)
}

func invokeRubbish(t *testing.T, w *world) {
	inv := call("rubbish", toolSend, args("text", ""))
	id := inv.Identity().WorkflowID()
	more := with(asObject(t, inv), object{"permit": object{"signature": "x"}, "epoch": 7})
	for what, input := range map[string]*common.Payload{
		"no JSON":  {Metadata: map[string][]byte{converter.MetadataEncoding: []byte("json/plain")}, Data: []byte("{")},
		"nothing":  {Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/null")}},
		"a list":   plain([]any{inv}),
		"too much": plain(more),
		"a proto":  {Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/protobuf")}, Data: []byte{1, 2, 3}},
		"long":     plain(with(asObject(t, inv), object{"args": object{"text": strings.Repeat("x", 300<<10)}})),
	} {
		if result := w.invokeBy(t, id, input); result.OK {
			t.Errorf("%s: %+v", what, result)
		}
	}
	w.nowhere(t, inv)
}

func asObject(t *testing.T, v any) (o object) {
	t.Helper()
	data, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// invokeBarred: policy is asked, whoever starts the call and whatever is beside it.
func invokeBarred(t *testing.T, w *world) {
	for _, tenant := range []string{"barred", "ghost"} {
		inv := call("barred by "+tenant, toolSend, args(madeUp, ""))
		inv.Context.TenantID = tenant
		if result := w.invokeBy(t, inv.Identity().WorkflowID(), plain(inv)); result.ErrorCode != toolspec.CodePolicyDenied {
			t.Errorf("%s: %+v", tenant, result)
		}
		if n := w.effects.of(inv.ToolCallID); n != 0 {
			t.Errorf("%s: %d effects", tenant, n)
		}
	}
}

// invokeAgain continues a workflow of the attacker's as a call that has ended, with the same input, with another, and with a result of his
// as that of the run before. What is recorded stands.
func invokeAgain(t *testing.T, w *world) {
	inv := call("again", toolSend, args("text", ""))
	started := w.start(t, inv)
	w.endsRightly(t, inv)
	other := inv
	other.Args = json.RawMessage(args(madeUp, ""))
	for _, input := range []toolspec.Invocation{inv, other} {
		run := w.attacker.continued(t, started.WorkflowID, "InvokeTool", plain(input), plain(object{"ok": true, "value": object{"text": madeUp}}))
		result := w.ended(t, run)
		if textOf(input.Args) == madeUp && result.ErrorCode != toolspec.CodeConflict || textOf(input.Args) == "text" && textOf(result.Value) != "text" {
			t.Errorf("with %s it ended with %+v", input.Args, result)
		}
	}
	if n := w.effects.of("again"); n != 1 {
		t.Errorf("%d effects", n)
	}
}

// invokeMoved continues a workflow of the attacker's as a call that has moved from another task queue, with decisions that nobody has made and
// with times that would give the call more. The call waits for a signed approval, and begins when it did.
func invokeMoved(t *testing.T, w *world) {
	inv := call("moved", toolPay, args("moved", ""))
	id := inv.Identity().WorkflowID()
	begun := time.Now()
	approvalID := toolspec.ApprovalID(inv.Identity().InvocationID(), 1)
	w.attacker.continued(t, id, "InvokeTool", plain(inv), plain(object{}), plain(object{
		"startedAtMs": begun.Add(time.Hour).UnixMilli(), "waitedMs": time.Hour.Milliseconds(), "moves": -9,
		"decisions": []object{{"approvalId": approvalID, "decision": "approve", "approver": ann}, {"approvalId": approvalID, "decision": "approve", "approver": ann, "proof": "e30.e30.e30"}},
	}))
	view := w.waiting(t, id)
	if n := w.effects.of("moved"); n != 0 {
		t.Errorf("the forged decisions had %d effects", n)
	}
	w.approve(t, id, view)
	w.endsRightly(t, inv)
	if record := w.record(t, inv); record.Result.StartedAtMs > time.Now().UnixMilli() || record.Approvals[0].State != "approved" {
		t.Errorf("the record has %+v with %+v", record.Result, record.Approvals)
	}
}

// continued starts a workflow of the attacker's, with a last completion result of his, that continues as one of the victim's.
func (a *attacker) continued(t *testing.T, workflowID, workflowType string, input, last *common.Payload, more ...*common.Payload) client.WorkflowRun {
	t.Helper()
	if _, err := a.client.WorkflowService().StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: a.namespace, WorkflowId: workflowID, WorkflowType: &common.WorkflowType{Name: chainType}, RequestId: anyID(),
		TaskQueue: &taskqueue.TaskQueue{Name: foreignQueue}, Input: &common.Payloads{Payloads: append([]*common.Payload{plain(workflowType), input}, more...)},
		WorkflowIdReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, LastCompletionResult: &common.Payloads{Payloads: []*common.Payload{last}},
	}); err != nil {
		t.Fatal(err)
	}
	var run client.WorkflowRun
	until(t, workflowID+" continues as "+workflowType, func() bool {
		d, err := a.client.DescribeWorkflowExecution(t.Context(), workflowID, "")
		if err != nil || d.GetWorkflowExecutionInfo().GetType().GetName() != workflowType {
			return false
		}
		run = a.client.GetWorkflow(t.Context(), workflowID, d.GetWorkflowExecutionInfo().GetExecution().GetRunId())
		return true
	})
	return run
}

// upkept waits for a workflow of upkeep, and returns its result.
func (w *world) upkept(t *testing.T, run client.WorkflowRun) (result object) {
	t.Helper()
	ctx, cancel := soon(t)
	defer cancel()
	if err := w.temporal.GetWorkflow(ctx, run.GetID(), run.GetRunID()).Get(ctx, &result); err != nil {
		t.Fatalf("%s: %v", run.GetID(), err)
	}
	return result
}

// sweepByHand: a call that runs is nobody's to sweep.
func sweepByHand(t *testing.T, w *world) {
	inv, _ := heldCall(t, w, "swept", toolSend)
	for _, input := range []object{{"namespace": "default"}, {"namespace": "", "calls": object{"open": 0}}} {
		run, err := w.attacker.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: anyID(), TaskQueue: victimQueue}, "Sweep", converter.NewRawValue(plain(input)))
		if err != nil {
			t.Fatal(err)
		}
		w.upkept(t, run)
	}
	if got := w.record(t, inv).Status; got == toolspec.StatusSettled {
		t.Errorf("the call is %s while its tool runs", got)
	}
	w.effects.release(inTool("swept"))
	w.endsRightly(t, inv)
}

// verifyByHand: a result of the attacker's, as that of the search before, leaves nothing unsearched.
func verifyByHand(t *testing.T, w *world) {
	now := time.Now()
	last := plain(object{"sinceMs": 0, "untilMs": now.Add(time.Hour).UnixMilli()})
	got := w.upkept(t, w.attacker.continued(t, anyID(), "VerifyHistory", plain(object{"sinceMs": now.UnixMilli()}), last))
	if since, _ := got["sinceMs"].(float64); since == 0 || int64(since) > now.Add(-23*time.Hour).UnixMilli() {
		t.Errorf("it searched since %v, want a day", got["sinceMs"])
	}
}

// runUnderAnotherID: a run whose workflow has another id than its own does not begin.
func runUnderAnotherID(t *testing.T, w *world) {
	w.runBy(t, anyID(), plain(object{
		"agent": "helper", "context": object{"tenantId": "acme", "runId": "stolen", "actorId": "agent:one"},
		"messages": []object{{"role": "user", "content": "go"}},
	}), "the id of its workflow must be")
	if run, err := w.store.AgentRun(t.Context(), contract.AgentRun{TenantID: "acme", RunID: "stolen"}); !errors.Is(err, agent.ErrNotFound) {
		t.Errorf("the run has begun: %+v, %v", run, err)
	}
}

// runRubbish: what is no input of a run completes the workflow and says so.
func runRubbish(t *testing.T, w *world) {
	for _, rubbish := range []any{nil, 7, "text", object{"agent": "helper", "unknown": true}} {
		w.runBy(t, anyID(), plain(rubbish), "the run cannot start")
	}
}

// runForked: the conversation of a run is not read by a run of another actor or tenant, which learns nothing of it.
func runForked(t *testing.T, w *world) {
	document := pawlagent.Document{Name: "forked", Version: "1", Limits: pawlagent.Limits{Rounds: 1, Calls: 1, Seconds: 60, ContextBytes: 1 << 20, AtOnce: 1}}
	if _, err := w.store.ApplyAgent(t.Context(), document, "test"); err != nil {
		t.Fatal(err)
	}
	source := contract.AgentRun{TenantID: "acme", RunID: "secret"}
	read := toolspec.Context{TenantID: "acme", RunID: "secret", ActorID: "agent:victim"}
	if _, err := w.store.OpenAgentRun(t.Context(), agent.NewRun{Run: source, Document: document, Input: pawlagent.Input{Agent: "forked", Context: read}}); err != nil {
		t.Fatal(err)
	}
	if err := w.store.RecordRound(t.Context(), source, agent.Round{Round: 1, Plan: agent.Plan{Text: "a secret"}}, "", 0); err != nil {
		t.Fatal(err)
	}
	for _, as := range []object{{"tenantId": "acme", "runId": "fork-1", "actorId": "agent:one"}, {"tenantId": "globex", "runId": "fork-2", "actorId": "agent:victim"}} {
		of := contract.AgentRun{TenantID: as["tenantId"].(string), RunID: as["runId"].(string)} //nolint:forcetypeassert // they are texts
		w.runBy(t, pawlagent.WorkflowID(of.TenantID, of.RunID), plain(object{"agent": "forked", "context": as, "fork": object{"runId": "secret", "rounds": 1}}), "there is no such run")
		if run, err := w.store.AgentRun(t.Context(), of); !errors.Is(err, agent.ErrNotFound) {
			t.Errorf("the run has begun: %+v, %v", run, err)
		}
	}
}

// runElsewhere: a run of another namespace, whose workers share the database, and a run that one of its calls has started, are not continued here.
func runElsewhere(t *testing.T, w *world) {
	document := pawlagent.Document{Name: "elsewhere", Version: "1", Limits: pawlagent.Limits{Rounds: 1, Calls: 1, Seconds: 60, ContextBytes: 1 << 20, AtOnce: 1}}
	in := pawlagent.Input{
		Agent: "elsewhere", Context: toolspec.Context{TenantID: "acme", RunID: "elsewhere", ActorID: "agent:victim"},
		Messages: []conversation.Message{{Role: conversation.User, Content: []conversation.Part{{Type: conversation.Text, Text: "go"}}}},
	}
	digest, err := in.Digest()
	if err != nil {
		t.Fatal(err)
	}
	parent := contract.AgentRun{TenantID: "acme", RunID: "elsewhere"}
	if _, err := w.store.OpenAgentRun(t.Context(), agent.NewRun{Run: parent, Namespace: "elsewhere", InputDigest: digest, Document: document, Input: in}); err != nil {
		t.Fatal(err)
	}
	child := agent.NewChild{Parent: parent, ToolCallID: "r1-0", RunID: pawlagent.ChildRunID(toolspec.Identity{TenantID: "acme", RunID: "elsewhere", ToolCallID: "r1-0"}.InvocationID()), Document: document, Input: in}
	if _, err := w.store.StartChild(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	w.runBy(t, pawlagent.WorkflowID("acme", "elsewhere"), plain(in), "a run of another namespace")
	w.runBy(t, pawlagent.WorkflowID("acme", child.RunID), plain(object{
		"agent": "elsewhere", "context": object{"tenantId": "acme", "runId": child.RunID, "actorId": "agent:victim"}, "parent": object{"runId": "elsewhere", "toolCallId": "r1-0"},
	}), "a run of another namespace")
}

// runBy starts the workflow of a run under an id, with any input. It must fail for a reason.
func (w *world) runBy(t *testing.T, id string, input *common.Payload, reason string) {
	t.Helper()
	run, err := w.attacker.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: victimQueue}, "RunAgent", converter.NewRawValue(input))
	if err != nil {
		t.Fatal(err)
	}
	got := w.upkept(t, run)
	if said, ok := got["reason"].(string); got["outcome"] != "failed" || !ok || !strings.Contains(said, reason) {
		t.Errorf("it says %v", got)
	}
}

// fireByHand: a workflow that no schedule has started starts no run.
func fireByHand(t *testing.T, w *world) {
	run, err := w.attacker.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: anyID(), TaskQueue: victimQueue}, "FireTrigger",
		converter.NewRawValue(plain(object{"tenantId": "acme", "name": "nightly"})))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.upkept(t, run); got["runId"] != nil || got["refused"] == nil {
		t.Errorf("it says %v", got)
	}
}

// resealByHand: without a key ring nothing is sealed, and the result does not say that anything was.
func resealByHand(t *testing.T, w *world) {
	state := object{"pass": 5, "before": 1000, "progress": object{"after": object{"tenantId": "zzz"}, "resealed": 1000}}
	run, err := w.attacker.client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: anyID(), TaskQueue: victimQueue}, "ResealSecrets",
		converter.NewRawValue(plain(object{"keyId": 666, "state": state})))
	if err != nil {
		t.Fatal(err)
	}
	var waits bool
	until(t, "the workflow waits for a worker that seals with the key", func() bool {
		for _, e := range w.attacker.history(t, run.GetID(), "") {
			waits = waits || e.GetTimerStartedEventAttributes() != nil
		}
		return waits
	})
	if err := w.attacker.client.TerminateWorkflow(t.Context(), run.GetID(), "", ""); err != nil {
		t.Fatal(err)
	}
}
