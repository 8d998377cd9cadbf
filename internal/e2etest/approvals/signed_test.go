package approvals

import (
	"strings"
	"testing"
	"time"

	pawl "github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// signedPolicy requires two signatures.
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

// signers has the registered keys of people.
type signers struct {
	w    *e2etest.World
	keys map[string]proof.Signer
}

// enroll creates a key for each identity, and registers it in both tenants.
func enroll(w *e2etest.World, identities ...string) signers {
	w.T.Helper()
	s := signers{w, map[string]proof.Signer{}}
	for _, who := range identities {
		key, err := proof.NewSigner()
		if err != nil {
			w.T.Fatal(err)
		}
		s.keys[who] = key
		w.Secrets.Never("the key of "+who, key.Private().Seed())
		for _, tenant := range []string{"acme", "globex"} {
			if err := w.Store.RegisterKey(w.T.Context(), tenant, who, key.Key(), "user:root"); err != nil {
				w.T.Fatal(err)
			}
		}
	}
	return s
}

// approval returns an approval of a request that a person has signed.
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

// TestSignedApprovals: only signed decisions count, however they reach the call. A decision without a valid proof runs no tool and does not end the wait, and
// is recorded if the workflow of the call cannot refuse it alone (faults 43, 48).
func TestSignedApprovals(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, signedPolicy)
	var effects e2etest.Ledger
	stop := w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	people := enroll(w, e2etest.Ann, e2etest.Ben, e2etest.Actor)
	mallory, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	inv, other := e2etest.Invocation("send", "test__send", `{"text":"hello"}`), e2etest.Invocation("other", "test__send", `{"text":"hello"}`)
	call, otherCall := w.Start(inv), w.Start(other)
	view, otherView := w.Waiting(call.WorkflowID), w.Waiting(otherCall.WorkflowID)
	plain := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: e2etest.Ann}
	by := func(who string) toolspec.Decision { d := plain; d.Approver = who; return d }
	moved := people.approval(t, otherView, e2etest.Ann)
	moved.ApprovalID = view.ApprovalID
	redigested := moved
	redigested.Digest = view.Digest
	reworded := people.approval(t, view, e2etest.Ann)
	reworded.Reason = "what ann did not sign"
	recorded := 0
	for _, tc := range []struct {
		name     string
		d        toolspec.Decision
		why      string
		recorded bool
	}{
		{"unsigned", plain, "only signed", false},
		{"forged", signedWith(t, mallory, "acme", time.Now(), plain), "not registered", true},
		{"signed by another person", signedWith(t, people.keys[e2etest.Ben], "acme", time.Now(), plain), "somebody else", false},
		{"signed for another tenant", signedWith(t, people.keys[e2etest.Ann], "globex", time.Now(), plain), "another tenant", true},
		{"signed long ago", signedWith(t, people.keys[e2etest.Ann], "acme", time.Now().Add(-2*time.Hour), plain), "has expired", true},
		{"signed for another call", moved, "another digest", false},
		{"signed for another call, with this one's digest", redigested, "another decision", false},
		{"signed for other words", reworded, "another decision", true},
		{"signed by the requester", signedWith(t, people.keys[e2etest.Actor], "acme", time.Now(), by(e2etest.Actor)), "requester", true},
	} {
		if tc.recorded {
			recorded++
		}
		// The decision comes by a signal without a client of Pawl, as everybody with access to the namespace can send it.
		if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, tc.d); err != nil {
			t.Fatal(err)
		}
		if answer := w.Decide(call.WorkflowID, tc.d); answer.Counted || !strings.Contains(answer.Reason, tc.why) {
			t.Errorf("%s: %+v, want %q", tc.name, answer, tc.why)
		}
	}
	first := people.approval(t, view, e2etest.Ann)
	if answer := w.Decide(call.WorkflowID, first); !answer.Counted || answer.Reason != "1 of 2 approvals" {
		t.Errorf("the first: %+v", answer)
	}
	// The record has the decision, so another worker goes on with it.
	stop()
	w.Work(worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	if again := w.Waiting(call.WorkflowID); again.ApprovalID != view.ApprovalID {
		t.Errorf("it waits for %s, not %s", again.ApprovalID, view.ApprovalID)
	}
	resent := first
	resent.Reason = "again"
	if answer := w.Decide(call.WorkflowID, signedWith(t, people.keys[e2etest.Ann], "acme", time.Now(), resent)); answer.Counted {
		t.Errorf("one person twice: %+v", answer)
	}
	if n := effects.Of("send"); n != 0 {
		t.Fatalf("%d effects before two people have approved", n)
	}
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName,
		people.approval(t, view, e2etest.Ben)); err != nil {
		t.Fatal(err)
	}
	e2etest.WantText(t, w.Result(call), "hello")
	if n := effects.Of("send"); n != 1 {
		t.Errorf("%d effects, want one", n)
	}
	counted := map[string]string{}
	decisions := w.Record(inv).Approvals[0].Decisions
	for _, d := range decisions {
		if d.Counted {
			counted[d.Approver] = d.KeyID
		}
	}
	if len(decisions) != recorded+3 || len(counted) != 2 || counted[e2etest.Ann] != people.keys[e2etest.Ann].Key().ID() ||
		counted[e2etest.Ben] != people.keys[e2etest.Ben].Key().ID() {
		t.Errorf("%d decisions, of which count %v", len(decisions), counted)
	}
	end(w, otherCall)
}

// end cancels a waiting call, and waits for its end.
func end(w *e2etest.World, call *pawl.Call) {
	w.T.Helper()
	if err := w.Temporal.CancelWorkflow(w.T.Context(), call.WorkflowID, ""); err != nil {
		w.T.Fatal(err)
	}
	e2etest.WantCode(w.T, w.Result(call), toolspec.CodeCancelled)
}
