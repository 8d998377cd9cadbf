package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/errs"
	"github.com/pawl-run/pawl/toolspec/hook"
	"github.com/pawl-run/pawl/worker"
)

// namedPolicy asks anyone about each payment.
const namedPolicy = `
version: 1
tenants:
  acme:
    allowedTools: ["test__*"]
    mode: auto
    roles: {finance: ["user:ann", "user:ben"]}
    rules: [{tool: test__pay, decision: require_approval, message: every payment}]
    approvals: {expiresAfter: 1h, remember: {for: 1h, anyArgs: true, anyActor: true}}
`

// aboveAmount is a hook that asks for more approvers if a payment is above an amount.
type aboveAmount struct {
	name string
	who  *hook.Approvals
	// If silent is true, the hook names no approvers. If down is true, the service of the hook does not answer.
	silent, down atomic.Bool
	asked        atomic.Int64
}

func (a *aboveAmount) hook() hook.Hook {
	return hook.New(a.name, hook.NamesApprovers(), hook.WillCheckConsent.Do(func(_ context.Context, v *hook.Consent) error {
		a.asked.Add(1)
		var p payment
		switch err := json.Unmarshal(v.Args(), &p); {
		case err != nil:
			return err
		case a.down.Load():
			return errs.Transient(errors.New("the service is down"))
		case v.Approved() || a.silent.Load() || p.Amount <= 1000:
			return nil
		}
		return v.RequireApproval(hook.Ask{Message: "above 1000: " + a.name, Approvals: a.who})
	}))
}

func twoOfFinance() *hook.Approvals {
	return &hook.Approvals{Approvers: []string{"role:finance"}, Quorum: 2, ExpiresAfter: 30 * time.Minute}
}

// TestAHookNamesApprovers: above an amount, two people of finance must approve, in addition to the approvers of the policy. The record has their decisions and
// the approvers for whom the call waits, and so a later worker whose hook names nobody changes nothing.
func TestAHookNamesApprovers(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, namedPolicy)
	var effects e2etest.Ledger
	amounts := &aboveAmount{name: "amounts", who: twoOfFinance()}
	stop := w.Work(worker.Tools(pay(&effects)), worker.Hooks(amounts.hook()))
	const cid = "user:cid"
	people := enroll(w, e2etest.Ann, e2etest.Ben, cid)

	little := w.Start(e2etest.Invocation("little", "test__pay", `{"amount":1000}`))
	view := w.Waiting(little.WorkflowID)
	remember := signedWith(t, people.keys[cid], "acme", time.Now(), toolspec.Decision{
		ApprovalID: view.ApprovalID, Decision: toolspec.Approve, Digest: view.Digest, Approver: cid, Remember: true,
		Scope: &toolspec.Scope{Args: toolspec.Any, Actor: toolspec.Any},
	})
	if answer := w.Decide(little.WorkflowID, remember); !answer.Counted || strings.Contains(view.Approvers, "hook") {
		t.Errorf("a small payment asks %q: %+v", view.Approvers, answer)
	}
	e2etest.WantText(t, w.Result(little), "paid 1000")

	// The approval that is remembered for any arguments does not count as an approval of the people whom the hook names.
	inv := e2etest.Invocation("much", "test__pay", `{"amount":1000000}`)
	much := w.Start(inv)
	view = w.Waiting(much.WorkflowID)
	if !strings.HasPrefix(view.Approvers, "anyone but ") || !strings.Contains(view.Approvers, "; hook amounts asks for 2 of role:finance; only signed") ||
		view.Message != "every payment; above 1000: amounts" || time.Until(time.UnixMilli(view.ExpiresAtMs)) > 31*time.Minute {
		t.Errorf("a large payment asks %q until %d: %q", view.Approvers, view.ExpiresAtMs, view.Message)
	}
	vote := func(who, reason string, counted bool) {
		t.Helper()
		if answer := w.Decide(much.WorkflowID, people.approval(t, view, who)); answer.Counted != counted || !strings.Contains(answer.Reason, reason) {
			t.Errorf("%s hears %+v, want %q", who, answer, reason)
		}
	}
	forged := people.approval(t, view, e2etest.Ann)
	forged.Proof = ""
	if answer := w.Decide(much.WorkflowID, forged); answer.Counted {
		t.Errorf("without a proof: %+v", answer)
	}
	vote(cid, "the request now waits for 2 of role:finance", true)
	vote(e2etest.Ann, "1 of 2 approvals", true)
	printed := w.PawlCLI("approvals", "show "+inv.ToolCallID)
	if !strings.Contains(printed[0], "missing  1 of role:finance\n") || !strings.Contains(printed[1], "missing     1 of role:finance\n") {
		t.Errorf("who is missing: %q", printed)
	}
	stop()
	other := &aboveAmount{name: "amounts"}
	other.silent.Store(true)
	w.Work(worker.Tools(pay(&effects)), worker.Hooks(other.hook()))
	if effects.Of("much") != 0 {
		t.Error("it has run")
	}
	vote(e2etest.Ben, "", true)
	e2etest.WantText(t, w.Result(much), "paid 1000000")
	shown := w.Record(inv).Approvals
	if len(shown) != 1 || effects.Of("much") != 1 || shown[0].Missing != nil || other.asked.Load() != 1 {
		t.Fatalf("%d effects, the other hook ran %d times, the record shows %s", effects.Of("much"), other.asked.Load(), e2etest.AsJSON(shown))
	}
	var entries []string
	for _, d := range shown[0].Decisions {
		if d.Counted {
			entries = append(entries, d.Approver+e2etest.AsJSON(d.Entry)+e2etest.AsJSON(d.HookEntries))
		}
	}
	if want := []string{cid + "0[-1]", e2etest.Ann + "-1[0]", e2etest.Ben + "-1[0]"}; !slices.Equal(entries, want) {
		t.Errorf("took the entries %v, want %v", entries, want)
	}
}

// TestAHookNamesApproversOfAnEdit: after an edit, the hook names the approvers for the edited arguments, and nobody can approve arguments that he has edited
// himself.
func TestAHookNamesApproversOfAnEdit(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, namedPolicy)
	var effects e2etest.Ledger
	amounts := &aboveAmount{name: "amounts", who: twoOfFinance()}
	w.Work(worker.Tools(pay(&effects)), worker.Hooks(amounts.hook()))
	const cid, dan = "user:cid", "user:dan"
	people := enroll(w, e2etest.Ann, e2etest.Ben, cid, dan)
	call := w.Start(e2etest.Invocation("edited", "test__pay", `{"amount":5000}`))
	view := w.Waiting(call.WorkflowID)
	edit := func(view toolspec.ApprovalView, who, args string) toolspec.Decision {
		return signedWith(t, people.keys[who], "acme", time.Now(), toolspec.Decision{
			ApprovalID: view.ApprovalID, Decision: toolspec.Edit, Digest: view.Digest, Approver: who, EditedArgs: json.RawMessage(args),
		})
	}
	// An approval of the larger payment does not count for the smaller payment.
	if answer := w.Decide(call.WorkflowID, people.approval(t, view, e2etest.Ann)); !answer.Counted {
		t.Errorf("the first: %+v", answer)
	}
	if answer := w.Decide(call.WorkflowID, edit(view, cid, `{"amount":10}`)); !answer.Counted {
		t.Fatalf("the edit: %+v", answer)
	}
	smaller := w.Waiting(call.WorkflowID, view.ApprovalID)
	if strings.Contains(smaller.Approvers, "hook") {
		t.Errorf("the smaller payment asks %q", smaller.Approvers)
	}
	if answer := w.Decide(call.WorkflowID, edit(smaller, e2etest.Ben, `{"amount":7000}`)); !answer.Counted {
		t.Fatalf("the edit: %+v", answer)
	}
	larger := w.Waiting(call.WorkflowID, view.ApprovalID, smaller.ApprovalID)
	if !strings.Contains(larger.Approvers, "hook amounts asks for 2 of role:finance") {
		t.Errorf("the larger payment asks %q", larger.Approvers)
	}
	for _, vote := range []struct {
		who     string
		counted bool
	}{{dan, true}, {e2etest.Ann, true}, {e2etest.Ben, false}} {
		if answer := w.Decide(call.WorkflowID, people.approval(t, larger, vote.who)); answer.Counted != vote.counted {
			t.Errorf("%s hears %+v", vote.who, answer)
		}
	}
	// Ben has edited the arguments and so cannot approve them. There is no second person of finance any more.
	if state := w.State(call.WorkflowID); state.Status != toolspec.StatusWaitingApproval || effects.Of("edited") != 0 {
		t.Errorf("the call is %s", state.Status)
	}
	deny := signedWith(t, people.keys[e2etest.Ann], "acme", time.Now(), toolspec.Decision{
		ApprovalID: larger.ApprovalID, Decision: toolspec.Deny, Digest: larger.Digest, Approver: e2etest.Ann,
	})
	if answer := w.Decide(call.WorkflowID, deny); !answer.Counted {
		t.Errorf("the denial: %+v", answer)
	}
	e2etest.WantCode(t, w.Result(call), toolspec.CodeApprovalDenied)
}

// TestTwoHooksNameApprovers: the approval of one person can count for two hooks. Neither a policy that begins to require an approval while the call waits, nor
// hooks whose services are down, end the wait. No hook is called again before the approval.
func TestTwoHooksNameApprovers(t *testing.T) {
	t.Parallel()
	free := strings.Replace(namedPolicy, "decision: require_approval, message: every payment", "decision: allow", 1)
	w := e2etest.NewWorld(t, free)
	var effects e2etest.Ledger
	amounts := &aboveAmount{name: "amounts", who: twoOfFinance()}
	boss := &aboveAmount{name: "boss", who: &hook.Approvals{Approvers: []string{e2etest.Ben}}}
	w.Work(worker.Tools(pay(&effects)), worker.Hooks(amounts.hook(), boss.hook()))
	people := enroll(w, e2etest.Ann, e2etest.Ben)
	call := w.Start(e2etest.Invocation("both", "test__pay", `{"amount":5000}`))
	view := w.Waiting(call.WorkflowID)
	if !strings.Contains(view.Approvers, "hook amounts asks for 2 of role:finance; hook boss asks for user:ben;") {
		t.Errorf("asks %q", view.Approvers)
	}
	askedBefore := amounts.asked.Load() + boss.asked.Load()
	amounts.down.Store(true)
	boss.down.Store(true)
	w.Apply(namedPolicy)
	for range 5 {
		if err := w.Temporal.SignalWorkflow(t.Context(), call.WorkflowID, "", toolspec.RecheckName, nil); err != nil {
			t.Fatal(err)
		}
	}
	if answer := w.Decide(call.WorkflowID, people.approval(t, view, e2etest.Ann)); !answer.Counted || answer.Reason != "1 of 2 approvals" {
		t.Errorf("the first: %+v", answer)
	}
	if state := w.State(call.WorkflowID); state.Status != toolspec.StatusWaitingApproval || amounts.asked.Load()+boss.asked.Load() != askedBefore {
		t.Errorf("the call is %s; the hooks were asked %d times more", state.Status, amounts.asked.Load()+boss.asked.Load()-askedBefore)
	}
	amounts.down.Store(false)
	boss.down.Store(false)
	if answer := w.Decide(call.WorkflowID, people.approval(t, view, e2etest.Ben)); !answer.Counted {
		t.Errorf("the second: %+v", answer)
	}
	e2etest.WantText(t, w.Result(call), "paid 5000")
}

// TestAResetKeepsNames: a call is reset after the first of two approvals, and its hook would name other approvers by then. The request in the record counts,
// with its approvers and their decisions.
func TestAResetKeepsNames(t *testing.T) {
	t.Parallel()
	w := e2etest.NewWorld(t, namedPolicy)
	var effects e2etest.Ledger
	amounts := &aboveAmount{name: "amounts", who: twoOfFinance()}
	w.Work(worker.Tools(pay(&effects)), worker.Hooks(amounts.hook()))
	const cid = "user:cid"
	people := enroll(w, e2etest.Ann, e2etest.Ben, cid)
	inv := e2etest.Invocation("reset", "test__pay", `{"amount":5000}`)
	call := w.Start(inv)
	view := w.Waiting(call.WorkflowID)
	if answer := w.Decide(call.WorkflowID, people.approval(t, view, e2etest.Ann)); !answer.Counted {
		t.Errorf("the first: %+v", answer)
	}
	amounts.silent.Store(true)
	runID := w.Reset(call.WorkflowID)
	again := w.Waiting(call.WorkflowID)
	if again.ApprovalID != view.ApprovalID || again.Approvers != view.Approvers {
		t.Errorf("asks %+v, before %+v", again, view)
	}
	if answer := w.Decide(call.WorkflowID, people.approval(t, again, cid)); answer.Counted || effects.Of("reset") != 0 {
		t.Errorf("whom the hook does not name: %+v", answer)
	}
	if answer := w.Decide(call.WorkflowID, people.approval(t, again, e2etest.Ben)); !answer.Counted {
		t.Errorf("the second: %+v", answer)
	}
	e2etest.WantText(t, w.ResultOf(call.WorkflowID, runID), "paid 5000")
	if shown := w.Record(inv).Approvals; len(shown) != 1 || effects.Of("reset") != 1 {
		t.Errorf("%d effects, the record shows %s", effects.Of("reset"), e2etest.AsJSON(shown))
	}
}
