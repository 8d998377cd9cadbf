package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// payPolicy requires one signature for each payment, and two signatures of finance above an amount.
const payPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    roles: {finance: ["user:ann", "user:ben"]}
    rules:
      - {tool: test__pay, decision: require_approval, message: every payment}
      - tool: test__pay
        when: args.amount > 1000
        decision: require_approval
        message: above 1000 two people of finance approve
        approvals: {approvers: ["role:finance"], quorum: 2}
    approvals: {expiresAfter: 1h}
`

type payment struct {
	Amount int `json:"amount"`
}

// pay returns a tool that counts its payments.
func pay(effects *e2etest.Ledger) toolspec.Tool {
	return toolspec.Define(toolspec.Definition{
		ID: "test__pay", Description: "Pays.", Version: "1", Effect: toolspec.ExternalSideEffect, Risk: toolspec.HighRisk,
		Redaction: toolspec.Redaction{Allow: []string{"/text"}},
	}, func(_ context.Context, p payment, call toolspec.Call) (e2etest.Out, error) {
		effects.Add(call)
		return e2etest.Out{Text: fmt.Sprintf("paid %d", p.Amount)}, nil
	})
}

// TestTwoPeopleAboveAnAmount: the approvers depend on the arguments, also after an approver has edited them, and the request names these approvers.
func TestTwoPeopleAboveAnAmount(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, payPolicy)
	var effects e2etest.Ledger
	stop := w.Work(worker.Tools(pay(&effects)))
	const cid = "user:cid"
	people := enroll(w, e2etest.Ann, e2etest.Ben, cid)

	little := w.Start(e2etest.Invocation("little", "test__pay", `{"amount":1000}`))
	view := w.Waiting(little.WorkflowID)
	if !strings.HasPrefix(view.Approvers, "anyone but ") {
		t.Errorf("a small payment asks %q", view.Approvers)
	}
	if answer := w.Decide(little.WorkflowID, people.approval(t, view, cid)); !answer.Counted {
		t.Errorf("one approval of a small payment: %+v", answer)
	}
	e2etest.WantText(t, w.Result(little), "paid 1000")

	inv := e2etest.Invocation("much", "test__pay", `{"amount":1000000}`)
	much := w.Start(inv)
	view = w.Waiting(much.WorkflowID)
	if !strings.HasPrefix(view.Approvers, "2 of role:finance, but not the requester ") || view.Message != "above 1000 two people of finance approve" {
		t.Errorf("a large payment asks %q: %q", view.Approvers, view.Message)
	}
	if answer := w.Decide(much.WorkflowID, people.approval(t, view, cid)); answer.Counted || answer.Reason != "policy does not name this approver" {
		t.Errorf("somebody else: %+v", answer)
	}
	if answer := w.Decide(much.WorkflowID, people.approval(t, view, e2etest.Ann)); !answer.Counted || answer.Reason != "1 of 2 approvals" {
		t.Errorf("the first of two: %+v", answer)
	}
	// An edit changes the required approvers: first to fewer, and then to more again.
	edit := func(view toolspec.ApprovalView, who, args string) toolspec.Decision {
		return signedWith(t, people.keys[who], "acme", time.Now(), toolspec.Decision{
			ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Digest: view.Digest, Approver: who, EditedArgs: json.RawMessage(args),
		})
	}
	if answer := w.Decide(much.WorkflowID, edit(view, e2etest.Ben, `{"amount":5}`)); !answer.Counted {
		t.Fatalf("the edit: %+v", answer)
	}
	smaller := w.Waiting(much.WorkflowID, view.ApprovalID)
	if !strings.HasPrefix(smaller.Approvers, "anyone but ") {
		t.Errorf("the smaller payment asks %q", smaller.Approvers)
	}
	if answer := w.Decide(much.WorkflowID, edit(smaller, cid, `{"amount":2000}`)); !answer.Counted {
		t.Fatalf("the edit: %+v", answer)
	}
	larger := w.Waiting(much.WorkflowID, view.ApprovalID, smaller.ApprovalID)
	if answer := w.Decide(much.WorkflowID, people.approval(t, larger, e2etest.Ann)); !answer.Counted || effects.Of("much") != 0 {
		t.Errorf("the first of two: %+v, %d effects", answer, effects.Of("much"))
	}
	// The record has the decision and the rule, so another worker goes on with them.
	stop()
	w.Work(worker.Tools(pay(&effects)))
	if answer := w.Decide(much.WorkflowID, people.approval(t, larger, e2etest.Ben)); !answer.Counted {
		t.Errorf("the second of two: %+v", answer)
	}
	e2etest.WantText(t, w.Result(much), "paid 2000")
	shown := w.Record(inv).Approvals
	if len(shown) != 3 || !strings.HasPrefix(shown[0].Approvers, "2 of role:finance") || !strings.HasPrefix(shown[1].Approvers, "anyone") ||
		!strings.HasPrefix(shown[2].Approvers, "2 of role:finance") || effects.Of("much") != 1 {
		t.Errorf("%d effects, the record shows %s", effects.Of("much"), e2etest.AsJSON(shown))
	}
}
