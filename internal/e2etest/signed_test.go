package e2etest

import (
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// signedPolicy wants two signatures.
const signedPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {expiresAfter: 1h, quorum: 2, approvers: ["user:*"]}
  globex:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {expiresAfter: 1h}
`

// signers are people with a registered key.
type signers struct {
	w    *world
	keys map[string]proof.Signer
}

// enroll makes and registers a key for each identity, in both tenants.
func enroll(w *world, identities ...string) signers {
	w.t.Helper()
	s := signers{w, map[string]proof.Signer{}}
	for _, who := range identities {
		key, err := proof.NewSigner()
		if err != nil {
			w.t.Fatal(err)
		}
		s.keys[who] = key
		w.secrets.never("the key of "+who, key.Private().Seed())
		for _, tenant := range []string{"acme", "globex"} {
			if err := w.store.RegisterKey(w.t.Context(), tenant, who, key.Key(), "user:root"); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	return s
}

// approval is one that the identity signs.
func (s signers) approval(t *testing.T, view toolspec.ApprovalView, who string) toolspec.Decision {
	t.Helper()
	return signedWith(t, s.keys[who], "acme", time.Now(), toolspec.Decision{
		ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: who,
	})
}

func signedWith(t *testing.T, key proof.Signer, tenant string, at time.Time, d toolspec.Decision) toolspec.Decision {
	t.Helper()
	d, err := key.Sign(d, tenant, at, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestSignedApprovals: only who signs counts, however the decision reaches the call, and what proves nothing is recorded, runs nothing
// and does not end the wait (faults 43, 48).
func TestSignedApprovals(t *testing.T) {
	t.Parallel()
	w := newWorld(t, signedPolicy)
	var effects ledger
	stop := w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	people := enroll(w, ann, ben, actor)
	mallory, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	inv, other := invocation("send", "test__send", `{"text":"hello"}`), invocation("other", "test__send", `{"text":"hello"}`)
	call, otherCall := w.start(inv), w.start(other)
	view, otherView := w.waiting(call.WorkflowID), w.waiting(otherCall.WorkflowID)
	plain := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: ann}
	by := func(who string) toolspec.Decision { d := plain; d.Approver = who; return d }
	moved := people.approval(t, otherView, ann)
	moved.ApprovalID = view.ApprovalID
	redigested := moved
	redigested.Digest = view.Digest
	for _, tc := range []struct {
		name string
		d    toolspec.Decision
		why  string
	}{
		{"unsigned", plain, "only signed"},
		{"forged", signedWith(t, mallory, "acme", time.Now(), plain), "not registered"},
		{"signed by another person", signedWith(t, people.keys[ben], "acme", time.Now(), plain), "somebody else"},
		{"signed for another tenant", signedWith(t, people.keys[ann], "globex", time.Now(), plain), "another tenant"},
		{"signed long ago", signedWith(t, people.keys[ann], "acme", time.Now().Add(-2*time.Hour), plain), "has expired"},
		{"signed for another call", moved, "another decision"},
		{"signed for another call, with this one's digest", redigested, "another decision"},
		{"signed by the requester", signedWith(t, people.keys[actor], "acme", time.Now(), by(actor)), "requester"},
	} {
		// By a signal, past every client, as whoever reaches the namespace can.
		if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, tc.d); err != nil {
			t.Fatal(err)
		}
		if answer := w.decide(call.WorkflowID, tc.d); answer.Counted || !strings.Contains(answer.Reason, tc.why) {
			t.Errorf("%s: %+v, want %q", tc.name, answer, tc.why)
		}
	}
	first := people.approval(t, view, ann)
	if answer := w.decide(call.WorkflowID, first); !answer.Counted || answer.Reason != "1 of 2 approvals" {
		t.Errorf("the first: %+v", answer)
	}
	// The vote is in the record, so it outlives every worker.
	stop()
	w.work(worker.Tools(tool("test__send", effects.counted(echo), once, risky)))
	if again := w.waiting(call.WorkflowID); again.ApprovalID != view.ApprovalID {
		t.Errorf("it waits for %s, not %s", again.ApprovalID, view.ApprovalID)
	}
	resent := first
	resent.Reason = "again"
	if answer := w.decide(call.WorkflowID, signedWith(t, people.keys[ann], "acme", time.Now(), resent)); answer.Counted {
		t.Errorf("one person twice: %+v", answer)
	}
	if n := effects.of("send"); n != 0 {
		t.Fatalf("%d effects before two people have approved", n)
	}
	if err := w.temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, people.approval(t, view, ben)); err != nil {
		t.Fatal(err)
	}
	wantText(t, w.result(call), "hello")
	if n := effects.of("send"); n != 1 {
		t.Errorf("%d effects, want one", n)
	}
	counted := map[string]string{}
	decisions := w.record(inv).Approvals[0].Decisions
	for _, d := range decisions {
		if d.Counted {
			counted[d.Approver] = d.KeyID
		}
	}
	if len(decisions) != 11 || len(counted) != 2 || counted[ann] != people.keys[ann].Key().ID() || counted[ben] != people.keys[ben].Key().ID() {
		t.Errorf("%d decisions, of which count %v", len(decisions), counted)
	}
	w.end(otherCall)
}

// end ends a call that waits.
func (w *world) end(call *pawl.Call) {
	w.t.Helper()
	if err := w.temporal.CancelWorkflow(w.t.Context(), call.WorkflowID, ""); err != nil {
		w.t.Fatal(err)
	}
	wantCode(w.t, w.result(call), toolspec.CodeCancelled)
}
