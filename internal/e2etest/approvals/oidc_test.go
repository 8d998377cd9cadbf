package approvals

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/internal/oidc/oidctest"
	"github.com/pawl-run/pawl/proof"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// oidcPolicy lets people decide who have signed in at the issuer corp.
const oidcPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {expiresAfter: 1h, approvers: ["oidc:corp:*"]}
  globex:
    allowedTools: ["test__*"]
    mode: auto
    approvals: {expiresAfter: 1h}
`

const (
	annMail  = "ann@example.com"
	signedIn = "oidc:corp:" + annMail
)

// withTokens returns the configuration of a worker that trusts ID tokens of the provider for the tenant acme.
func withTokens(w *e2etest.World, p *oidctest.Provider) worker.Config {
	c := w.Config()
	c.OIDC = []worker.OIDCIssuer{{Name: "corp", URL: p.URL(), ClientIDs: []string{oidctest.ClientID}, Tenants: []string{"acme"}}}
	return c
}

// by returns the decision with an ID token as its proof. change can change the claims of the token.
func by(t *testing.T, p *oidctest.Provider, d toolspec.Decision, change func(claims map[string]any)) toolspec.Decision {
	t.Helper()
	nonce, err := proof.Hash(d)
	if err != nil {
		t.Fatal(err)
	}
	claims := p.Claims(annMail, nonce, time.Now())
	change(claims)
	d.Proof = p.Sign(claims, nil)
	return d
}

func asIs(map[string]any) {}

// decideOnce sends a decision as an update with a new id and returns the first answer. If the answer asks for the decision again, decideOnce does not send it
// again, as the client would. It sends a new update only if the server has dropped the previous one.
func decideOnce(w *e2etest.World, workflowID string, d toolspec.Decision) (answer toolspec.Answer) {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), e2etest.WaitTimeout)
	defer cancel()
	var err error
	// A server on a busy machine can drop an update. The call has not got it then.
	w.Until(func() bool {
		var handle client.WorkflowUpdateHandle
		handle, err = w.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			UpdateID: uuid.NewString(), WorkflowID: workflowID, UpdateName: toolspec.DecideName, Args: []any{d}, WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(ctx, &answer)
		}
		var dropped *serviceerror.WorkflowNotReady
		return !errors.As(err, &dropped)
	}, "the decision is taken", &err)
	if err != nil {
		w.T.Fatal(err)
	}
	return answer
}

// TestApprovalsBySigningIn: an ID token counts as the signature of the person who has signed in, only for this one decision. A decision with an invalid
// token is recorded and does not end the wait.
func TestApprovalsBySigningIn(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, oidcPolicy)
	corp, stranger := oidctest.New(t), oidctest.New(t)
	var effects e2etest.Ledger
	stop := w.WorkWith(withTokens(w, corp), worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	people := enroll(w, e2etest.Ann)
	inv, other := e2etest.Invocation("send", "test__send", `{"text":"hello"}`), e2etest.Invocation("other", "test__send", `{"text":"hello"}`)
	foreign := e2etest.Invocation("foreign", "test__send", `{"text":"hello"}`)
	foreign.Context.TenantID = "globex"
	call, otherCall, foreignCall := w.Start(inv), w.Start(other), w.Start(foreign)
	view, otherView, foreignView := w.Waiting(call.WorkflowID), w.Waiting(otherCall.WorkflowID), w.Waiting(foreignCall.WorkflowID)
	on := func(view toolspec.ApprovalView) toolspec.Decision {
		return toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: signedIn}
	}
	plain := on(view)
	moved := by(t, corp, on(otherView), asIs)
	moved.ApprovalID, moved.Digest = view.ApprovalID, view.Digest
	turned := by(t, corp, plain, asIs)
	turned.Decision = toolspec.Deny
	undigested := plain
	undigested.Digest = ""
	named := func(who string) toolspec.Decision { d := plain; d.Approver = who; return d }
	refused := []struct {
		name string
		d    toolspec.Decision
		why  string
	}{
		{"unsigned", plain, "only signed"},
		{"of another issuer", by(t, stranger, plain, asIs), "not trusted"},
		{"of another issuer in its name", by(t, stranger, plain, func(c map[string]any) { c["iss"] = corp.URL() }), "signature"},
		{"for another client", by(t, corp, plain, func(c map[string]any) { c["aud"] = "mail" }), "another client"},
		{"an hour ago", by(t, corp, plain, func(c map[string]any) { c["exp"] = time.Now().Add(-time.Minute).Unix() }), "expired"},
		{"for a mere sign-in", by(t, corp, plain, func(c map[string]any) { delete(c, "nonce") }), "another decision"},
		{"for another call", moved, "another decision"},
		{"for an approval, used for a denial", turned, "another decision"},
		{"for what was not seen", by(t, corp, undigested, asIs), "digest"},
		{"with an unverified address", by(t, corp, plain, func(c map[string]any) { c["email_verified"] = false }), "has not verified"},
		{"of somebody else", by(t, corp, plain, func(c map[string]any) { c["email"] = "bob@example.com" }), "is of oidc:corp:bob@example.com"},
		{"in the name of somebody with a key", by(t, corp, named(e2etest.Ann), asIs), "is of " + signedIn},
		{"signed with a key that is not the issuer's", signedWith(t, people.keys[e2etest.Ann], "acme", time.Now(), plain), "somebody else"},
	}
	for _, tc := range refused {
		// The decision comes by a signal without a client of Pawl, as everybody with access to the namespace can send it.
		if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, tc.d); err != nil {
			t.Fatal(err)
		}
		if answer := w.Decide(call.WorkflowID, tc.d); answer.Counted || answer.Again || !strings.Contains(answer.Reason, tc.why) {
			t.Errorf("%s: %+v, want %q", tc.name, answer, tc.why)
		}
	}
	if answer := w.Decide(foreignCall.WorkflowID, by(t, corp, on(foreignView), asIs)); answer.Counted ||
		!strings.Contains(answer.Reason, "not trusted") {
		t.Errorf("in a tenant that does not trust the issuer: %+v", answer)
	}
	if n := effects.Of("send") + effects.Of("foreign"); n != 0 {
		t.Fatalf("%d effects before anybody has approved", n)
	}
	// The issuer begins to use a new key, and the worker is not restarted.
	corp.Rotate()
	if answer := w.Decide(call.WorkflowID, by(t, corp, plain, asIs)); !answer.Counted {
		t.Errorf("with the issuer's new key: %+v", answer)
	}
	e2etest.WantText(t, w.Result(call), "hello")
	record := w.Record(inv).Approvals[0]
	last := record.Decisions[len(record.Decisions)-1]
	// The call drops unsigned decisions without recording them.
	if len(record.Decisions) != len(refused) || !last.Counted || !last.Signed || !strings.HasPrefix(last.KeyID, "oidc:corp:") ||
		record.Approver != signedIn {
		t.Errorf("%d decisions, approved by %q, the last one %+v", len(record.Decisions), record.Approver, last)
	}
	if n := effects.Of("send"); n != 1 {
		t.Errorf("%d effects, want one", n)
	}
	end(w, otherCall)
	end(w, foreignCall)
	stop()
	if log := w.Log.String(); strings.Contains(log, strings.Split(turned.Proof, ".")[2]) {
		t.Error("a token is logged")
	}
}

// TestIssuerAway: while the issuer does not answer, its decisions are not refused: the sender is asked to send the decision again, nothing is recorded, and
// the wait goes on. People who need no issuer can still decide. When the issuer answers again, the same decision counts.
func TestIssuerAway(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, strings.ReplaceAll(oidcPolicy, `["oidc:corp:*"]`, `["oidc:corp:*", "user:*"], quorum: 2`))
	corp := oidctest.New(t)
	corp.Away(true)
	var effects e2etest.Ledger
	w.WorkWith(withTokens(w, corp), worker.Tools(e2etest.Tool("test__send", effects.Counted(e2etest.Echo), e2etest.Once, e2etest.Risky)))
	people := enroll(w, e2etest.Ben)
	inv := e2etest.Invocation("send", "test__send", `{"text":"hello"}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	d := by(t, corp, toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: signedIn}, asIs)
	if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.DecideName, d); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if answer := decideOnce(w, call.WorkflowID, d); answer.Counted || !answer.Again ||
			!strings.Contains(answer.Reason, "send the same decision again") {
			t.Errorf("while the issuer is away: %+v", answer)
		}
	}
	if answer := w.Decide(call.WorkflowID, people.approval(t, view, e2etest.Ben)); !answer.Counted || answer.Reason != "1 of 2 approvals" {
		t.Errorf("with a key, while the issuer is away: %+v", answer)
	}
	if decisions := w.Record(inv).Approvals[0].Decisions; len(decisions) != 1 {
		t.Errorf("%d decisions are recorded, want that with a key: %+v", len(decisions), decisions)
	}
	if again := w.Waiting(call.WorkflowID); again.ApprovalID != view.ApprovalID {
		t.Errorf("it waits for %s, not %s", again.ApprovalID, view.ApprovalID)
	}
	// The client sends the decision again by itself.
	answers := make(chan toolspec.Answer, 1)
	before := updates(w, call.WorkflowID)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), e2etest.WaitTimeout)
		defer cancel()
		answer, err := w.Pawl.Decide(ctx, call.WorkflowID, d)
		if err != nil {
			t.Error(err)
		}
		answers <- answer
	}()
	w.Until(func() bool { return updates(w, call.WorkflowID) > before }, "the decision is sent while the issuer is away")
	corp.Away(false)
	if answer := e2etest.Receive(t, answers); !answer.Counted {
		t.Errorf("when the issuer is back: %+v", answer)
	}
	e2etest.WantText(t, w.Result(call), "hello")
	if n := effects.Of("send"); n != 1 {
		t.Errorf("%d effects, want one", n)
	}
	if !strings.Contains(w.Log.String(), "its ID token cannot be verified now") {
		t.Error("the worker's log says nothing of it")
	}
}

// TestNoIssuers: for a worker that trusts no issuer, an ID token is no proof.
func TestNoIssuers(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, oidcPolicy)
	w.Work(worker.Tools(e2etest.Tool("test__send", e2etest.Echo, e2etest.Once, e2etest.Risky)))
	call := w.Start(e2etest.Invocation("send", "test__send", `{"text":"hello"}`))
	view := w.Waiting(call.WorkflowID)
	d := toolspec.Decision{ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: signedIn}
	if answer := w.Decide(call.WorkflowID, by(t, oidctest.New(t), d, asIs)); answer.Counted || answer.Again ||
		answer.Reason != proof.Malformed.Error() {
		t.Errorf("%+v", answer)
	}
	end(w, call)
}

// updates counts the completed updates in the history of a call.
func updates(w *e2etest.World, workflowID string) (n int) {
	w.T.Helper()
	events := w.Temporal.GetWorkflowHistory(w.T.Context(), workflowID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			w.T.Fatal(err)
		}
		if event.GetWorkflowExecutionUpdateCompletedEventAttributes() != nil {
			n++
		}
	}
	return n
}
