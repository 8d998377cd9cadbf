package attack

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
)

// messageAttacks send signals, updates and queries to a call that waits for a signed approval.
func messageAttacks() []attack {
	all := []attack{
		{target: target{signals, "decide"}, what: "of decisions that nobody signed", run: decidedBySignal},
		{target: target{updates, "decide"}, what: "of decisions that nobody signed", run: decidedByUpdate},
		{target: target{signals, "recheck"}, what: "many times", run: recheckedOften},
	}
	for _, name := range []string{"state", "__stack_trace", "__open_sessions", "__temporal_workflow_metadata"} {
		all = append(all, attack{target: target{queries, name}, what: "of a call with raw arguments", run: func(t *testing.T, w *world) { queried(t, w, name) }})
	}
	return all
}

// asked starts a call that waits for a signed approval.
func asked(t *testing.T, w *world, id string) (toolspec.Invocation, toolspec.ApprovalView) {
	t.Helper()
	inv := call(id, toolPay, args("text of "+id, ""))
	started := w.start(t, inv)
	return inv, w.waiting(t, started.WorkflowID)
}

// ofTheNext names the decision on a request that is not open yet.
const ofTheNext = "of the next request"

// decisions are those of an attacker who has read the request, and has a key that nobody registered.
func decisions(t *testing.T, w *world, view toolspec.ApprovalView) map[string]any {
	t.Helper()
	d := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: ann}
	signed := func(key proof.Signer, d toolspec.Decision, tenant string) toolspec.Decision {
		d, err := key.Sign(d, tenant, time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	mallory, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	id, _, _ := strings.Cut(view.ApprovalID, ".")
	change := func(f func(d *toolspec.Decision)) toolspec.Decision { c := d; f(&c); return c }
	return map[string]any{
		"unsigned":          d,
		"without a digest":  change(func(d *toolspec.Decision) { d.Digest = "" }),
		"the agent's own":   change(func(d *toolspec.Decision) { d.Approver = "agent:one" }),
		ofTheNext:           change(func(d *toolspec.Decision) { d.ApprovalID = id + ".2" }),
		"of request nought": change(func(d *toolspec.Decision) { d.ApprovalID = id + ".0" }),
		"of another call": change(func(d *toolspec.Decision) {
			d.ApprovalID = call("elsewhere", toolPay, "").Identity().InvocationID() + ".1"
		}),
		"of a parked call":    change(func(d *toolspec.Decision) { d.Decision = toolspec.SettleOK }),
		"an edit":             change(func(d *toolspec.Decision) { d.Decision, d.EditedArgs = toolspec.Edit, []byte(args(madeUp, "")) }),
		"a denial":            change(func(d *toolspec.Decision) { d.Decision = toolspec.Deny }),
		"by an unknown key":   signed(mallory, d, "acme"),
		"of another tenant":   signed(w.signer, d, "barred"),
		"with a broken proof": change(func(d *toolspec.Decision) { d.Proof = "a.b.c" }),
		"too large":           change(func(d *toolspec.Decision) { d.Proof = strings.Repeat("x", 128<<10) }),
		"rubbish":             "rubbish",
		"a list":              []int{1},
	}
}

func decidedBySignal(t *testing.T, w *world) {
	inv, view := asked(t, w, "signalled")
	for what, d := range decisions(t, w, view) {
		if err := w.attacker.client.SignalWorkflow(t.Context(), inv.Identity().WorkflowID(), "", "decide", d); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, unknown := range []string{"approve", "__temporal_decide", "execute"} {
		if err := w.attacker.client.SignalWorkflow(t.Context(), inv.Identity().WorkflowID(), "", unknown, madeUp); err != nil {
			t.Logf("the signal %s: %v", unknown, err)
		}
	}
	w.stillWaits(t, inv, view)
}

func decidedByUpdate(t *testing.T, w *world) {
	inv, view := asked(t, w, "updated")
	id := inv.Identity().WorkflowID()
	var late sync.WaitGroup
	for what, d := range decisions(t, w, view) {
		send := func() {
			if answer, err := w.updated(t, id, "decide", d); err == nil && answer.Counted {
				t.Errorf("%s: it counts", what)
			}
		}
		if what == ofTheNext { // it is answered when the call ends
			late.Go(send)
		} else {
			send()
		}
	}
	if _, err := w.updated(t, id, "settle", madeUp); err == nil {
		t.Error("an unknown update has an answer")
	}
	w.stillWaits(t, inv, view)
	late.Wait()
}

// updated sends an update as the attacker, and reads the answer as the victim does.
func (w *world) updated(t *testing.T, workflowID, name string, arg any) (answer toolspec.Answer, err error) {
	t.Helper()
	ctx, cancel := soon(t)
	defer cancel()
	handle, err := w.attacker.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflowID, UpdateName: name, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return answer, err
	}
	var raw converter.RawValue
	if err := handle.Get(ctx, &raw); err != nil {
		return answer, err
	}
	return answer, w.data.FromPayload(raw.Payload(), &answer)
}

// stillWaits fails unless the call waits for the same request, ran nothing, and goes on once it is rightly approved.
func (w *world) stillWaits(t *testing.T, inv toolspec.Invocation, view toolspec.ApprovalView) {
	t.Helper()
	if now := w.waiting(t, inv.Identity().WorkflowID()); now.ApprovalID != view.ApprovalID || now.Digest != view.Digest {
		t.Errorf("the call waits for %s, not for %s", now.ApprovalID, view.ApprovalID)
	}
	if n := w.effects.of(inv.ToolCallID); n != 0 {
		t.Errorf("%s had its effect %d times, want never", inv.ToolCallID, n)
	}
	w.approve(t, inv.Identity().WorkflowID(), view)
	w.endsRightly(t, inv)
}

// recheckedOften: a call looks again as often as it is asked, and nothing else comes of it.
func recheckedOften(t *testing.T, w *world) {
	inv, view := asked(t, w, "rechecked")
	for n := range 50 {
		if err := w.attacker.client.SignalWorkflow(t.Context(), inv.Identity().WorkflowID(), "", "recheck", object{"n": n, "approved": true}); err != nil {
			t.Fatal(err)
		}
	}
	w.stillWaits(t, inv, view)
}

// queried: no query tells an argument that may not be shown, with any input and however far the call is.
func queried(t *testing.T, w *world, name string) {
	const raw = "raw-argument-of-the-call"
	id := "queried " + name
	inv := call(id, toolPay, `{"text":"text","raw":"`+raw+`"}`)
	started := w.start(t, inv)
	view := w.waiting(t, started.WorkflowID)
	look := func() {
		t.Helper()
		answer, err := w.attacker.answerOf(t, started.WorkflowID, name, object{"all": true})
		if err != nil {
			answer, err = w.attacker.answerOf(t, started.WorkflowID, name)
		}
		if err != nil {
			t.Fatal(err)
		}
		var content any
		for _, p := range answer.GetPayloads() {
			if err := w.data.FromPayload(p, &content); err != nil {
				content = w.data.ToString(p)
			}
			text, err := proto.Marshal(p)
			if err != nil || bytes.Contains(text, []byte(raw)) || strings.Contains(w.data.ToString(p), raw) {
				t.Errorf("it tells the raw argument: %s (%v)", text, err)
			}
		}
		if content == nil {
			t.Error("it tells nothing")
		}
	}
	look()
	w.approve(t, started.WorkflowID, view)
	w.endsRightly(t, inv)
	look()
}
